package safetensors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/searchd/encoder/safetensors"
)

// TestCutAfterOpening: a file that becomes shorter after its header was read is an error of the
// read. A file mapped into memory would end the process.
func TestCutAfterOpening(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, safetensors.SingleName)
	header := `{"f":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]},"i":{"dtype":"I64","shape":[500],"data_offsets":[4000,8000]}}`
	if err := os.WriteFile(path, file(header, make([]byte, 8000)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := safetensors.Open(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, size := range []int64{int64(8 + len(header) + 100), 8, 0} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		_, floats := c.Float32("f")
		_, integers := c.Int64("i")
		for name, err := range map[string]error{"f": floats, "i": integers} {
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), `"`+name+`"`) {
				t.Errorf("%s in a file cut to %d bytes: %v, want ErrUnexpectedEOF and the tensor", name, size, err)
			}
		}
	}
}

// TestNotFiniteOfEachDType: every type that can hold a NaN or an infinity, or a number that is one
// as float32.
func TestNotFiniteOfEachDType(t *testing.T) {
	f64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	for name, tt := range map[string]struct {
		dtype string
		data  []byte
	}{
		"F16 NaN":            {"F16", []byte{0, 0x7e}},
		"F16 infinity":       {"F16", []byte{0, 0x7c}},
		"BF16 NaN":           {"BF16", []byte{0xc0, 0x7f}},
		"BF16 infinity":      {"BF16", []byte{0x80, 0xff}},
		"F64 NaN":            {"F64", f64(math.NaN())},
		"F64 infinity":       {"F64", f64(math.Inf(-1))},
		"F64 beyond float32": {"F64", f64(1e39)},
	} {
		c, err := open(file(fmt.Sprintf(`{"w":{"dtype":%q,"shape":[1],"data_offsets":[0,%d]}}`, tt.dtype, len(tt.data)), tt.data))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Float32("w"); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), `"w": element 0`) {
			t.Errorf("%s: %v, want ErrFormat with the tensor and the element", name, err)
		}
	}
}

// TestManyMetadata: a header of nothing but metadata is refused before all of it is held.
func TestManyMetadata(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"__metadata__":{"0":""`)
	for i := 1; b.Len() < safetensors.MaxHeaderBytes-20; i++ {
		fmt.Fprintf(&b, `,"%x":""`, i)
	}
	f := file(b.String()+"}}", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := open(f)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d bytes allocated for a header of %d", used, b.Len())
	}
	if !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), "more than 100000 entries of __metadata__") {
		t.Errorf("error %v, want ErrFormat with the limit", err)
	}
}
