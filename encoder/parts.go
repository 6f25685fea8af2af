package encoder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"path"
	"slices"

	"example.com/searchd/encoder/picture"
	"example.com/searchd/encoder/safetensors"
)

// Parts are the SHA-256, in hexadecimal, of everything but the transformer's weights that
// determines the vector of a document. They are the same on every machine and in every version of
// this package. White space, the order of a file's outermost members, descriptive fields, the
// prompts for queries and a final Normalize do not change them: vectors are compared at unit
// length.
type Parts struct {
	Config    string `json:"config,omitempty"`    // config.json of the transformer; empty: a static model
	Tokenizer string `json:"tokenizer,omitempty"` // tokenizer.json, do_lower_case and overrides of tokenizer_config.json
	Modules   string `json:"modules,omitempty"`   // the other modules with settings and weights; the pooling modes are in Info.Pooling
	Prompt    string `json:"prompt,omitempty"`    // the one for documents
	Pictures  string `json:"pictures,omitempty"`  // how pictures are prepared; empty: they are not encoded
}

// idle are the members of config.json that change no vector.
var idle = []string{"_name_or_path", "transformers_version", "torch_dtype", "dtype"}

// tokenizing are the members of tokenizer.json that decide the ids of a text.
var tokenizing = []string{"added_tokens", "model", "normalizer", "post_processor", "pre_tokenizer"}

// readParts reads the files of a checkpoint with the given modules.
func readParts(fsys fs.FS, refs []Module) (p Parts, err error) {
	dir := refs[0].Dir
	if refs[0].Class != "StaticEmbedding" && (len(refs) > 1 || !isModel2Vec(fsys)) {
		if p.Config, err = partOf(fsys, path.Join(dir, "config.json"), func(name string) bool { return !slices.Contains(idle, name) }); err != nil {
			return p, err
		}
	}
	if p.Tokenizer, err = tokenizerPart(fsys, dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // there is none for pictures
		return p, err
	}
	if p.Pictures, err = picturesPart(fsys, dir); err != nil {
		return p, err
	}
	if p.Modules, err = modulesPart(fsys, refs[1:]); err != nil {
		return p, err
	}
	all, err := readPrompts(fsys)
	if err != nil {
		return p, err
	}
	prompt, err := all.text(PromptDocument)
	sum := sha256.Sum256([]byte(prompt))
	p.Prompt = hex.EncodeToString(sum[:])
	return p, err
}

func tokenizerPart(fsys fs.FS, dir string) (string, error) {
	counts := func(name string) bool { return slices.Contains(tokenizing, name) }
	part, err := partOf(fsys, path.Join(dir, "tokenizer.json"), counts)
	if errors.Is(err, fs.ErrNotExist) {
		part, err = partOf(fsys, "tokenizer.json", counts)
	}
	if err != nil {
		return "", err
	}
	if c, err := readLengthConfig(fsys, dir); c.lowerCase || err != nil {
		return part + " lower", err
	}
	return part, nil
}

// picturesPart covers the settings of the image processor.
func picturesPart(fsys fs.FS, dir string) (string, error) {
	for _, name := range picture.Files {
		part, err := partOf(fsys, path.Join(dir, name), func(string) bool { return true })
		if !errors.Is(err, fs.ErrNotExist) {
			return part, err
		}
	}
	return "", nil
}

// modulesPart covers the modules after the first.
func modulesPart(fsys fs.FS, refs []Module) (string, error) {
	for len(refs) > 0 && refs[len(refs)-1].Class == "Normalize" {
		refs = refs[:len(refs)-1]
	}
	h := sha256.New()
	for _, ref := range refs {
		switch ref.Class {
		case "Dropout":
			continue
		case "Pooling": // both layouts say the same
			f, err := readFields(fsys, path.Join(ref.Dir, "config.json"))
			if err != nil {
				return "", err
			}
			if !f.bool("include_prompt", true) {
				fmt.Fprintln(h, "without prompt")
			}
			continue
		}
		fmt.Fprintln(h, ref.Class)
		if ref.Class == "Normalize" {
			continue
		}
		if err := writePart(h, fsys, path.Join(ref.Dir, "config.json"), func(string) bool { return true }); err != nil {
			return "", err
		}
		if err := writeWeights(h, fsys, ref.Dir); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeWeights writes the sum of the weights of a module, if it has any.
func writeWeights(h hash.Hash, fsys fs.FS, dir string) error {
	ck, err := safetensors.Open(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer ck.Close()
	sum, err := ck.SHA256()
	h.Write(sum[:])
	return err
}

func partOf(fsys fs.FS, name string, counts func(member string) bool) (string, error) {
	h := sha256.New()
	err := writePart(h, fsys, name, counts)
	return hex.EncodeToString(h.Sum(nil)), err
}

// writePart writes the members that count of the object in a file, sorted and without white space;
// null counts as absent.
func writePart(h hash.Hash, fsys fs.FS, name string, counts func(member string) bool) error {
	b, err := readLimited(fsys, name, maxTokenizerBytes)
	if err != nil {
		return err
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil { // the reader of this file reports the error
		h.Write(b)
		return nil
	}
	var compact bytes.Buffer
	for _, member := range slices.Sorted(maps.Keys(raw)) {
		if !counts(member) || string(raw[member]) == "null" {
			continue
		}
		fmt.Fprintf(&compact, "%q:", member)
		if err := json.Compact(&compact, raw[member]); err != nil {
			return err
		}
		compact.WriteByte('\n')
	}
	h.Write(compact.Bytes())
	return nil
}

// Differ returns the names of the parts that differ.
func (p Parts) Differ(other Parts) (names []string) {
	for _, part := range []struct{ name, a, b string }{
		{"config", p.Config, other.Config}, {"tokenizer", p.Tokenizer, other.Tokenizer}, {"modules", p.Modules, other.Modules}, {"prompt", p.Prompt, other.Prompt}, {"pictures", p.Pictures, other.Pictures},
	} {
		if part.a != part.b {
			names = append(names, part.name)
		}
	}
	return names
}
