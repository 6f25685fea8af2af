package main

import (
	"encoding/binary"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The instructions of AMX as bytes, because avo and Go's assembler do not support them. Their
// registers must be physical, because bytes are final before registers are allocated. tile_test.go
// compares them with the output of the GNU assembler.

// tmm is a tile register: up to 16 rows of up to 64 bytes, as LDTILECFG says.
type tmm byte

// The mandatory prefixes of VEX.
const (
	prefixNone = iota
	prefix66
	prefixF3
	prefixF2
)

// LDTILECFG sets the shape of every tile from 64 bytes of memory, and clears them.
func LDTILECFG(from Mem) {
	emit(tileMem(prefixNone, 0x49, 0, from), "LDTILECFG "+from.Asm(), from)
}

// TILERELEASE releases the tiles, so that the operating system need not save their state.
func TILERELEASE() {
	emit(vex(prefixNone, 0, false, false, 0x49, 0xc0), "TILERELEASE")
}

// TILEZERO clears t.
func TILEZERO(t tmm) {
	emit(vex(prefixF2, 0, false, false, 0x49, 0xc0|byte(t)<<3), fmt.Sprintf("TILEZERO %v", t))
}

// TILELOADD reads t from from.Base + from.Disp, its rows from.Index bytes apart.
func TILELOADD(from Mem, t tmm) {
	emit(tileMem(prefixF2, 0x4b, t, from), fmt.Sprintf("TILELOADD %s, %v", from.Asm(), t), from)
}

// TILESTORED writes t to to, its rows to.Index bytes apart.
func TILESTORED(t tmm, to Mem) {
	emit(tileMem(prefixF3, 0x4b, t, to), fmt.Sprintf("TILESTORED %v, %s", t, to.Asm()), to)
}

// TDPBUSD adds to each int32 of acc the products of the unsigned bytes of a row of u and of the
// signed bytes of a column of s. A row of s holds four bytes for each column.
func TDPBUSD(s, u, acc tmm) {
	emit(vex(prefix66, s, false, false, 0x5e, 0xc0|byte(acc)<<3|byte(u)), fmt.Sprintf("TDPBUSD %v, %v, %v", s, u, acc))
}

func (t tmm) String() string { return fmt.Sprintf("T%d", byte(t)) }

// vex is an instruction of the map 0F38 with a prefix of three bytes; x and b extend index and
// base.
func vex(prefix byte, v tmm, x, b bool, opcode, modRM byte) []byte {
	maps := byte(0xe2)
	if x {
		maps ^= 0x40
	}
	if b {
		maps ^= 0x20
	}
	return []byte{0xc4, maps, (^byte(v)&15)<<3 | prefix, opcode, modRM}
}

// tileMem is an instruction with a memory operand, always with a SIB byte; the scale is 1.
func tileMem(prefix, opcode byte, t tmm, m Mem) []byte {
	number := func(r reg.Register) byte { return byte(r.(reg.Physical).PhysicalIndex()) }
	base, index := number(m.Base), byte(4) // 4: none
	if m.Index != nil {
		index = number(m.Index)
	}
	mod := byte(0x80)
	var disp []byte
	switch {
	case m.Disp == 0 && base&7 != 5: // 5 without a displacement would be none of the registers
		mod = 0
	case m.Disp == int(int8(m.Disp)):
		mod, disp = 0x40, []byte{byte(m.Disp)}
	default:
		disp = binary.LittleEndian.AppendUint32(nil, uint32(m.Disp))
	}
	code := vex(prefix, 0, index > 7, base > 7, opcode, mod|byte(t)<<3|4)
	return append(append(code, index&7<<3|base&7), disp...)
}

// emit prints code; inputs are the operands whose registers it reads.
func emit(code []byte, comment string, inputs ...Op) {
	Comment(comment)
	for len(code) > 0 {
		i := &ir.Instruction{Inputs: inputs, ISA: []string{"AMX-TILE", "AMX-INT8"}}
		n := 1
		switch {
		case len(code) >= 4:
			i.Opcode, i.Operands, n = "LONG", []Op{U32(binary.LittleEndian.Uint32(code))}, 4
		case len(code) >= 2:
			i.Opcode, i.Operands, n = "WORD", []Op{U16(binary.LittleEndian.Uint16(code))}, 2
		default:
			i.Opcode, i.Operands = "BYTE", []Op{U8(code[0])}
		}
		Instruction(i)
		code = code[n:]
	}
}
