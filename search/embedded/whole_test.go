package embedded_test

import (
	"errors"
	"testing"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// TestWhole: a folder that was claimed as a shard is opened by nobody who would take what is in it for all there is, and takes no values of them.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	b, err := embedded.Open(dir, embedded.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Claim(t.Context(), backend.Identity{Cluster: "c", Index: 1, Of: 3, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := embedded.Open(dir, embedded.Options{Whole: true}); !errors.Is(err, backend.ErrShard) {
		t.Errorf("Open = %v, %v, want ErrShard", b, err)
	}
	v, err := embedded.OpenVault(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetValues(t.Context(), map[string][]byte{"key/a": {1}}); !errors.Is(err, backend.ErrShard) {
		t.Errorf("SetValues of the vault = %v, want ErrShard", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = embedded.Open(dir, embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if id, err := b.Identity(t.Context()); err != nil || id.Index != 1 || id.Of != 3 {
		t.Errorf("Identity = %+v, %v", id, err)
	}
}
