package safetensors_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder/safetensors"
)

func TestScaledBytes(t *testing.T) {
	f32 := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	rows := []byte{1, 0xff, 127, 0x80, 0, 2} // 1 -1 127 / -128 0 2
	const matrix = `{"w":{"dtype":"I8","shape":[2,3],"data_offsets":[0,6]}`
	for _, tt := range []struct {
		name, header string
		data         []byte
		want         []float32
		err          string
	}{
		{"a scale for each row", matrix + `,"w.scales":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}}`, f32(0.5, 2), []float32{.5, -.5, 63.5, -256, 0, 4}, ""},
		{"scales in F16", matrix + `,"w.scales":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}}`, []byte{0, 0x38, 0, 0x40}, []float32{.5, -.5, 63.5, -256, 0, 4}, ""},
		{"no scales", matrix + `}`, nil, nil, `"w" is I8 and has no "w.scales"`},
		{"a scale for each column", matrix + `,"w.scales":{"dtype":"F32","shape":[3],"data_offsets":[6,18]}}`, f32(1, 1, 1), nil, "one float for each row"},
		{"scales of bytes", matrix + `,"w.scales":{"dtype":"I8","shape":[2],"data_offsets":[6,8]}}`, []byte{1, 1}, nil, "one float for each row"},
		{"a scale that is none", matrix + `,"w.scales":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}}`, f32(1, float32(math.NaN())), nil, `"w.scales": element 1`},
		{"a product too large", matrix + `,"w.scales":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}}`, f32(1, 3e38), nil, `"w": element 3`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := open(file(tt.header, append(slices.Clone(rows), tt.data...)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Float32("w")
			if tt.err != "" {
				if !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want ErrFormat with %q", err, tt.err)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Float32 = %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}
