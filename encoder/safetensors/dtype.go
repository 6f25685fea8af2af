package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DType is the element type of a tensor, by the name that the format gives it: F32, F16, BF16, I64
// and so on.
type DType string

// The element types that Float32 converts; I8 needs a tensor of scales. Others can be listed but
// not read.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I8   DType = "I8"
)

// dtypeBits gives the width of an element of each type in the format.
var dtypeBits = map[DType]uint64{
	"BOOL": 8, "U8": 8, I8: 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
	"I16": 16, "U16": 16, F16: 16, BF16: 16,
	"I32": 32, "U32": 32, F32: 32,
	"I64": 64, "U64": 64, F64: 64, "C64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// float converts the little-endian elements of raw to float32, len(dst) of them.
func (d DType) float(dst []float32, raw []byte) error {
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case F16:
		for i := range dst {
			h := uint32(binary.LittleEndian.Uint16(raw[2*i:]))
			if e := h & 0x7c00; e == 0 || e == 0x7c00 {
				dst[i] = halfToFloat(uint16(h))
				continue
			}
			dst[i] = math.Float32frombits(h&0x8000<<16 | (h&0x7fff<<13 + 112<<23)) // an ordinary number
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	case I8:
		for i := range dst {
			dst[i] = float32(int8(raw[i]))
		}
	default:
		return fmt.Errorf("%w: %s, want F32, F16, BF16, F64 or I8 with scales", ErrDType, d)
	}
	return nil
}

// halfToFloat widens an IEEE 754 binary16 number; every one of them is exact in float32.
func halfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero and subnormals: frac * 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinities and NaN
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
