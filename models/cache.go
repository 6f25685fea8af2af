package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/searchd/encoder"
)

// ManifestFile is the name of the file that describes a pulled checkpoint, in its folder.
const ManifestFile = "manifest.json"

// CacheEnv is the environment variable that replaces the folder of pulled checkpoints.
const CacheEnv = "SEARCHD_MODELS"

// Manifest describes a checkpoint that was pulled.
type Manifest struct {
	Repo       string         `json:"repo"` // OWNER/NAME
	Revision   string         `json:"revision"`
	Commit     string         `json:"commit"`
	Hub        string         `json:"hub"`
	Pulled     time.Time      `json:"pulled"`
	Family     string         `json:"family"`
	Dimension  int            `json:"dimension"`
	Parameters int            `json:"parameters"`
	Bytes      int64          `json:"bytes"` // of all files
	Files      []ManifestItem `json:"files"` // by path
}

// ManifestItem is a file of a checkpoint.
type ManifestItem struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Pulled is a checkpoint that was pulled and the folder that it lies in.
type Pulled struct {
	Manifest
	Dir string
	New bool // whether this call has put it there
}

// CacheDir is the folder of pulled checkpoints: SEARCHD_MODELS, or searchd/models in the user's
// cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for checkpoints (%s names one): %w", CacheEnv, err)
	}
	return filepath.Join(base, "searchd", "models"), nil
}

// cachePath is the place of a repository's checkpoint.
func cachePath(r Repo) (string, error) {
	dir, err := CacheDir()
	return filepath.Join(dir, r.Owner, r.Name), err
}

// readManifest returns the manifest of the checkpoint in dir after checking that its files exist
// with their sizes. The error is [fs.ErrNotExist] if there is no manifest.
func readManifest(dir string) (*Manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b, err := root.ReadFile(ManifestFile)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ManifestFile), err)
	}
	for _, f := range m.Files {
		info, err := root.Stat(filepath.FromSlash(f.Path))
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %s: missing: %v", dir, f.Path, err)
		}
		if info.Size() != f.Size {
			return nil, fmt.Errorf("checkpoint %s: %s has %d bytes, the manifest says %d", dir, f.Path, info.Size(), f.Size)
		}
	}
	return &m, nil
}

// EmbeddedManifest loads the embedded checkpoint and describes it, without digests.
func EmbeddedManifest() (*Manifest, error) {
	fsys, _, err := Find(Embedded)
	if err != nil {
		return nil, err
	}
	model, err := encoder.Load(fsys, encoder.Options{})
	if err != nil {
		return nil, err
	}
	info := model.Info()
	m := &Manifest{Family: info.Family, Dimension: info.Dim, Parameters: info.Parameters}
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		stat, err := d.Info()
		if err == nil {
			m.Bytes += stat.Size()
			m.Files = append(m.Files, ManifestItem{Path: p, Size: stat.Size()})
		}
		return err
	})
	return m, err
}

// is reports whether the manifest is of the wanted revision: the branch or tag that was pulled, or
// the beginning of the commit.
func (m *Manifest) is(r Repo) bool {
	return r.Revision == "" || r.Revision == m.Revision || len(r.Revision) >= 7 && strings.HasPrefix(m.Commit, r.Revision)
}

// findPulled looks a repository up in the cache.
func findPulled(r Repo) (fs.FS, string, error) {
	dir, err := cachePath(r)
	if err != nil {
		return nil, "", err
	}
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) { // a pull may have been killed while it replaced the checkpoint; the next one recovers it
		before := filepath.Join(filepath.Dir(dir), oldName(r.Name))
		if kept, oldErr := readManifest(before); oldErr == nil {
			m, dir, err = kept, before, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w: %q is neither a folder here nor a pulled checkpoint; `searchd models pull %s` gets it", ErrNotFound, r, r)
	}
	if err != nil {
		return nil, "", err
	}
	if !m.is(r) {
		return nil, "", fmt.Errorf("%w: %s is there at commit %s (revision %s), not at %s; `searchd models pull %s` gets that",
			ErrNotFound, r.ID(), m.Commit, m.Revision, r.Revision, r)
	}
	return os.DirFS(dir), r.ID(), nil
}

// List returns the pulled checkpoints by name. Unreadable ones are left out and joined in the
// error.
func List() ([]Pulled, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	owners, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Pulled
	var faults []error
	for _, owner := range owners {
		names, err := os.ReadDir(filepath.Join(cache, owner.Name()))
		if err != nil {
			continue // not a folder of pulled checkpoints
		}
		for _, name := range names {
			r, err := ParseRepo(owner.Name() + "/" + name.Name())
			if err != nil {
				continue
			}
			dir := filepath.Join(cache, r.Owner, r.Name)
			m, err := readManifest(dir)
			switch {
			case err == nil:
				out = append(out, Pulled{Manifest: *m, Dir: dir})
			case !errors.Is(err, fs.ErrNotExist):
				faults = append(faults, err)
			}
		}
	}
	slices.SortFunc(out, func(a, b Pulled) int { return strings.Compare(a.Repo, b.Repo) })
	return out, errors.Join(faults...)
}

// Remove deletes a pulled checkpoint and the remains of an interrupted pull. It waits for a running
// pull.
func Remove(ctx context.Context, name string) error {
	r, err := ParseRepo(name)
	if err != nil {
		return err
	}
	if r.Revision != "" {
		return fmt.Errorf("%w: got %q, want OWNER/NAME: one revision is kept", ErrName, name)
	}
	dest, err := cachePath(r)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(dest)); err != nil {
		return fmt.Errorf("%w: %s is not pulled", ErrNotFound, r)
	}
	s, err := openStaging(ctx, dest, nil)
	if err != nil {
		return err
	}
	defer s.close()
	found := false
	for _, name := range []string{s.base, s.old(), s.dir()} {
		_, err := s.parent.Lstat(name)
		found = found || err == nil
		if err := s.parent.RemoveAll(name); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%w: %s is not pulled", ErrNotFound, r)
	}
	return nil
}
