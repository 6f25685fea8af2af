package safetensors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/encoder/safetensors"
)

// file puts a header and data together.
func file(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func open(b []byte) (*safetensors.Checkpoint, error) {
	return safetensors.OpenFile(fstest.MapFS{"m.safetensors": {Data: b}}, "m.safetensors")
}

func TestFloat32(t *testing.T) {
	f32 := binary.LittleEndian.AppendUint32(nil, math.Float32bits(-1.5))
	f64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))
	data := append(f32, 0x00, 0x3c /* F16 1 */, 0x01, 0x80 /* F16 -2^-24 */, 0x80, 0x3f /* BF16 1 */, 0x49, 0xc0 /* BF16 -3.140625 */)
	data = append(data, f64...)
	c, err := open(file(`{"__metadata__":{"format":"pt"},
		"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
		"h":{"dtype":"F16","shape":[2,1],"data_offsets":[4,8]},
		"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},
		"empty":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]},
		"scalar":{"dtype":"F64","shape":[],"data_offsets":[12,20]}}   `, data))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string][]float32{
		"a": {-1.5}, "h": {1, -1.0 / (1 << 24)}, "b": {1, -3.140625}, "empty": {}, "scalar": {0.1},
	} {
		got, err := c.Float32(name)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Float32(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	if tensor, _ := c.Tensor("h"); fmt.Sprint(tensor.Shape) != "[2 1]" || tensor.Len() != 2 {
		t.Errorf("Tensor(h) = %+v, want shape [2 1]", tensor)
	}
	if got := fmt.Sprint(c.Names()); got != "[a b empty h scalar]" {
		t.Errorf("Names() = %s", got)
	}
}

// TestHalf compares every F16 number with its definition.
func TestHalf(t *testing.T) {
	data := make([]byte, 0, 1<<17)
	for h := range 1 << 16 {
		if h>>10&0x1f == 0x1f {
			h = 0 // infinities and NaN are refused, see TestNotFinite
		}
		data = binary.LittleEndian.AppendUint16(data, uint16(h))
	}
	c, err := open(file(`{"h":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}}`, data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Float32("h")
	if err != nil {
		t.Fatal(err)
	}
	for h, v := range got {
		exp, frac := h>>10&0x1f, float64(h&0x3ff)
		want := math.Ldexp(1024+frac, exp-25)
		switch exp {
		case 0:
			want = math.Ldexp(frac, -24)
		case 0x1f:
			want, h = 0, 0
		}
		if h>>15 == 1 {
			want = -want
		}
		if float64(v) != want || math.Signbit(float64(v)) != math.Signbit(want) {
			t.Fatalf("F16 %#04x = %v, want %v", h, v, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	const one = `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	four, eight := make([]byte, 4), make([]byte, 8)
	huge := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	var many strings.Builder
	for i := range safetensors.MaxTensors {
		fmt.Fprintf(&many, `"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`, i)
	}
	tests := []struct {
		name string
		file []byte
		want string // part of the message
	}{
		{"empty", nil, "too short"},
		{"seven bytes", make([]byte, 7), "too short"},
		{"header longer than allowed", append(huge, four...), "at most 10000000"},
		{"header longer than file", binary.LittleEndian.AppendUint64(nil, 100), "in a file of 8; it is incomplete"},
		{"empty header", file("", nil), "begin with"},
		{"cut off", file(`{`+one+`}`, four[:2]), "it is incomplete, as after an interrupted download"},
		{"leading space", file(" {}", nil), "begin with"},
		{"not JSON", file("{]", nil), "header"},
		{"unclosed", file("{", nil), "unexpected end"},
		{"not UTF-8", file("{\"\xff\":1}", nil), "UTF-8"},
		{"trailing bytes", file("{}x", nil), "after the header"},
		{"trailing newline", file("{}\n", nil), "after the header"},
		{"second object", file("{}{}", nil), "after the header"},
		{"duplicate tensor", file(`{`+one+`,`+one+`}`, four), "occurs twice"},
		{"duplicate tensor, escaped", file(`{`+one+`,`+strings.Replace(one, "a", `\u0061`, 1)+`}`, four), "occurs twice"},
		{"duplicate key", file(`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four), "occurs twice"},
		{"unknown key", file(`{"a":{"dtype":"F32","Shape":[1],"shape":[1],"data_offsets":[0,4]}}`, four), "unknown key"},
		{"metadata not a string", file(`{"__metadata__":{"a":1}}`, nil), `want '"'`},
		{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`, nil), "occurs twice"},
		{"tensor not an object", file(`{"a":3}`, nil), "want"},
		{"dtype missing", file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, four), "none of the format's"},
		{"dtype unknown", file(`{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, four), `"F31"`},
		{"dtype in lower case", file(`{"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`, four), `"f32"`},
		{"shape missing", file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, four), "shape"},
		{"one offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, four), "data_offsets"},
		{"three offsets", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, four), "more than 2"},
		{"begin after end", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, four), "after the end"},
		{"negative", file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, four), "integer"},
		{"fraction", file(`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, four), "integer"},
		{"exponent", file(`{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}`, four), "integer"},
		{"string", file(`{"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}}`, four), "integer"},
		{"2^63", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,9223372036854775808]}}`, four), "integer"},
		{"rank 9", file(`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, four), "more than 8"},
		{"product overflows", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, nil), "overflows"},
		{"product wraps to the size", file(`{"a":{"dtype":"F32","shape":[9223372036854775807,2,1],"data_offsets":[0,4]}}`, four), "overflows"},
		{"bytes overflow", file(`{"a":{"dtype":"F64","shape":[1152921504606846976,2],"data_offsets":[0,4]}}`, four), "overflows"},
		{"size of another dtype", file(`{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,4]}}`, four), "takes 2 bytes"},
		{"half a byte", file(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, four[:1]), "whole number of bytes"},
		{"gap", file(`{`+one+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}`, eight[:6]), "no gap"},
		{"overlap", file(`{`+one+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`, eight[:6]), "no overlap"},
		{"same bytes twice", file(`{`+one+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four), "no overlap"},
		{"bytes after the last tensor", file(`{`+one+`}`, eight), "the file has 8"},
		{"data cut", file(`{`+one+`}`, four[:3]), "the file has 3"},
		{"too many tensors", file(`{`+many.String()+one+`}`, four), "more than 100000 tensors"},
		{"name too long", file(`{"`+strings.Repeat("n", 1025)+`":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four), "1025 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(test.file)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "m.safetensors") {
				t.Errorf("error %v, want one with %q and the file's name", err, test.want)
			}
			if !errors.Is(err, safetensors.ErrFormat) && !errors.Is(err, safetensors.ErrDType) {
				t.Errorf("error %v is neither ErrFormat nor ErrDType", err)
			}
		})
	}
}

func TestNotFinite(t *testing.T) {
	for name, bits := range map[string]uint32{"NaN": 0x7fc00000, "+Inf": 0x7f800000, "-Inf": 0xff800000} {
		data := binary.LittleEndian.AppendUint32(make([]byte, 4), bits)
		c, err := open(file(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, data))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Float32("w"); err == nil || !strings.Contains(err.Error(), `"w": element 1`) {
			t.Errorf("%s: error %v, want one that names the tensor and the element", name, err)
		}
	}
}

func TestUnreadableDType(t *testing.T) {
	c, err := open(file(`{"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, make([]byte, 8)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Float32("ids")
	if !errors.Is(err, safetensors.ErrDType) || !strings.Contains(err.Error(), `"ids"`) || !strings.Contains(err.Error(), "I64") {
		t.Errorf("Float32 error %v, want ErrDType with tensor and dtype", err)
	}
	if _, err := c.Float32("none"); !errors.Is(err, safetensors.ErrFormat) {
		t.Errorf("Float32 of a missing tensor: %v, want ErrFormat", err)
	}
}

func TestShards(t *testing.T) {
	a := file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, []byte{1})
	b := file(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4))
	index := func(s string) fstest.MapFS {
		return fstest.MapFS{"m/model.safetensors.index.json": {Data: []byte(s)}, "m/1.safetensors": {Data: a}, "m/2.safetensors": {Data: b}}
	}
	c, err := safetensors.Open(index(`{"metadata":{"total_size":5},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}`), "m")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Names()); got != "[a b]" {
		t.Errorf("Names() = %s, want [a b]", got)
	}
	if _, err := c.Float32("b"); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"elsewhere":    `{"weight_map":{"a":"2.safetensors"}}`,
		"file missing": `{"weight_map":{"a":"3.safetensors"}}`,
		"parent":       `{"weight_map":{"a":"../m/1.safetensors"}}`,
		"absolute":     `{"weight_map":{"a":"/etc/x.safetensors"}}`,
		"other suffix": `{"weight_map":{"a":"config.json"}}`,
		"no map":       `{"metadata":{}}`,
		"twice":        `{"weight_map":{"a":"1.safetensors","a":"2.safetensors"}}`,
		"not JSON":     `{"weight_map":`,
	} {
		if _, err := safetensors.Open(index(bad), "m"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := safetensors.Open(fstest.MapFS{}, "m"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: %v, want ErrNotExist", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  `, make([]byte, 4)))
	f.Add(file(`{"a":{"dtype":"F16","shape":[0,9],"data_offsets":[0,0]},"b":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, make([]byte, 2)))
	f.Add(file(`{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}`, make([]byte, 1)))
	f.Add(file(`{"w":{"dtype":"I8","shape":[2,3],"data_offsets":[0,6]},"w.scales":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}}`, make([]byte, 14)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := open(b)
		if err != nil {
			return
		}
		total := 0
		for _, name := range c.Names() {
			x, err := c.Float32(name)
			if err == nil {
				total += len(x)
			}
		}
		if total > len(b) { // the smallest elements, those of I8, are bytes
			t.Errorf("%d elements from a file of %d bytes", total, len(b))
		}
	})
}

func Example() {
	header := `{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`
	data := []byte{0, 0, 128, 63, 0, 0, 0, 64}
	folder := fstest.MapFS{"model.safetensors": {Data: file(header, data)}}
	c, err := safetensors.Open(folder, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	w, err := c.Float32("w")
	fmt.Println(w, err)
	// Output: [1 2] <nil>
}
