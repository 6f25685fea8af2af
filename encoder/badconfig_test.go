package encoder

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestConfigNumbers: a size that is out of range, or no plain integer, is refused with its name and
// value before anything of that size is allocated.
func TestConfigNumbers(t *testing.T) {
	refused := func(name, value string) {
		t.Helper()
		files := variant(t, map[string]string{"config.json": edited(t, "config.json", map[string]string{name: value})})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(files, Options{Threads: 1})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s of %s: %d bytes allocated", name, value, used)
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "config.json") || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s of %s: %v, want ErrConfig with the file, the field and the value", name, value, err)
		}
	}
	for _, name := range []string{"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings", "type_vocab_size"} {
		for _, value := range []string{"0", "-1", "1000000000", "9223372036854775808", "1e3", "1.5", `"12"`, "true", "[]"} {
			refused(name, value)
		}
	}
	for _, value := range []string{"0", "-1e-12", "1e400", "2", `"1e-12"`} {
		refused("layer_norm_eps", value)
	}
	nan := strings.Replace(edited(t, "config.json", nil), `"hidden_size"`, `"layer_norm_epsilon":NaN,"hidden_size"`, 1)
	if _, err := Load(variant(t, map[string]string{"config.json": nan}), Options{}); !errors.Is(err, ErrConfig) {
		t.Errorf("NaN: %v, want ErrConfig", err)
	}
}

// TestOddHeadSize: rotary positions turn pairs of dimensions.
func TestOddHeadSize(t *testing.T) {
	const dir = "testdata/families/nomic-moe"
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(b), `"n_head": 4`, `"n_head": 32`, 1)
	_, err = Load(overlay{os.DirFS(dir), map[string]string{"config.json": config}}, Options{})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "rotary positions over 1 of 1 dimensions of a head, want an even number") {
		t.Errorf("heads of one dimension: %v", err)
	}
}
