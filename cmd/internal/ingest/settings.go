package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"example.com/searchd/search"
)

// readSettings returns the settings of --settings for a new collection.
func readSettings(path string) (s search.Settings, err error) {
	if path == "" {
		return s, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("--settings: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil || dec.More() {
		return s, fmt.Errorf("--settings: %s is not an object of settings: %w", path, err)
	}
	return s, nil
}

// newSettings returns the settings of a new collection: those of --settings, with the synonyms of
// --synonyms and, unless they name one, a language.
func (f flags) newSettings(language string) search.Settings {
	s := f.settings
	s.Language = cmp.Or(s.Language, language)
	if f.rules != nil {
		s.Synonyms = f.rules
	}
	return s
}

// convert turns a value into another of the same JSON shape.
func convert(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}
