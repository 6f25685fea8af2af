package notes

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	toml "github.com/pelletier/go-toml/v2"

	"example.com/searchd/extract/content"

	"go.yaml.in/yaml/v3"
)

const maxFrontMatter = 64 << 10

const maxNesting = 16

// badLine is a line of front matter that is ignored.
type badLine struct {
	line   int
	reason string
}

// frontMatter takes front matter off s: YAML between lines of "---", TOML between "+++", or a JSON
// object, as Hugo has them. If there is none, or no line of it has a key, body is s.
func frontMatter(s string) (fields map[string]any, body string, bad []badLine) {
	ok := false
	first, rest, _ := strings.Cut(s, "\n")
	switch strings.TrimRight(first, " \t") {
	case "+++":
		if head, after, ruled := cutRule(rest, "+++", "+++"); ruled {
			body = after
			if fields, bad, ok = tomlFields(head); !ok {
				fields, bad, ok = byKey(head, tomlFields, " = ")
			}
		}
	case "---":
		if head, after, ruled := cutRule(rest, "---", "..."); ruled {
			body = after
			if fields, bad, ok = yamlFields(head); !ok {
				fields, bad, ok = byKey(head, yamlFields, ": ")
			}
		}
	}
	if strings.HasPrefix(s, "{") {
		fields, body, bad, ok = jsonFields(s)
	}
	if !ok {
		return nil, s, nil
	}
	return fields, body, bad
}

// jsonFields reads an object of JSON at the front of s as YAML, of which JSON is a part. It reports
// false if there is none or more follows on its last line.
func jsonFields(s string) (fields map[string]any, body string, bad []badLine, ok bool) {
	d := json.NewDecoder(strings.NewReader(s[:min(len(s), maxFrontMatter)]))
	var head json.RawMessage
	if d.Decode(&head) != nil {
		return nil, "", nil, false
	}
	after, body, _ := strings.Cut(s[d.InputOffset():], "\n")
	if strings.TrimSpace(after) != "" {
		return nil, "", nil, false
	}
	fields, bad, ok = yamlFields(strings.ReplaceAll(string(head), "\t", " ")) // tabs in JSON are white space, which YAML does not take there
	for i := range bad {
		bad[i].line-- // there is no rule
	}
	return fields, body, bad, ok && len(fields)+len(bad) > 0
}

func tomlFields(head string) (fields map[string]any, bad []badLine, ok bool) {
	if toml.Unmarshal([]byte(head), &fields) != nil {
		return nil, nil, false
	}
	if fields == nil {
		fields = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		v, reason := tomlValue(fields[key], 0)
		if reserved[key] {
			v, reason = nil, reservedKey(key)
		} else if reason != "" {
			reason = fmt.Sprintf("key %q: %s", key, reason)
		}
		if reason != "" {
			bad = append(bad, badLine{1, reason})
		}
		if fields[key] = v; v == nil || v == "" {
			delete(fields, key)
		}
	}
	return fields, bad, true
}

// tomlValue converts a value to one that JSON has; dates and times become strings.
func tomlValue(v any, depth int) (_ any, reason string) {
	if depth > maxNesting {
		return nil, "nested too deeply"
	}
	switch v := v.(type) {
	case int64:
		if n := float64(v); v > -1<<53 && v < 1<<53 {
			return n, ""
		}
		return json.Number(strconv.FormatInt(v, 10)), ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, "is no finite number"
		}
	case time.Time:
		return v.Format(time.RFC3339Nano), ""
	case fmt.Stringer: // a date or time without a zone
		return v.String(), ""
	case []any:
		for i := range v {
			if v[i], reason = tomlValue(v[i], depth+1); reason != "" {
				return nil, reason
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], reason = tomlValue(v[key], depth+1); reason != "" {
				return nil, reason
			}
		}
	}
	return v, ""
}

// byKey reads each key of invalid front matter on its own, with the lines that belong to it. An
// invalid value is text. It reports false if no line has a key.
func byKey(head string, parse func(string) (map[string]any, []badLine, bool), separator string) (fields map[string]any, bad []badLine, ok bool) {
	fields, ok = map[string]any{}, strings.TrimSpace(head) == ""
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	for i, n := 0, 0; i < len(lines); i += n {
		n = 1
		for i+n < len(lines) && continues.MatchString(lines[i+n]) {
			n++
		}
		block := strings.Join(lines[i:i+n], "\n")
		read, wrong, valid := parse(block)
		key, value, named := strings.Cut(lines[i], separator)
		if key = strings.TrimSpace(key); !valid && separator == ": " && named && keyName.MatchString(key) {
			if j := strings.Index(value, " #"); j >= 0 {
				value = value[:j]
			}
			if value = content.OneLine(value); len(value) > 1 && strings.Contains(`"'`, value[:1]) && value[0] == value[len(value)-1] {
				value = value[1 : len(value)-1]
			}
			read, valid, n = map[string]any{key: value}, true, 1
			if reserved[key] {
				read, wrong = nil, []badLine{{2, reservedKey(key)}}
			}
		}
		if !valid && strings.TrimSpace(block) != "" && !strings.HasPrefix(strings.TrimSpace(block), "#") {
			wrong = []badLine{{2, fmt.Sprintf("want \"key%svalue\", got %.60q", separator, lines[i])}}
		}
		ok = ok || valid && len(read)+len(wrong) > 0
		for key, v := range read {
			if _, twice := fields[key]; twice {
				wrong = append(wrong, badLine{2, keyTwice(key)})
			} else {
				fields[key] = v
			}
		}
		for _, w := range wrong {
			bad = append(bad, badLine{i + max(w.line, 2), w.reason})
		}
	}
	return fields, bad, ok
}

var (
	continues = regexp.MustCompile(`^([ \t]|- |-$)|^$`) // the line belongs to the key before it
	keyName   = regexp.MustCompile(`^[^\s"'\[\]{}#-][^"'\[\]{}\n]*$`)
)

func reservedKey(key string) string {
	return fmt.Sprintf("key %q is reserved for what the file itself says", key)
}

func keyTwice(key string) string {
	return fmt.Sprintf("key %q stands twice; the first one counts", key)
}

// yamlFields reads head as YAML, and reports false if it is invalid or no mapping.
func yamlFields(head string) (fields map[string]any, bad []badLine, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var doc yaml.Node
	if yaml.Unmarshal([]byte(head), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, false
	}
	fields = map[string]any{}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		k, v := pairs[i], pairs[i+1]
		_, twice := fields[k.Value]
		line := k.Line + 1 // the first line of the file is the rule
		switch {
		case k.Kind != yaml.ScalarNode:
			return nil, nil, false
		case reserved[k.Value]:
			bad = append(bad, badLine{line, reservedKey(k.Value)})
		case twice:
			bad = append(bad, badLine{line, keyTwice(k.Value)})
		case k.Value == "title" && v.Kind == yaml.ScalarNode && v.Tag != "!!null":
			fields[k.Value] = strings.TrimSpace(v.Value)
		default:
			value, reason := yamlValue(v, 0)
			if reason == noKey {
				return nil, nil, false
			}
			if reason != "" {
				bad = append(bad, badLine{line, fmt.Sprintf("key %q: %s", k.Value, reason)})
			}
			if value != nil && value != "" {
				fields[k.Value] = value
			}
		}
	}
	return fields, bad, true
}

// noKey is the reason for a mapping with a key such as {a}, as in {{title}} of templates.
const noKey = "a key is no text"

// yamlValue converts a node, without empty values; a list in a list becomes part of it.
func yamlValue(n *yaml.Node, depth int) (v any, reason string) {
	if depth > maxNesting {
		return nil, "nested too deeply"
	}
	switch n.Kind {
	case yaml.ScalarNode:
		switch {
		case n.Tag == "!!null":
			return nil, ""
		case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			return n.Value, ""
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			return strings.TrimSpace(n.Value), ""
		}
		return content.Typed(n.Value), ""
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, why := yamlValue(item, depth+1)
			if why != "" {
				reason = why
			}
			if inner, ok := v.([]any); ok {
				list = append(list, inner...)
			} else if v != nil && v != "" {
				list = append(list, v)
			}
		}
		return list, reason
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, why := yamlValue(n.Content[i+1], depth+1)
			if why != "" {
				reason = why
			}
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode {
				return nil, noKey
			}
			if k.Value != "" && v != nil && v != "" {
				fields[k.Value] = v
			}
		}
		if len(fields) == 0 {
			return nil, reason
		}
		return fields, reason
	}
	return nil, "aliases are not read"
}

// cutRule cuts s at the first line that is a rule.
func cutRule(s, rule, other string) (head, body string, ok bool) {
	for pos := 0; pos < min(len(s), maxFrontMatter); {
		end := strings.IndexByte(s[pos:], '\n')
		l := s[pos:]
		next := len(s)
		if end >= 0 {
			l, next = s[pos:pos+end], pos+end+1
		}
		if l = strings.TrimRight(l, " \t"); l == rule || l == other {
			return s[:pos], s[next:], true
		}
		pos = next
	}
	return "", "", false
}

// reserved are the fields that front matter must not set.
var reserved = map[string]bool{"text": true, "path": true, "modified": true}
