package models

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/encoder"
)

func TestOpenEmbedded(t *testing.T) {
	for _, name := range []string{"", Embedded} {
		c, err := Open(name, encoder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Name != Embedded || c.Dim() != 384 || c.MaxSeqLength() != 256 {
			t.Errorf("Open(%q) = %s, %d dimensions, %d tokens", name, c.Name, c.Dim(), c.MaxSeqLength())
		}
		if c.Calibration == (Calibration{}) {
			t.Error("the embedded checkpoint has no calibration of its own")
		}
		r, err := c.Encode(t.Context(), []string{"A cat sits on the mat.", "A kitten is on the rug.", "Interest rates rose."}, encoder.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if near, far := dot(r.Vectors[0], r.Vectors[1]), dot(r.Vectors[0], r.Vectors[2]); near < far+0.1 {
			t.Errorf("cosine of two sentences on cats %.3f, of a cat and money %.3f", near, far)
		}
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestEmbeddedTokens: in the built-in checkpoint common words are shorter than rare ones, and words
// of like meaning are near.
func TestEmbeddedTokens(t *testing.T) {
	m, err := Open("", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.TokenVectors()
	if err != nil {
		t.Fatal(err)
	}
	read := func(token string) (unit []float64) {
		length := 0.0
		id, ok := m.Tokenizer().ID(token)
		if !ok {
			t.Fatalf("%s is not in the vocabulary", token)
		}
		x := make([]float32, v.Dim)
		v.Read(x, int(id))
		for _, c := range x {
			length += float64(c) * float64(c)
		}
		length = math.Sqrt(length)
		for _, c := range x {
			unit = append(unit, float64(c)/length)
		}
		return unit
	}
	car := read("car")
	cosine := func(token string) (sum float64) {
		x := read(token)
		for i := range x {
			sum += x[i] * car[i]
		}
		return sum
	}
	if truck, poem := cosine("truck"), cosine("poem"); truck < poem+0.2 {
		t.Errorf("car is like truck by %.2f and like poem by %.2f", truck, poem)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "nothing"), file} {
		if _, err := Open(name, encoder.Options{}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%q) = %v, want ErrNotFound with the name", name, err)
		}
	}
	if _, err := Open(dir, encoder.Options{}); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("an empty folder: %v, want an error that names config.json", err)
	}
}

func TestCalibration(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Calibration
		err        string
	}{
		{"absent", "", Calibration{}, "searchd.json"},
		{"whole", `{"cosine_floor":0.1,"precision":"int8","passage_tokens":96}`, Calibration{0.1, "int8", 96}, ""},
		{"of an earlier version", `{"cosine_ceiling":0.8,"alpha":0.3}`, Calibration{}, ""},
		{"no JSON", `{`, Calibration{}, "searchd.json"},
		{"precision", `{"precision":"f16"}`, Calibration{}, `precision: got "f16", allowed: f32, int8`},
		{"floor", `{"cosine_floor":1}`, Calibration{}, "cosine_floor: got 1"},
		{"short passages", `{"passage_tokens":3}`, Calibration{}, "passage_tokens: got 3"},
		{"negative passages", `{"passage_tokens":-1}`, Calibration{}, "passage_tokens: got -1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			if tc.text != "" {
				fsys[CalibrationFile] = &fstest.MapFile{Data: []byte(tc.text)}
			}
			got, err := readCalibration(fsys)
			if tc.err == "" && (err != nil || got != tc.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want an error with %q", err, tc.err)
			}
		})
	}
}

// TestRecommendedPrecision opens checkpoints with every precision: Auto is what searchd.json says.
func TestRecommendedPrecision(t *testing.T) {
	const plain = "../encoder/testdata/bert-mean"
	for _, tc := range []struct {
		name        string
		asked, want encoder.Precision
	}{
		{Embedded, encoder.Auto, encoder.Int8},
		{Embedded, encoder.Float32, encoder.Float32},
		{plain, encoder.Auto, encoder.Float32},
		{plain, encoder.Int8, encoder.Int8},
	} {
		c, err := Open(tc.name, encoder.Options{Precision: tc.asked})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Info().Precision; got != tc.want {
			t.Errorf("%s, asked for %v: %v, want %v", tc.name, tc.asked, got, tc.want)
		}
	}
}
