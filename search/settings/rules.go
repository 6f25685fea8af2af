package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/fault"
)

// Rule changes what a query finds, for queries whose words it names.
type Rule struct {
	ID       string      `json:"id"`                 // for answers to name
	Queries  []string    `json:"queries"`            // by their words, whatever their case and punctuation
	Match    string      `json:"match,omitempty"`    // exact (default): all words of the query; contains: it has them next to one another
	Pin      []string    `json:"pin,omitempty"`      // ids of documents that are the first hits, in this order, found or not
	Hide     []string    `json:"hide,omitempty"`     // ids of documents that are not found
	Boost    []RuleBoost `json:"boost,omitempty"`    // as the boosts of a query, and beside these
	Redirect string      `json:"redirect,omitempty"` // where the application sends the user; the answer has it
}

// RuleBoost raises, or with a negative weight lowers, the documents that pass a filter.
type RuleBoost struct {
	Filter string  `json:"filter"`
	Weight float64 `json:"weight"` // -1 to 10, not 0
}

// Matches of rules.
const (
	MatchExact    = "exact"
	MatchContains = "contains"
)

// Limits of rules.
const (
	maxRules       = 1000
	maxRuleQueries = 100
	maxRuleQuery   = 256 // bytes
	maxPinned      = 50
	maxHidden      = 200
	maxRuleBoosts  = 4
	maxRedirect    = 2048
	maxRuleName    = 64
	maxRuleID      = 512 // of a document
)

// checkRules names the first wrong member of each of the first few wrong rules.
func (s Settings) checkRules(wrong *fault.Fields) {
	if n := len(s.Rules); n > maxRules {
		wrong.Add("rules", n, fmt.Sprintf("at most %d rules", maxRules))
		return
	}
	seen := map[string]bool{}
	for i, r := range s.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		if seen[r.ID] {
			wrong.Add(at+".id", r.ID, "another id for each rule")
		}
		seen[r.ID] = true
		r.check(at, wrong)
		const most = 10
		if len(*wrong) >= most {
			return
		}
	}
}

// check names the wrong members of a rule.
func (r Rule) check(at string, wrong *fault.Fields) {
	plain := func(text string, most int) bool {
		return text != "" && len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
	}
	if !plain(r.ID, maxRuleName) {
		wrong.Add(at+".id", r.ID, fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxRuleName))
	}
	if n := len(r.Queries); n == 0 || n > maxRuleQueries {
		wrong.Add(at+".queries", n, fmt.Sprintf("1 to %d queries", maxRuleQueries))
	}
	for j, q := range r.Queries {
		if len(q) > maxRuleQuery || len(ruleWords(q)) == 0 {
			wrong.Add(fmt.Sprintf("%s.queries[%d]", at, j), q, fmt.Sprintf("a word or several, at most %d bytes", maxRuleQuery))
		}
	}
	if r.Match != "" && r.Match != MatchExact && r.Match != MatchContains {
		wrong.Add(at+".match", r.Match, MatchExact+", "+MatchContains)
	}
	for _, ids := range []struct {
		name string
		list []string
		most int
	}{{"pin", r.Pin, maxPinned}, {"hide", r.Hide, maxHidden}} {
		if len(ids.list) > ids.most {
			wrong.Add(at+"."+ids.name, len(ids.list), fmt.Sprintf("at most %d ids", ids.most))
		}
		for j, id := range ids.list {
			if !plain(id, maxRuleID) {
				wrong.Add(fmt.Sprintf("%s.%s[%d]", at, ids.name, j), id, "the id of a document")
			}
		}
	}
	if len(r.Boost) > maxRuleBoosts {
		wrong.Add(at+".boost", len(r.Boost), fmt.Sprintf("at most %d", maxRuleBoosts))
	}
	for j, b := range r.Boost {
		if _, err := filter.Parse(b.Filter); err != nil {
			wrong.Add(fmt.Sprintf("%s.boost[%d].filter", at, j), b.Filter, err.Error())
		}
		if !(b.Weight >= -1 && b.Weight <= 10) || b.Weight == 0 {
			wrong.Add(fmt.Sprintf("%s.boost[%d].weight", at, j), b.Weight, "-1 to 10, and not 0")
		}
	}
	if r.Redirect != "" && !isRedirect(r.Redirect) {
		wrong.Add(at+".redirect", r.Redirect, fmt.Sprintf("an http or https URL, or a path that begins with one slash, of at most %d bytes", maxRedirect))
	}
	if len(r.Pin)+len(r.Hide)+len(r.Boost) == 0 && r.Redirect == "" {
		wrong.Add(at, r.ID, "at least one of pin, hide, boost and redirect")
	}
}

// isRedirect accepts what a browser may be sent to: no scheme that runs code, and no path that
// browsers take for another host.
func isRedirect(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxRedirect || strings.ContainsAny(text, "\\ ") {
		return false
	}
	if u.Scheme == "" {
		return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// ruleWords returns the words of a text in lower case.
func ruleWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// MatchingRules returns the rules of a collection that a query's text matches, in their order.
func (s Settings) MatchingRules(text string) (out []Rule) {
	if len(s.Rules) == 0 {
		return nil
	}
	words := " " + strings.Join(ruleWords(text), " ") + " "
	for _, r := range s.Rules {
		if slices.ContainsFunc(r.Queries, func(q string) bool {
			want := " " + strings.Join(ruleWords(q), " ") + " "
			return words == want || r.Match == MatchContains && strings.Contains(words, want)
		}) {
			out = append(out, r)
		}
	}
	return out
}
