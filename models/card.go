package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Card describes a checkpoint for people: its purpose, its training data and its limits. It is read
// from card.json in the checkpoint's folder.
type Card struct {
	About     string   `json:"about,omitempty"`
	Limits    string   `json:"limits,omitempty"`
	Data      string   `json:"data,omitempty"` // what it was trained on
	License   string   `json:"license,omitempty"`
	Languages []string `json:"languages,omitempty"` // as in ISO 639-1
}

// CardFile is the name of the file in a checkpoint's folder.
const CardFile = "card.json"

// maxCard bounds the files that are not part of the encoder.
const maxCard = 64 << 10

// readCard returns the zero Card for a checkpoint without one.
func readCard(fsys fs.FS) (c Card, err error) {
	if err = readSmall(fsys, CardFile, &c); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// readSmall decodes a small JSON file into v.
func readSmall(fsys fs.FS, name string, v any) error {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return err
	}
	if info.Size() > maxCard {
		return fmt.Errorf("%s: %d bytes, allowed: at most %d", name, info.Size(), maxCard)
	}
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
