package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"searchd/index/hnsw"
	"searchd/index/keyword"
	"searchd/index/keyword/analysis"
	"searchd/search/backend"
	"searchd/search/catalog"
	"searchd/search/fault"
	"searchd/search/inference"
)

// Bounds of settings.
const (
	minPassageTokens  = 16
	minM, maxM        = 4, 64
	minEf, maxEf      = 8, 4096
	minRecall         = 0.5
	maxRecall         = 0.999
	maxCollectionName = 64
)

// DefaultSettings are those that hold where a collection's say nothing, with its checkpoint.
// Index.EfSearch is 0: a graph finds it for TargetRecall.
func DefaultSettings(m ModelInfo) Settings {
	return Settings{
		Language: DefaultLanguage,
		Passages: PassageSettings{MaxTokens: cmp.Or(m.PassageTokens, m.MaxTokens)},
		Index: IndexSettings{
			M: hnsw.DefaultM, EfConstruction: hnsw.DefaultEfConstruction, TargetRecall: hnsw.DefaultTargetRecall, Quantize: backend.QuantizeNone,
		},
	}
}

// DefaultLanguage is that of a collection whose settings name none.
const DefaultLanguage = "en"

// CheckCollectionName refuses names that are not 1 to 64 letters, digits, '-' and '_', beginning
// with a letter or digit.
func CheckCollectionName(name string) error {
	if !catalog.Valid(name) {
		return fault.Field("name", name, fmt.Sprintf("1 to %d letters, digits, '-' and '_', beginning with a letter or digit", maxCollectionName))
	}
	return nil
}

// canonical returns the settings with the language by the name that the index has for it, where it
// has one: cjk for ja, pt for pt-BR; and nil for synonyms and fields where there are none.
func (s Settings) canonical() Settings {
	if l, ok := analysis.LanguageOf(s.Language); ok {
		s.Language = l
	}
	if len(s.Synonyms) == 0 {
		s.Synonyms = nil
	}
	if len(s.Fields) == 0 {
		s.Fields = nil
	}
	return s
}

// queriedAs returns the settings with what acts on queries alone as other has it: the synonyms, and
// the weights of fields that have the same type there.
func (s Settings) queriedAs(other Settings) Settings {
	s.Synonyms, s.Fields = other.Synonyms, maps.Clone(s.Fields)
	for name, f := range s.Fields {
		if as, ok := other.Fields[name]; ok && as.Type == f.Type {
			s.Fields[name] = as
		}
	}
	return s
}

// Validate names every wrong setting at once. maxTokens is what the checkpoint takes.
func (s Settings) Validate(maxTokens int) error {
	var wrong fault.Fields
	if _, ok := analysis.LanguageOf(s.Language); !ok && s.Language != "" {
		wrong.Add("language", s.Language, "one of "+strings.Join(analysis.Languages(), ", ")+", also ja, ko, zh, nb, nn and tags such as pt-BR; standard suits any language that puts spaces between words")
	}
	s.checkSynonyms(&wrong)
	for _, f := range s.Fields.Faults() {
		wrong.Add(f.Field, f.Value, f.Allowed)
	}
	if n := s.Passages.MaxTokens; n != 0 && (n < minPassageTokens || n > maxTokens) {
		wrong.Add("passages.max_tokens", n, fmt.Sprintf("%d to %d", minPassageTokens, maxTokens))
	}
	if n := s.Index.M; n != 0 && (n < minM || n > maxM) {
		wrong.Add("index.m", n, fmt.Sprintf("%d to %d", minM, maxM))
	}
	if n := s.Index.EfConstruction; n != 0 && (n < minEf || n > maxEf) {
		wrong.Add("index.ef_construction", n, fmt.Sprintf("%d to %d", minEf, maxEf))
	}
	if n := s.Index.EfSearch; n != 0 && (n < minEf || n > maxEf) {
		wrong.Add("index.ef_search", n, fmt.Sprintf("%d to %d", minEf, maxEf))
	}
	switch r := s.Index.TargetRecall; {
	case r == 0:
	case !(r >= minRecall && r <= maxRecall):
		wrong.Add("index.target_recall", r, fmt.Sprintf("%v to %v", minRecall, maxRecall))
	case s.Index.EfSearch != 0:
		wrong.Add("index.target_recall", r, "left out beside index.ef_search, the width that it would find")
	}
	switch q := s.Index.Quantize; q {
	case "", backend.QuantizeNone, backend.QuantizeInt8:
	default:
		wrong.Add("index.quantize", q, backend.QuantizeNone+", "+backend.QuantizeInt8)
	}
	return wrong.Err()
}

// checkSynonyms names the rules that cannot be read, the first few of them.
func (s Settings) checkSynonyms(wrong *fault.Fields) {
	const most = 10
	size, bad := 0, 0
	for i, rule := range s.Synonyms {
		size += len(rule)
		if _, err := keyword.ParseSynonymRule(rule); err != nil && bad < most {
			wrong.Add(fmt.Sprintf("synonyms[%d]", i), rule, err.Error())
			bad++
		}
	}
	if n := len(s.Synonyms); n > keyword.MaxSynonymRules {
		wrong.Add("synonyms", n, fmt.Sprintf("at most %d rules", keyword.MaxSynonymRules))
	}
	if size > keyword.MaxSynonymBytes {
		wrong.Add("synonyms", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d bytes in all rules together", keyword.MaxSynonymBytes))
	}
}

// record is what the engine keeps with a collection.
type record struct {
	Settings Settings  `json:"settings"`
	Model    ModelInfo `json:"model"`
	Created  time.Time `json:"created"`

	// Of a collection that was re-embedded: how the checkpoint is found and runs, and what the
	// collection as it was is called.
	Source    string `json:"source,omitempty"`
	Precision string `json:"precision,omitempty"`
	Kept      string `json:"kept,omitempty"`
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
		M: s.Index.M, EfConstruction: s.Index.EfConstruction, EfSearch: s.Index.EfSearch, TargetRecall: s.Index.TargetRecall, Quantize: s.Index.Quantize,
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
