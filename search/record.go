package search

import (
	"cmp"
	"encoding/json"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/settings"
	"fmt"
	"time"
)

// Settings of a collection.
type (
	Settings        = settings.Settings
	PassageSettings = settings.Passages
	IndexSettings   = settings.Index
	FieldSettings   = mapping.Field

	EmbedderSettings = settings.Embedder
)

// DefaultLanguage is the language of settings that name none.
const DefaultLanguage = settings.DefaultLanguage

// DefaultSettings returns the default settings with a checkpoint.
func DefaultSettings(m ModelInfo) Settings {
	return settings.Default(cmp.Or(m.PassageTokens, m.MaxTokens))
}

const maxCollectionName = 64

// CheckCollectionName refuses names that are not 1 to 64 letters, digits, '-' and '_', beginning
// with a letter or digit.
func CheckCollectionName(name string) error {
	if !catalog.Valid(name) {
		return fault.Field("name", name, fmt.Sprintf("1 to %d letters, digits, '-' and '_', beginning with a letter or digit", maxCollectionName))
	}
	return nil
}

// record is what the engine stores with a collection.
type record struct {
	Settings Settings  `json:"settings"`
	Model    ModelInfo `json:"model"`
	Created  time.Time `json:"created"`

	// Of a collection that was re-embedded: where the checkpoint is and how it runs, and the
	// name of the previous collection.
	Source    string `json:"source,omitempty"`
	Precision string `json:"precision,omitempty"`
	Kept      string `json:"kept,omitempty"`

	CopyOf string `json:"copy_of,omitempty"` // incarnation of the collection that this one is to become a copy of
}

// config returns what the backend must know of the collection.
func (r record) config() (backend.Config, error) {
	payload, err := json.Marshal(r)
	if err != nil {
		return backend.Config{}, err
	}
	s := r.Settings
	return backend.Config{
		Dimension: r.Model.Dimension, Language: cmp.Or(s.Language, DefaultLanguage), Mapping: s.Fields, Synonyms: s.Synonyms,
		M: s.Index.M, EfConstruction: s.EfConstruction(), EfSearch: s.Index.EfSearch, TargetRecall: s.Index.TargetRecall, Quantize: s.Index.Quantize,
		Payload: payload,
	}, nil
}

func readRecord(c backend.Config) (record, error) {
	var r record
	if err := json.Unmarshal(c.Payload, &r); err != nil {
		return r, fmt.Errorf("settings of the collection: %w", err)
	}
	return r, nil
}

// made says how the vectors of the collection were made.
func (r record) made() inference.Made {
	if r.Settings.RemoteEmbedder() != nil {
		config, _ := json.Marshal(r.Settings.Embedder) // numbers and strings
		return inference.Made{Model: r.Model, Remote: string(config), PassageTokens: r.passageTokens()}
	}
	return inference.Made{Model: r.Model, Source: r.Source, Precision: r.Precision, PassageTokens: r.passageTokens()}
}

// passageTokens is how many tokens a passage may have, special tokens included.
func (r record) passageTokens() int {
	if n := cmp.Or(r.Settings.Passages.MaxTokens, r.Model.PassageTokens); n > 0 {
		return min(n, r.Model.MaxTokens)
	}
	return r.Model.MaxTokens
}

// specialTokens is what a checkpoint adds to a text at most: one in front, one behind, and one for
// safety's sake.
const specialTokens = 3

// budget is how many tokens a passage may have, its title included and special tokens not.
func (r record) budget() int { return max(r.passageTokens()-specialTokens, 1) }
