package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// VPDPWSSD adds to each int32 of acc the two products of signed words of a and b.
func VPDPWSSD(b, a, acc operand.Op) { vnni("VPDPWSSD", b, a, acc) }

// VPDPBUSD adds to each int32 of acc the four products of an unsigned byte of u and a signed byte
// of s.
func VPDPBUSD(s, u, acc operand.Op) { vnni("VPDPBUSD", s, u, acc) }

// vnni prints an instruction of AVX512_VNNI, which avo's tables lack.
func vnni(opcode string, b, a, acc operand.Op) {
	Instruction(&ir.Instruction{
		Opcode:   opcode,
		Operands: []operand.Op{b, a, acc},
		Inputs:   []operand.Op{b, a, acc},
		Outputs:  []operand.Op{acc},
		ISA:      []string{"AVX512_VNNI", "AVX512F"},
	})
}
