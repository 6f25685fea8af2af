// Package settings has the settings of a collection: defaults, validation, and which of them can
// change while it holds documents.
package settings

import (
	"fmt"
	"maps"
	"strings"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/index/keyword"
	"example.com/searchd/index/keyword/analysis"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/mapping"
)

// Bounds of settings.
const (
	minPassageTokens = 16
	minM, maxM       = 4, 64
	minEf, maxEf     = 8, 4096
	minRecall        = 0.5
	maxRecall        = 0.999
)

// Settings are the settings of a collection. The zero value of each field means its default.
type Settings struct {
	Language string          `json:"language,omitempty"` // of the keyword analysis; default "en"; "ja" is stored as "cjk", "pt-BR" as "pt"
	Fields   mapping.Mapping `json:"fields,omitempty"`   // empty: dynamic, see [mapping.Mapping]
	Synonyms []string        `json:"synonyms,omitempty"` // rules by which keyword search expands queries, see [keyword.SynonymRule]
	Rules    []Rule          `json:"rules,omitempty"`    // what queries with certain words find
	Passages Passages        `json:"passages,omitzero"`
	Index    Index           `json:"index,omitzero"`
	Expiry   *Expiry         `json:"expiry,omitempty"`   // when documents are deleted; nil: never
	Versions *Versions       `json:"versions,omitempty"` // which former versions of documents are kept; nil: none
	Embedder *Embedder       `json:"embedder,omitempty"` // where vectors come from; nil: the server's model
}

// Passages are the settings of passages.
type Passages struct {
	MaxTokens int  `json:"max_tokens,omitempty"` // per passage, special tokens included; default: what suits the checkpoint; at most what it accepts
	NoTitle   bool `json:"no_title,omitempty"`   // true: the title is not put in front of each passage before it is encoded
}

// Index are the settings of the vector index.
type Index struct {
	M              int `json:"m,omitempty"`               // links per node and layer, default 16
	EfConstruction int `json:"ef_construction,omitempty"` // default 200
	EfSearch       int `json:"ef_search,omitempty"`       // beam width of a search; default: chosen for TargetRecall
	// TargetRecall is the part of the ten nearest passages that a search is to find; default 0.98.
	// The graph finds the beam width for it.
	TargetRecall float64 `json:"target_recall,omitempty"`
	Quantize     string  `json:"quantize,omitempty"` // none (default): float32 in memory; int8: a byte per dimension, the best scored again in float32
}

// Default returns the default settings with a checkpoint whose passages have so many tokens.
// Index.EfSearch is 0: the graph chooses it for TargetRecall.
func Default(passageTokens int) Settings {
	return Settings{
		Language: DefaultLanguage,
		Passages: Passages{MaxTokens: passageTokens},
		Index: Index{
			M: hnsw.DefaultM, EfConstruction: hnsw.DefaultEfConstruction, TargetRecall: hnsw.DefaultTargetRecall, Quantize: backend.QuantizeNone,
		},
	}
}

// DefaultLanguage is the language of settings that name none.
const DefaultLanguage = "en"

// Canonical returns the settings with the index's name of the language, such as cjk for ja, and nil
// in place of empty synonyms, rules and fields.
func (s Settings) Canonical() Settings {
	if l, ok := analysis.LanguageOf(s.Language); ok {
		s.Language = l
	}
	if len(s.Synonyms) == 0 {
		s.Synonyms = nil
	}
	if len(s.Fields) == 0 {
		s.Fields = nil
	}
	if len(s.Rules) == 0 {
		s.Rules = nil
	}
	return s
}

// WithQuerySettings returns the settings with those of other that no index depends on: synonyms,
// rules, expiry, versions, and the weights of fields of the same type.
func (s Settings) WithQuerySettings(other Settings) Settings {
	s.Synonyms, s.Rules, s.Expiry, s.Versions, s.Fields = other.Synonyms, other.Rules, other.Expiry, other.Versions, maps.Clone(s.Fields)
	for name, f := range s.Fields {
		if as, ok := other.Fields[name]; ok && as.Type == f.Type {
			s.Fields[name] = as
		}
	}
	return s
}

// Validate reports every wrong setting. maxTokens is the longest text of the checkpoint.
func (s Settings) Validate(maxTokens int) error {
	var wrong fault.Fields
	if _, ok := analysis.LanguageOf(s.Language); !ok && s.Language != "" {
		wrong.Add("language", s.Language, "one of "+strings.Join(analysis.Languages(), ", ")+", also ja, ko, zh, nb, nn and tags such as pt-BR; standard suits any language that puts spaces between words")
	}
	s.checkSynonyms(&wrong)
	s.checkRules(&wrong)
	s.checkExpiry(&wrong)
	s.checkVersions(&wrong)
	s.checkEmbedder(&wrong)
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
