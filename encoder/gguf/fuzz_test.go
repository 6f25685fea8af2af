package gguf_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/gguf"
)

// FuzzOpen wants an error or a checkpoint of any bytes, never a panic or much memory.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"llama-f32.gguf", "nomic-q8_0.gguf"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:3000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fsys, err := gguf.Open(fstest.MapFS{"m.gguf": {Data: b}}, "m.gguf")
		if err != nil {
			return
		}
		m, err := encoder.Load(fsys, encoder.Options{Threads: 1})
		if err != nil {
			return
		}
		_, _ = m.Encode(t.Context(), []string{"river harbour"}, encoder.EncodeOptions{})
	})
}

// TestDamaged changes a good file in one place and wants an error that names it.
func TestDamaged(t *testing.T) {
	good, err := os.ReadFile("testdata/llama-f32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, bytes ...byte) []byte {
		b := append([]byte(nil), good...)
		copy(b[at:], bytes)
		return b
	}
	replace := func(old, now string) []byte {
		s := strings.Replace(string(good), old, now, 1)
		if s == string(good) {
			t.Fatalf("no %q in the file", old)
		}
		return []byte(s)
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"magic":        {change(0, 'X'), `begins with "XGUF"`},
		"version":      {change(4, 9), "version 9, want 2 or 3"},
		"tensors":      {change(8, 0xff, 0xff, 0xff, 0xff, 0xff), "tensors, at most"},
		"metadata":     {change(16, 0xff, 0xff, 0xff, 0xff, 0xff), "metadata, at most"},
		"empty":        {nil, "ends at byte 0"},
		"short header": {good[:200], "ends at byte 200"},
		"short data":   {good[:len(good)-2000], "the file has"},
		"architecture": {replace("\x05\x00\x00\x00\x00\x00\x00\x00llama", "\x05\x00\x00\x00\x00\x00\x00\x00mamba"), `is "mamba", want one of`},
		"key":          {replace("llama.block_count", "llama.block_xxxxx"), "llama.block_count is missing"},
		"tensor name":  {replace("blk.1.attn_q.weight", "blk.1.attn_x.weight"), `"blk.1.attn_x.weight" is not known`},
		"tokenizer":    {replace("\x04\x00\x00\x00\x00\x00\x00\x00gpt2", "\x04\x00\x00\x00\x00\x00\x00\x00gptx"), `is "gptx", want bert`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gguf.Open(fstest.MapFS{"m.gguf": {Data: c.bytes}}, "m.gguf")
			if !errors.Is(err, gguf.ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestFolder reads the virtual weights in odd pieces and wants the same bytes.
func TestFolder(t *testing.T) {
	for _, name := range []string{"llama-f32.gguf", "qwen3-q8_0.gguf"} {
		fsys, err := gguf.Open(os.DirFS("testdata"), name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := fs.ReadFile(fsys, "model.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		f, err := fsys.Open("model.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		at, ok := f.(interface {
			ReadAt(p []byte, off int64) (int, error)
		})
		if !ok {
			t.Fatal("no random access")
		}
		for off, n := 0, 1; off+n < len(whole); off, n = off+n-1, n%977+13 {
			p := make([]byte, n)
			if got, err := at.ReadAt(p, int64(off)); got != n || err != nil || string(p) != string(whole[off:off+n]) {
				t.Fatalf("%s: %d bytes at %d: %d, %v", name, n, off, got, err)
			}
		}
		if _, err := fsys.Open("vocab.txt"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v of a file that is not there", err)
		}
		f.Close()
	}
}
