package ingest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"example.com/searchd/index/keyword"
)

// readSynonyms returns the rules of --synonyms: the lines of a file that are neither empty nor
// comments. None: no file; empty: one without rules.
func readSynonyms(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--synonyms: %w", err)
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("--synonyms: %s is not UTF-8", path)
	}
	rules := []string{}
	n, size := 0, 0
	for line := range strings.Lines(string(bytes.TrimPrefix(b, []byte("\ufeff")))) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if _, err := keyword.ParseSynonymRule(line); err != nil {
			return nil, fmt.Errorf("--synonyms: line %d of %s is %.100q, allowed: %w", n, path, line, err)
		}
		rules, size = append(rules, line), size+len(line)
	}
	if len(rules) > keyword.MaxSynonymRules || size > keyword.MaxSynonymBytes {
		return nil, fmt.Errorf("--synonyms: %s has %d rules of %d bytes, allowed: at most %d of %d", path, len(rules), size, keyword.MaxSynonymRules, keyword.MaxSynonymBytes)
	}
	return rules, nil
}
