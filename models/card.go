package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Card says what a checkpoint is for, in a few sentences that people read: what it is, what it was
// made of, and what it must not be used for. It is read from card.json in the checkpoint's folder;
// the zero Card where there is none.
type Card struct {
	About     string   `json:"about,omitempty"`
	Limits    string   `json:"limits,omitempty"`
	Data      string   `json:"data,omitempty"` // what it was trained on
	License   string   `json:"license,omitempty"`
	Languages []string `json:"languages,omitempty"` // as in ISO 639-1
}

// CardFile is the name of the file in a checkpoint's folder.
const CardFile = "card.json"

// maxCard bounds the file: a card is read, not studied.
const maxCard = 64 << 10

func readCard(fsys fs.FS) (Card, error) {
	info, err := fs.Stat(fsys, CardFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Card{}, nil
	}
	if err != nil {
		return Card{}, err
	}
	if info.Size() > maxCard {
		return Card{}, fmt.Errorf("%s: %d bytes, allowed: at most %d", CardFile, info.Size(), maxCard)
	}
	b, err := fs.ReadFile(fsys, CardFile)
	if err != nil {
		return Card{}, err
	}
	var c Card
	if err := json.Unmarshal(b, &c); err != nil {
		return Card{}, fmt.Errorf("%s: %w", CardFile, err)
	}
	return c, nil
}
