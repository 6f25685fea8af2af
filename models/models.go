// Package models finds checkpoints: the embedded one, folders on disk, and those that were pulled
// from a hub.
//
// [Open] loads a checkpoint by name. [Pull] fetches one from the Hugging Face hub, or from a server
// with its protocol, into the folder [CacheDir], where [Find] and Open find it by OWNER/NAME;
// [List] and [Remove] manage that folder. Only Pull uses the network.
//
// Responses of a hub are not trusted. Connections are https, addresses are checked when they are
// connected to, each redirect is checked against the allowed hosts, the token goes to the hub
// alone, paths stay inside one [os.Root], sizes are bounded, and each file must have the digest of
// the commit's list. That list itself is trusted: to be sure which weights run, name a commit
// (OWNER/NAME@COMMIT) and compare the digests in manifest.json with the published ones.
package models

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/gguf"
)

//go:embed all:embedded
var embedded embed.FS

// Embedded is the name of the checkpoint inside the program; the empty name means it too.
const Embedded = "embedded"

// ErrNotFound is returned for a name that is neither [Embedded], a folder nor a pulled checkpoint,
// and for a repository that does not exist on a hub.
var ErrNotFound = errors.New("checkpoint not found")

// Checkpoint is a loaded encoder with its name, calibration and card.
type Checkpoint struct {
	*encoder.Model
	Name        string
	Calibration Calibration
	Card        Card
}

// Calibration holds a checkpoint's settings for search. It is read from searchd.json in its folder;
// without that file the floor is measured.
type Calibration struct {
	CosineFloor   float64 `json:"cosine_floor"`   // cosine of unrelated texts, -1 to below 1
	Precision     string  `json:"precision"`      // recommended: f32 or int8; empty: f32
	PassageTokens int     `json:"passage_tokens"` // default length of a passage, special tokens included; 0: all that the checkpoint takes
}

// minPassageTokens is the least sensible length of a passage.
const minPassageTokens = 16

// CalibrationFile is the name of the file in a checkpoint's folder.
const CalibrationFile = "searchd.json"

// Open loads a checkpoint by name, as [Find] does.
func Open(name string, o encoder.Options) (*Checkpoint, error) {
	fsys, label, err := Find(name)
	if err != nil {
		return nil, err
	}
	c, err := readCalibration(fsys)
	measured := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint %s: %w", label, err)
	}
	if o.Precision == encoder.Auto && c.Precision == encoder.Int8.String() {
		o.Precision = encoder.Int8
	}
	m, err := encoder.Load(fsys, o)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", label, err)
	}
	if !measured {
		if c.CosineFloor, err = measureFloor(m); errors.Is(err, encoder.ErrNotDense) || errors.Is(err, encoder.ErrNoTexts) { // a re-ranker, sparse, or for pictures
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", label, err)
	}
	card, err := readCard(fsys)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", label, err)
	}
	return &Checkpoint{Model: m, Name: label, Calibration: c, Card: card}, nil
}

// Embeds lists what the checkpoint gives vectors of: texts, pictures, both, or nothing for one that
// only scores pairs.
func (c *Checkpoint) Embeds() []string {
	list := []string{}
	if i := c.Info(); i.Texts && i.Labels == 0 && !i.Late {
		list = append(list, "texts")
	}
	if c.Info().Pictures {
		list = append(list, "pictures")
	}
	return list
}

// OpenTexts is Open for a checkpoint that must encode texts, as a collection's must.
func OpenTexts(name string, o encoder.Options) (*Checkpoint, error) {
	c, err := Open(name, o)
	if err == nil && !c.Info().Texts {
		return nil, fmt.Errorf("checkpoint %s: %w; a collection needs one that encodes texts", c.Name, encoder.ErrNoTexts)
	}
	return c, err
}

// Find returns the files of a checkpoint and its name: "" or "embedded", the path of a
// sentence-transformers folder or of a GGUF file, or the OWNER/NAME[@REVISION] of a pulled one. A
// folder takes precedence over a pulled checkpoint of the same name.
func Find(name string) (fsys fs.FS, label string, err error) {
	if name == "" || name == Embedded {
		sub, err := fs.Sub(embedded, "embedded")
		return sub, Embedded, err
	}
	info, err := os.Stat(name)
	if r, repoErr := ParseRepo(name); repoErr == nil && errors.Is(err, fs.ErrNotExist) {
		return findPulled(r)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %q is neither a folder that can be read, nor OWNER/NAME of a pulled one, nor \"embedded\": %w", ErrNotFound, name, err)
	}
	if base := filepath.Base(name); !info.IsDir() && strings.HasSuffix(strings.ToLower(base), ".gguf") {
		fsys, err = gguf.Open(os.DirFS(filepath.Dir(name)), base)
		return fsys, base[:len(base)-len(".gguf")], err
	}
	if !info.IsDir() {
		return nil, "", fmt.Errorf("%w: %q is a file, wanted the folder that holds config.json, or a file .gguf", ErrNotFound, name)
	}
	return os.DirFS(name), strings.TrimSuffix(filepath.Base(filepath.Clean(name)), string(filepath.Separator)), nil
}

func readCalibration(fsys fs.FS) (c Calibration, err error) {
	if err = readSmall(fsys, CalibrationFile, &c); err != nil {
		return c, err
	}
	if err = c.Validate(); err != nil {
		err = fmt.Errorf("%s: %w", CalibrationFile, err)
	}
	return c, err
}

// Validate names the first value that is not allowed.
func (c Calibration) Validate() error {
	if !(c.CosineFloor >= -1 && c.CosineFloor < 1) {
		return fmt.Errorf("cosine_floor: got %v, allowed: -1 to below 1", c.CosineFloor)
	}
	if p := c.Precision; p != "" && p != encoder.Float32.String() && p != encoder.Int8.String() {
		return fmt.Errorf("precision: got %q, allowed: f32, int8", p)
	}
	if n := c.PassageTokens; n != 0 && n < minPassageTokens {
		return fmt.Errorf("passage_tokens: got %d, allowed: 0 (all that the checkpoint takes) or at least %d", n, minPassageTokens)
	}
	return nil
}
