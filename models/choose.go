package models

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/picture"
	"example.com/searchd/encoder/safetensors"
)

// Bounds of the files that are not weights.
const (
	maxConfigBytes = 4 << 20  // of a JSON file
	maxVocabBytes  = 64 << 20 // of tokenizer.json and of the index of shards
	maxShards      = 1000
)

// rootFiles are wanted from the root of a repository, moduleFiles from the folder of each module.
var (
	rootFiles   = []string{"modules.json", "config_sentence_transformers.json", CalibrationFile, "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}
	moduleFiles = slices.Concat([]string{"config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}, picture.Files, encoder.LengthConfigs)
)

// localPath reports whether a path of a hub is safe as a path on any system: relative, without
// "..", a backslash or a drive.
func localPath(p string) bool {
	return fs.ValidPath(p) && !strings.ContainsAny(p, "\\:\x00") && filepath.IsLocal(filepath.FromSlash(p))
}

// configs returns the small files that are wanted and exist.
func configs(files map[string]remoteFile, modules []encoder.Module) ([]remoteFile, error) {
	var names []string
	names = append(names, rootFiles...)
	for _, m := range modules {
		for _, name := range moduleFiles {
			names = append(names, path.Join(m.Dir, name))
		}
	}
	slices.Sort(names)
	var out []remoteFile
	for _, name := range slices.Compact(names) {
		f, ok := files[name]
		if !ok {
			continue
		}
		if err := checkSize(f); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	first := modules[0].Dir
	for _, need := range []string{path.Join(first, "config.json"), path.Join(first, "tokenizer.json")} {
		if _, ok := files[need]; ok {
			continue
		}
		if _, ok := files["tokenizer.json"]; ok && path.Base(need) == "tokenizer.json" {
			continue
		}
		if modules[0].Class == "StaticEmbedding" && path.Base(need) == "config.json" {
			continue
		}
		if slices.ContainsFunc(picture.Files, func(name string) bool { _, ok := files[path.Join(first, name)]; return ok }) {
			continue // it may encode pictures only; if not, Check finds what is missing
		}
		return nil, fmt.Errorf("%w: it has no %s", ErrLayout, need)
	}
	return out, nil
}

// checkSize bounds a file that is not weights.
func checkSize(f remoteFile) error {
	limit := int64(maxConfigBytes)
	if base := path.Base(f.path); base == "tokenizer.json" || base == safetensors.IndexName {
		limit = maxVocabBytes
	}
	if f.size > limit {
		return fmt.Errorf("%w: %s has %d bytes, allowed: %d", ErrTooLarge, f.path, f.size, limit)
	}
	return nil
}

// withWeights are the classes of modules that need weights.
var withWeights = []string{"Transformer", "CLIPModel", "StaticEmbedding", "Dense", "LayerNorm"}

// weights returns the file of weights of each module, or the index of its shards.
func weights(files map[string]remoteFile, modules []encoder.Module) (single, indexes []remoteFile, err error) {
	for _, m := range modules {
		if f, ok := files[path.Join(m.Dir, safetensors.SingleName)]; ok {
			single = append(single, f)
			continue
		}
		if f, ok := files[path.Join(m.Dir, safetensors.IndexName)]; ok {
			if err := checkSize(f); err != nil {
				return nil, nil, err
			}
			indexes = append(indexes, f)
			continue
		}
		if slices.Contains(withWeights, m.Class) {
			return nil, nil, missingWeights(files, m)
		}
	}
	return single, indexes, nil
}

// missingWeights names other formats that exist: pickled weights are common in old repositories,
// and reading them can run code.
func missingWeights(files map[string]remoteFile, m encoder.Module) error {
	want := path.Join(m.Dir, safetensors.SingleName)
	for _, other := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"} {
		if _, ok := files[path.Join(m.Dir, other)]; ok {
			return fmt.Errorf("%w: it has %s, but no %s, the only format that is read; another revision may have it (OWNER/NAME@refs/pr/N)",
				ErrLayout, path.Join(m.Dir, other), want)
		}
	}
	return fmt.Errorf("%w: it has no %s", ErrLayout, want)
}

// shards returns the files that the index at name lists.
func shards(files map[string]remoteFile, name string, raw []byte) ([]remoteFile, error) {
	names, err := safetensors.Shards(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrLayout, name, err)
	}
	if len(names) > maxShards {
		return nil, fmt.Errorf("%w: %s: %d shards, want 1 to %d", ErrLayout, name, len(names), maxShards)
	}
	var out []remoteFile
	for _, shard := range names {
		f, ok := files[path.Join(path.Dir(name), shard)]
		if !ok {
			return nil, fmt.Errorf("%w: %s names %q, which is not there", ErrLayout, name, clip(shard))
		}
		out = append(out, f)
	}
	return out, nil
}
