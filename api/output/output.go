// Package output writes vectors in the types and encodings that requests ask for.
package output

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// Vectors selects how vectors are written. The types are those of quantize_embeddings of
// sentence-transformers:
//
//	float    the vector
//	ubinary  one bit per dimension, set if the component is positive; the first dimension is the highest bit of the first byte
//	binary   ubinary - 128, as a signed byte
//	uint8    (x - min)/((max - min)/255), truncated
//	int8     (x - min)/((max - min)/255) - 128, truncated
//
// min and max of each dimension come from ranges. By default they are ∓6/√dimensions, at most 1, of
// the vector at unit length: six standard deviations of a component. Values outside are clipped.
type Vectors struct {
	Format string      `json:"encoding_format"` // float (default): numbers; base64: of little-endian float32, or of the bytes
	DType  string      `json:"output_dtype"`    // float (default), int8, uint8, binary, ubinary
	Types  []string    `json:"embedding_types"` // instead: one or more of these; with more than one, each vector is an object of them
	Ranges [][]float64 `json:"ranges"`          // [2][dimensions]: min and max of each dimension, for int8 and uint8
}

var outputTypes = []string{"float", "int8", "uint8", "binary", "ubinary"}

// Check returns the requested types.
func (o *Vectors) Check(dimensions int) ([]string, error) {
	if o.Format != "" && o.Format != "float" && o.Format != "base64" {
		return nil, &search.FieldError{Field: "encoding_format", Value: o.Format, Allowed: "float, base64"}
	}
	types := o.Types
	switch {
	case o.DType != "" && o.Types != nil:
		return nil, &search.FieldError{Field: "embedding_types", Value: strings.Join(o.Types, ", "), Allowed: "either this or output_dtype"}
	case o.DType != "" && !slices.Contains(outputTypes, o.DType):
		return nil, &search.FieldError{Field: "output_dtype", Value: o.DType, Allowed: strings.Join(outputTypes, ", ")}
	case o.DType != "":
		types = []string{o.DType}
	case o.Types == nil:
		types = outputTypes[:1]
	case len(o.Types) == 0 || len(o.Types) > len(outputTypes):
		return nil, &search.FieldError{Field: "embedding_types", Value: len(o.Types), Allowed: fmt.Sprintf("1 to %d types", len(outputTypes))}
	}
	for i, t := range types {
		if !slices.Contains(outputTypes, t) || slices.Contains(types[:i], t) {
			return nil, &search.FieldError{Field: fmt.Sprintf("embedding_types[%d]", i), Value: t, Allowed: "each at most once of " + strings.Join(outputTypes, ", ")}
		}
	}
	return types, o.checkRanges(dimensions)
}

func (o *Vectors) checkRanges(dimensions int) error {
	if o.Ranges == nil {
		return nil
	}
	if len(o.Ranges) != 2 || len(o.Ranges[0]) != dimensions || len(o.Ranges[1]) != dimensions {
		return &search.FieldError{Field: "ranges", Value: mapping.Phrase("another shape"), Allowed: fmt.Sprintf("two arrays of %d numbers, the least and the greatest of each dimension", dimensions)}
	}
	for i, least := range o.Ranges[0] {
		if !(least < o.Ranges[1][i]) {
			return &search.FieldError{Field: fmt.Sprintf("ranges[1][%d]", i), Value: o.Ranges[1][i], Allowed: fmt.Sprintf("more than ranges[0][%d], which is %v", i, least)}
		}
	}
	return nil
}

// Write returns v in one type, or as an object of several.
func (o *Vectors) Write(v []float32, types []string) any {
	if len(types) == 1 {
		return o.one(v, types[0])
	}
	out := make(map[string]any, len(types))
	for _, t := range types {
		out[t] = o.one(v, t)
	}
	return out
}

func (o *Vectors) one(v []float32, typ string) any {
	if typ == "float" {
		if o.Format == "base64" {
			return floatsBase64(v)
		}
		return v
	}
	var b []byte
	switch typ {
	case "binary", "ubinary":
		b = packBits(v)
	default:
		b = o.quantize(v, typ == "int8")
	}
	if typ == "binary" {
		for i := range b {
			b[i] -= 128 // as signed bytes: the same bits as in ubinary - 128
		}
	}
	if o.Format == "base64" {
		return base64.StdEncoding.EncodeToString(b)
	}
	numbers := make([]int16, len(b)) // []byte would be written as base64
	for i, x := range b {
		if numbers[i] = int16(x); typ == "int8" || typ == "binary" {
			numbers[i] = int16(int8(x))
		}
	}
	return numbers
}

// packBits is numpy.packbits(v > 0).
func packBits(v []float32) []byte {
	b := make([]byte, (len(v)+7)/8)
	for i, x := range v {
		if x > 0 {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return b
}

// quantize returns a byte per component, in two's complement if signed, truncated like numpy's
// astype.
func (o *Vectors) quantize(v []float32, signed bool) []byte {
	v = Unit(v)
	r := min(1, 6/math.Sqrt(float64(len(v))))
	shift, top := 0.0, 255.0
	if signed {
		shift, top = 128, 127
	}
	b := make([]byte, len(v))
	for i, x := range v {
		lo, hi := -r, r
		if o.Ranges != nil {
			lo, hi = o.Ranges[0][i], o.Ranges[1][i]
		}
		q := (float64(x)-lo)/((hi-lo)/255) - shift
		b[i] = byte(int(math.Trunc(min(max(q, -shift), top))))
	}
	return b
}

// Unit returns v at unit length; the zero vector as it is.
func Unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.Abs(sum-1) < 1e-6 {
		return v
	}
	out := make([]float32, len(v))
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(float64(x) * scale)
	}
	return out
}

func floatsBase64(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}
