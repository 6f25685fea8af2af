package main

import (
	"bytes"
	"testing"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// TestTileCode compares with the bytes that the GNU assembler 2.40 writes for the line that is the
// name; ldtilecfg is in the longer of its two forms, which objdump reads as ldtilecfg (%r8,%riz,1).
func TestTileCode(t *testing.T) {
	mem := func(base, index reg.GPPhysical, disp int) Mem {
		return Mem{Base: base, Index: index, Scale: 1, Disp: disp}
	}
	for _, tt := range []struct {
		name string
		got  []byte
		want []byte
	}{
		{"tileloadd (%r8,%r11,1), %tmm4", tileMem(prefixF2, 0x4b, 4, mem(reg.R8, reg.R11, 0)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x24, 0x18}},
		{"tilestored %tmm4, (%r8,%r11,1)", tileMem(prefixF3, 0x4b, 4, mem(reg.R8, reg.R11, 0)), []byte{0xc4, 0x82, 0x7a, 0x4b, 0x24, 0x18}},
		{"tileloadd (%rax,%rcx,1), %tmm0", tileMem(prefixF2, 0x4b, 0, mem(reg.RAX, reg.RCX, 0)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x08}},
		{"tilestored %tmm0, (%rax,%rcx,1)", tileMem(prefixF3, 0x4b, 0, mem(reg.RAX, reg.RCX, 0)), []byte{0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x08}},
		{"tileloadd (%r13,%r12,1), %tmm7", tileMem(prefixF2, 0x4b, 7, mem(reg.R13, reg.R12, 0)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x7c, 0x25, 0x00}},
		{"tilestored %tmm7, (%r13,%r12,1)", tileMem(prefixF3, 0x4b, 7, mem(reg.R13, reg.R12, 0)), []byte{0xc4, 0x82, 0x7a, 0x4b, 0x7c, 0x25, 0x00}},
		{"tileloadd 64(%rbp,%rbx,1), %tmm6", tileMem(prefixF2, 0x4b, 6, mem(reg.RBP, reg.RBX, 64)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x74, 0x1d, 0x40}},
		{"tilestored %tmm6, 64(%rbp,%rbx,1)", tileMem(prefixF3, 0x4b, 6, mem(reg.RBP, reg.RBX, 64)), []byte{0xc4, 0xe2, 0x7a, 0x4b, 0x74, 0x1d, 0x40}},
		{"tileloadd 64(%r9,%r11,1), %tmm5", tileMem(prefixF2, 0x4b, 5, mem(reg.R9, reg.R11, 64)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x6c, 0x19, 0x40}},
		{"tilestored %tmm5, 64(%r9,%r11,1)", tileMem(prefixF3, 0x4b, 5, mem(reg.R9, reg.R11, 64)), []byte{0xc4, 0x82, 0x7a, 0x4b, 0x6c, 0x19, 0x40}},
		{"tileloadd 2112(%rsi,%r12,1), %tmm3", tileMem(prefixF2, 0x4b, 3, mem(reg.RSI, reg.R12, 2112)), []byte{0xc4, 0xa2, 0x7b, 0x4b, 0x9c, 0x26, 0x40, 0x08, 0x00, 0x00}},
		{"tilestored %tmm3, 2112(%rsi,%r12,1)", tileMem(prefixF3, 0x4b, 3, mem(reg.RSI, reg.R12, 2112)), []byte{0xc4, 0xa2, 0x7a, 0x4b, 0x9c, 0x26, 0x40, 0x08, 0x00, 0x00}},
		{"tileloadd -128(%r12,%r9,1), %tmm1", tileMem(prefixF2, 0x4b, 1, mem(reg.R12, reg.R9, -128)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x4c, 0x0c, 0x80}},
		{"tilestored %tmm1, -128(%r12,%r9,1)", tileMem(prefixF3, 0x4b, 1, mem(reg.R12, reg.R9, -128)), []byte{0xc4, 0x82, 0x7a, 0x4b, 0x4c, 0x0c, 0x80}},
		{"ldtilecfg (%r8)", tileMem(prefixNone, 0x49, 0, Mem{Base: reg.R8}), []byte{0xc4, 0xc2, 0x78, 0x49, 0x04, 0x20}},
		{"tilerelease", vex(prefixNone, 0, false, false, 0x49, 0xc0), []byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}},
		{"tilezero %tmm5", vex(prefixF2, 0, false, false, 0x49, 0xc0|5<<3), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xe8}},
		{"tdpbusd %tmm6, %tmm4, %tmm0", vex(prefix66, 6, false, false, 0x5e, 0xc0|0<<3|4), []byte{0xc4, 0xe2, 0x49, 0x5e, 0xc4}},
		{"tdpbusd %tmm7, %tmm5, %tmm3", vex(prefix66, 7, false, false, 0x5e, 0xc0|3<<3|5), []byte{0xc4, 0xe2, 0x41, 0x5e, 0xdd}},
		{"tdpbusd %tmm1, %tmm2, %tmm7", vex(prefix66, 1, false, false, 0x5e, 0xc0|7<<3|2), []byte{0xc4, 0xe2, 0x71, 0x5e, 0xfa}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !bytes.Equal(tt.got, tt.want) {
				t.Errorf("got % x, want % x", tt.got, tt.want)
			}
		})
	}
}
