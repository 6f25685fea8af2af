package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/searchd/internal/strictjson"
)

// model cuts a word into tokens: it appends the pieces of w to dst. Read-only and safe for
// concurrent use; what it needs to work with comes from s.
type model interface {
	tokenize(dst []piece, w []byte, s *scratch) []piece
}

// modelFile is the model field of tokenizer.json before it is checked.
type modelFile struct {
	kind    string
	entries []trieKey
	scores  []float64 // Unigram, by id
	merges  [][2]string
	rest    map[string]json.RawMessage
}

// readModel reads the model field. Files without a type, as older versions wrote them, are
// recognised by their keys.
func readModel(r *strictjson.Reader) (*modelFile, error) {
	m := &modelFile{rest: make(map[string]json.RawMessage)}
	err := r.Object(func(key string) (err error) {
		switch key {
		case "vocab":
			if r.Next() == '[' {
				return m.readScores(r)
			}
			m.entries, err = readVocab(r)
		case "merges":
			err = m.readMerges(r)
		default:
			m.rest[key], err = r.Raw()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if raw, ok := m.rest["type"]; ok {
		if err := json.Unmarshal(raw, &m.kind); err != nil {
			return nil, fmt.Errorf("type: %w", err)
		}
		return m, nil
	}
	switch {
	case m.merges != nil:
		m.kind = "BPE"
	case m.scores != nil:
		m.kind = "Unigram"
	case m.rest["continuing_subword_prefix"] != nil || m.rest["max_input_chars_per_word"] != nil:
		m.kind = "WordPiece"
	default:
		m.kind = "WordLevel"
	}
	return m, nil
}

// readScores reads [["token", score], ...]; a token's id is its place.
func (m *modelFile) readScores(r *strictjson.Reader) error {
	m.scores = []float64{}
	return r.Array(func() error {
		var token string
		var score float64
		i := 0
		err := r.Array(func() (err error) {
			switch i {
			case 0:
				token, err = r.String()
			case 1:
				score, err = r.Float()
			default:
				err = r.Errorf("want [token, score]")
			}
			i++
			return err
		})
		if err == nil && i != 2 {
			err = r.Errorf("want [token, score]")
		}
		if err == nil {
			err = checkToken(token, len(m.entries))
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", len(m.scores), err)
		}
		m.entries = append(m.entries, trieKey{token, int32(len(m.entries))})
		m.scores = append(m.scores, score)
		return nil
	})
}

// readMerges reads ["a b", ...] or [["a", "b"], ...].
func (m *modelFile) readMerges(r *strictjson.Reader) error {
	m.merges = [][2]string{}
	return r.Array(func() error {
		if len(m.merges) >= maxEntries {
			return fmt.Errorf("more than %d merges", maxEntries)
		}
		pair, err := readMerge(r)
		if err != nil {
			return fmt.Errorf("entry %d: %w", len(m.merges), err)
		}
		if len(pair[0]) > maxToken || len(pair[1]) > maxToken {
			return fmt.Errorf("entry %d: token longer than %d bytes", len(m.merges), maxToken)
		}
		m.merges = append(m.merges, pair)
		return nil
	})
}

func readMerge(r *strictjson.Reader) (pair [2]string, err error) {
	if r.Next() == '[' {
		i := 0
		err = r.Array(func() (err error) {
			if i == 2 {
				return r.Errorf("want two tokens")
			}
			pair[i], err = r.String()
			i++
			return err
		})
		if err == nil && i != 2 {
			err = r.Errorf("want two tokens")
		}
		return pair, err
	}
	s, err := r.String()
	if err != nil {
		return pair, err
	}
	left, right, ok := strings.Cut(s, " ")
	if !ok || strings.Contains(right, " ") {
		return pair, r.Errorf("merge %.80q, want two tokens with one blank between", s)
	}
	return [2]string{left, right}, nil
}

// fields sets the given pointers from the model's other keys; null and missing keys leave them
// unchanged.
func (m *modelFile) fields(into map[string]any) error {
	for key, p := range into {
		if raw := m.rest[key]; !strictjson.IsNull(raw) {
			if err := json.Unmarshal(raw, p); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

// build checks the model and returns it with its vocabulary. bytes: the words are bytes, see
// byteLevel.
func (m *modelFile) build(bytes bool) (model, *vocab, error) {
	switch m.kind {
	case "WordPiece", "WordLevel", "BPE", "Unigram":
	default:
		return nil, nil, fmt.Errorf("unknown type %q, allowed are WordPiece, BPE, Unigram and WordLevel", m.kind)
	}
	if (m.kind == "Unigram") != (m.scores != nil) {
		return nil, nil, fmt.Errorf("vocab of %s, want an object {token: id}, or for Unigram a list of [token, score]", m.kind)
	}
	v, err := newVocab(m.entries)
	if err != nil {
		return nil, nil, err
	}
	var mod model
	switch m.kind {
	case "WordPiece":
		mod, err = newWordPiece(m, v)
	case "WordLevel":
		mod, err = newWordLevel(m, v)
	case "BPE":
		mod, err = newBPE(m, v, bytes)
	case "Unigram":
		mod, err = newUnigram(m, v)
	}
	return mod, v, err
}
