package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// VPDPBUSD adds to each int32 of acc the four products of an unsigned byte of u and a signed byte of s.
// avo's instruction tables lack AVX512_VNNI.
func VPDPBUSD(s, u, acc operand.Op) {
	Instruction(&ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []operand.Op{s, u, acc},
		Inputs:   []operand.Op{s, u, acc},
		Outputs:  []operand.Op{acc},
		ISA:      []string{"AVX512_VNNI", "AVX512F"},
	})
}
