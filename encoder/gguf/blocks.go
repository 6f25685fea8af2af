package gguf

import (
	"encoding/binary"
	"math"
	"strings"
)

// Type is a way of storing numbers in blocks.
type Type struct {
	Name   string
	id     uint32
	block  int // numbers
	bytes  int // of a block
	expand func(dst []float32, block []byte)
}

// Types are those that are read. Source: ggml-quants.c and gguf-py quants.py of llama.cpp.
var Types = []Type{
	{"F32", 0, 1, 4, func(dst []float32, b []byte) { dst[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	{"F16", 1, 1, 2, func(dst []float32, b []byte) { dst[0] = half(b) }},
	{"Q4_0", 2, 32, 18, func(dst []float32, b []byte) { nibbles(dst, b[2:], half(b), -8*half(b)) }},
	{"Q4_1", 3, 32, 20, func(dst []float32, b []byte) { nibbles(dst, b[4:], half(b), half(b[2:])) }},
	{"Q5_0", 6, 32, 22, func(dst []float32, b []byte) { fives(dst, b[2:], half(b), -16*half(b)) }},
	{"Q5_1", 7, 32, 24, func(dst []float32, b []byte) { fives(dst, b[4:], half(b), half(b[2:])) }},
	{"Q8_0", 8, 32, 34, expandQ8},
	{"Q4_K", 12, 256, 144, expandQ4K},
	{"Q5_K", 13, 256, 176, expandQ5K},
	{"Q6_K", 14, 256, 210, expandQ6K},
	{"BF16", 30, 1, 2, func(dst []float32, b []byte) {
		dst[0] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
	}},
}

func typeOf(id uint32) *Type {
	for i := range Types {
		if Types[i].id == id {
			return &Types[i]
		}
	}
	return nil
}

func typeNames() string {
	var names []string
	for _, t := range Types {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// half reads a number in half precision.
func half(b []byte) float32 {
	h := uint32(binary.LittleEndian.Uint16(b))
	sign, exponent, fraction := h>>15<<31, h>>10&31, h&1023
	switch exponent {
	case 0:
		x := float32(fraction) / (1 << 24)
		if sign != 0 {
			return -x
		}
		return x
	case 31:
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// nibbles expands 32 numbers of 4 bits: the low halves of 16 bytes, then the high ones.
func nibbles(dst []float32, q []byte, scale, least float32) {
	for i := range 16 {
		dst[i] = scale*float32(q[i]&15) + least
		dst[i+16] = scale*float32(q[i]>>4) + least
	}
}

// fives expands 32 numbers of 5 bits: four bytes of fifth bits, then the nibbles.
func fives(dst []float32, b []byte, scale, least float32) {
	fifth, q := binary.LittleEndian.Uint32(b), b[4:]
	for i := range 16 {
		dst[i] = scale*float32(uint32(q[i]&15)|fifth>>i&1<<4) + least
		dst[i+16] = scale*float32(uint32(q[i]>>4)|fifth>>(i+16)&1<<4) + least
	}
}

func expandQ8(dst []float32, b []byte) {
	scale := half(b)
	for i := range 32 {
		dst[i] = scale * float32(int8(b[2+i]))
	}
}

// subScales reads the 6-bit scales and minima of the eight parts of a block.
func subScales(b []byte) (scales, minima [8]float32) {
	for i := range 4 {
		scales[i], minima[i] = float32(b[i]&63), float32(b[4+i]&63)
		scales[4+i] = float32(b[8+i]&15 | b[i]>>2&0x30)
		minima[4+i] = float32(b[8+i]>>4 | b[4+i]>>2&0x30)
	}
	return scales, minima
}

func expandQ4K(dst []float32, b []byte) {
	d, least := half(b), half(b[2:])
	scales, minima := subScales(b[4:])
	for part := range 8 {
		q := b[16+part/2*32:]
		scale, minimum := d*scales[part], least*minima[part]
		for i := range 32 {
			dst[part*32+i] = scale*float32(q[i]>>(part%2*4)&15) - minimum
		}
	}
}

func expandQ5K(dst []float32, b []byte) {
	d, least := half(b), half(b[2:])
	scales, minima := subScales(b[4:])
	fifth := b[16:]
	for part := range 8 {
		q := b[48+part/2*32:]
		scale, minimum := d*scales[part], least*minima[part]
		for i := range 32 {
			dst[part*32+i] = scale*float32(q[i]>>(part%2*4)&15|fifth[i]>>part&1<<4) - minimum
		}
	}
}

func expandQ6K(dst []float32, b []byte) {
	low, high, scales, d := b, b[128:], b[192:], half(b[208:])
	for i := range 256 {
		part, row, j := i/128, i%128/32, i%32
		q := low[part*64+row%2*32+j] >> (row / 2 * 4) & 15
		q |= high[part*32+j] >> (row * 2) & 3 << 4
		dst[i] = d * float32(int8(scales[i/16])) * float32(int(q)-32)
	}
}
