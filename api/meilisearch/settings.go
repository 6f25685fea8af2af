package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/search"
)

// settings are those of an index that searches use.
type settings struct {
	DisplayedAttributes  []string            `json:"displayedAttributes"`
	SearchableAttributes []string            `json:"searchableAttributes"`
	FilterableAttributes []any               `json:"filterableAttributes"` // names, or objects with patterns
	SortableAttributes   []string            `json:"sortableAttributes"`
	RankingRules         []string            `json:"rankingRules"`
	StopWords            []string            `json:"stopWords"`
	NonSeparatorTokens   []string            `json:"nonSeparatorTokens"`
	SeparatorTokens      []string            `json:"separatorTokens"`
	Dictionary           []string            `json:"dictionary"`
	Synonyms             map[string][]string `json:"synonyms"`
	DistinctAttribute    *string             `json:"distinctAttribute"`
	ProximityPrecision   string              `json:"proximityPrecision"`
	TypoTolerance        struct {
		Enabled             bool     `json:"enabled"`
		MinWordSizeForTypos any      `json:"minWordSizeForTypos"`
		DisableOnWords      []string `json:"disableOnWords"`
		DisableOnAttributes []string `json:"disableOnAttributes"`
		DisableOnNumbers    bool     `json:"disableOnNumbers"`
	} `json:"typoTolerance"`
	Faceting struct {
		MaxValuesPerFacet int               `json:"maxValuesPerFacet"`
		SortFacetValuesBy map[string]string `json:"sortFacetValuesBy"`
	} `json:"faceting"`
	Pagination struct {
		MaxTotalHits int `json:"maxTotalHits"`
	} `json:"pagination"`
	SearchCutoffMS      *int                       `json:"searchCutoffMs"`
	LocalizedAttributes any                        `json:"localizedAttributes"`
	FacetSearch         bool                       `json:"facetSearch"`
	PrefixSearch        string                     `json:"prefixSearch"`
	Embedders           map[string]json.RawMessage `json:"embedders"`
}

// defaults are the settings of an index for which none are set, by name.
var defaults = map[string]string{
	"displayedAttributes": `["*"]`, "searchableAttributes": `["*"]`, "filterableAttributes": `[]`, "sortableAttributes": `[]`,
	"rankingRules": `["words","typo","proximity","attributeRank","sort","wordPosition","exactness"]`,
	"stopWords":    `[]`, "nonSeparatorTokens": `[]`, "separatorTokens": `[]`, "dictionary": `[]`, "synonyms": `{}`, "distinctAttribute": `null`, "proximityPrecision": `"byWord"`,
	"typoTolerance": `{"enabled":true,"minWordSizeForTypos":{"oneTypo":5,"twoTypos":9},"disableOnWords":[],"disableOnAttributes":[],"disableOnNumbers":false}`,
	"faceting":      `{"maxValuesPerFacet":100,"sortFacetValuesBy":{"*":"alpha"}}`, "pagination": `{"maxTotalHits":1000}`,
	"searchCutoffMs": `null`, "localizedAttributes": `null`, "facetSearch": `true`, "prefixSearch": `"indexingTime"`, "embedders": `{}`,
}

// merged are the settings whose members are changed one by one.
var merged = []string{"typoTolerance", "faceting", "pagination", "embedders"}

// SettingNames returns the names of the settings, sorted.
func SettingNames() []string { return slices.Sorted(maps.Keys(defaults)) }

// settingOf returns the name of a setting in a path, "ranking-rules" for rankingRules.
func settingOf(path string) (string, error) {
	words := strings.Split(path, "-")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	name := strings.Join(words, "")
	if _, ok := defaults[name]; !ok {
		return "", &Error{404, "not_found", fmt.Sprintf("setting %.40q: not known here, allowed: %s", path, strings.Join(SettingNames(), ", "))}
	}
	return name, nil
}

// effective returns the settings with their defaults.
func effective(set map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, text := range defaults {
		out[name] = json.RawMessage(text)
	}
	maps.Copy(out, set)
	return out
}

// readSettings checks settings and adds their defaults.
func readSettings(set map[string]json.RawMessage) (s settings, err error) {
	all, err := json.Marshal(effective(set))
	if err != nil {
		return s, err
	}
	if err = json.Unmarshal(all, &s); err != nil {
		return s, bad("invalid_settings", "settings: %s", err)
	}
	switch {
	case s.Pagination.MaxTotalHits < 0:
		err = bad("invalid_settings_pagination", "pagination.maxTotalHits: got %d, allowed: 0 or more", s.Pagination.MaxTotalHits)
	case s.Faceting.MaxValuesPerFacet < 0:
		err = bad("invalid_settings_faceting", "faceting.maxValuesPerFacet: got %d, allowed: 0 or more", s.Faceting.MaxValuesPerFacet)
	}
	return s, err
}

// Settings returns the settings of an index.
func (s *Server) Settings(ctx context.Context, r Request) (any, error) {
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	return effective(x.Settings), nil
}

// Setting returns one setting.
func (s *Server) Setting(ctx context.Context, r Request, path string) (any, error) {
	name, err := settingOf(path)
	if err != nil {
		return nil, err
	}
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	return effective(x.Settings)[name], nil
}

// ChangeSettings changes settings; null resets one.
func (s *Server) ChangeSettings(ctx context.Context, r Request) (*Summary, error) {
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &patch); err != nil {
		return nil, bad("malformed_payload", "body: %s", err)
	}
	for name := range patch {
		if _, ok := defaults[name]; !ok {
			return nil, bad("bad_request", "settings: %.40q: not known here, allowed: %s", name, strings.Join(SettingNames(), ", "))
		}
	}
	return s.patch(ctx, r.Index, patch)
}

// ChangeSetting changes one setting; nil resets it.
func (s *Server) ChangeSetting(ctx context.Context, r Request, path string) (*Summary, error) {
	name, err := settingOf(path)
	if err != nil {
		return nil, err
	}
	value := json.RawMessage(bytes.TrimSpace(r.Body))
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if !json.Valid(value) {
		return nil, bad("malformed_payload", "body: not JSON")
	}
	return s.patch(ctx, r.Index, map[string]json.RawMessage{name: value})
}

// ResetSettings resets all settings.
func (s *Server) ResetSettings(ctx context.Context, r Request) (*Summary, error) {
	patch := map[string]json.RawMessage{}
	for name := range defaults {
		patch[name] = json.RawMessage("null")
	}
	return s.patch(ctx, r.Index, patch)
}

// patch changes settings as a task, and makes the index if there is none.
func (s *Server) patch(ctx context.Context, name string, patch map[string]json.RawMessage) (*Summary, error) {
	return s.run(ctx, "settingsUpdate", name, func(details map[string]any) error {
		for n, v := range patch {
			details[n] = v
		}
		made := false
		if raw, ok := patch["embedders"]; ok && string(raw) != "null" {
			next, err := readSettings(map[string]json.RawMessage{"embedders": raw})
			if err != nil {
				return err
			}
			e, dimension, err := next.providedEmbedder()
			if err != nil {
				return err
			}
			if made = e != ""; made {
				if err := s.provide(ctx, name, dimension); err != nil {
					return err
				}
			}
		}
		if !made {
			if err := s.ensure(ctx, name, search.Settings{}); err != nil {
				return err
			}
		}
		return s.change(ctx, name, func(x *index) error {
			set := maps.Clone(x.Settings)
			if set == nil {
				set = map[string]json.RawMessage{}
			}
			for n, v := range patch {
				if string(v) == "null" {
					delete(set, n)
					continue
				}
				if slices.Contains(merged, n) {
					var err error
					if v, err = mergeMembers(effective(set)[n], v); err != nil {
						return bad("invalid_settings", "%s: %s", n, err)
					}
				}
				set[n] = v
			}
			next, err := readSettings(set)
			if err != nil {
				return err
			}
			if _, _, err := next.providedEmbedder(); err != nil {
				return err
			}
			if _, ok := patch["synonyms"]; ok {
				rules, err := synonymRules(next.Synonyms)
				if err != nil {
					return err
				}
				if _, err := s.engine.ChangeSettings(ctx, x.info.Name, func(old search.Settings) (search.Settings, error) {
					old.Synonyms = rules
					return old, nil
				}); err != nil {
					return err
				}
			}
			x.Settings = set
			return nil
		})
	})
}

// mergeMembers sets the members of patch in an object; null removes one.
func mergeMembers(object, patch json.RawMessage) (json.RawMessage, error) {
	var a, b map[string]json.RawMessage
	if err := json.Unmarshal(object, &a); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &b); err != nil {
		return nil, err
	}
	maps.Copy(a, b)
	maps.DeleteFunc(a, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return json.Marshal(a)
}

// synonymRules returns rules of a collection: what is searched for finds itself and its synonyms.
func synonymRules(synonyms map[string][]string) ([]string, error) {
	var rules []string
	for _, word := range slices.Sorted(maps.Keys(synonyms)) {
		parts := append([]string{word}, synonyms[word]...)
		for _, p := range parts {
			if strings.TrimSpace(p) == "" || strings.ContainsAny(p, ",=>\n") {
				return nil, bad("invalid_settings_synonyms", "synonyms: got %.80q, allowed: words without commas, = and >", p)
			}
		}
		if len(parts) > 1 {
			rules = append(rules, word+" => "+strings.Join(parts, ", "))
		}
	}
	return rules, nil
}
