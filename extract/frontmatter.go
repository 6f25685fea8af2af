package extract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFrontMatter is the size in bytes beyond which a text that begins with a rule has no front
// matter.
const maxFrontMatter = 64 << 10

// badLine is a line of front matter that is passed over.
type badLine struct {
	line   int
	reason string
}

// frontMatter takes the lines between two lines of "---" (YAML) or "+++" (TOML) off the front of s,
// or an object of JSON, as Hugo has them. Line ends are LF. What cannot be read comes back in bad.
// If there is no front matter, as where no line between the rules has a key, body is s.
func frontMatter(s string) (fields map[string]any, body string, bad []badLine) {
	ok := false
	first, rest, _ := strings.Cut(s, "\n")
	switch strings.TrimRight(first, " \t") {
	case "+++":
		if head, after, ruled := cutRule(rest, "+++", "+++"); ruled {
			body = after
			fields, bad, ok = tomlFields(head)
		}
	case "---":
		if head, after, ruled := cutRule(rest, "---", "..."); ruled {
			body = after
			if fields, bad, ok = yamlFields(head); !ok {
				fields, bad, ok = lineFields(head)
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

// jsonFields takes an object of JSON off the front of s, and reports false where none stands there
// whose last line it has for itself. Values are read as those of YAML are, which JSON is a part of.
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

// tomlFields reads head as TOML, and reports false where it is none.
func tomlFields(head string) (fields map[string]any, bad []badLine, ok bool) {
	if fields, bad = toml(head); len(fields) == 0 && len(bad) > 0 {
		return nil, nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if reserved[key] {
			bad = append(bad, badLine{1, reservedKey(key)})
		}
		if reserved[key] || fields[key] == "" {
			delete(fields, key)
		}
	}
	return fields, bad, true
}

// lineFields reads head line by line, as people write it: "key: value" with plain, quoted and [a,
// b] values, lists of "- item" lines, and text blocks after | and >. It reports false for a text
// between two rules, where no line has a key.
func lineFields(head string) (fields map[string]any, bad []badLine, ok bool) {
	fields = make(map[string]any)
	lines := strings.Split(head, "\n")
	keys := 0
	for i := 0; i < len(lines); i++ {
		line := i + 2 // the first line of the file is the rule
		l := lines[i]
		if trimmed := strings.TrimSpace(l); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		key, value, ok := cutKey(l)
		if !ok {
			bad = append(bad, badLine{line, fmt.Sprintf("want \"key: value\", got %.60q", l)})
			continue
		}
		keys++
		if reserved[key] {
			bad = append(bad, badLine{line, reservedKey(key)})
			continue
		}
		if _, twice := fields[key]; twice {
			bad = append(bad, badLine{line, keyTwice(key)})
			continue
		}
		var v any
		switch block := indented(lines[i+1:]); {
		case value == "" && len(block) > 0:
			var reason string
			if v, reason = listItems(block); reason != "" {
				bad = append(bad, badLine{line, fmt.Sprintf("key %q: %s", key, reason)})
			}
			i += len(block)
		case value != "" && (value[0] == '|' || value[0] == '>') && len(value) <= 2:
			v = textBlock(block, value[0] == '>')
			i += len(block)
		case key == "title":
			v = unquote(value)
		default:
			v = scalar(value)
		}
		if v != nil && v != "" {
			fields[key] = v
		}
	}
	return fields, bad, keys > 0 || len(bad) == 0
}

func reservedKey(key string) string {
	return fmt.Sprintf("key %q is reserved for what the file itself says", key)
}

func keyTwice(key string) string {
	return fmt.Sprintf("key %q stands twice; the first one counts", key)
}

// yamlFields reads head as YAML, and reports false where it is none, or no map.
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

// noKey is the reason of a map with a key such as {a}, as in {{title}} of templates.
const noKey = "a key is no text"

// yamlValue returns the value of a node without what is empty in it; lists in a list are part of
// it.
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
		return typed(n.Value), ""
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

// cutRule cuts s at the first line that is one of the two rules.
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

// cutKey cuts "key: value" in two. Keys stand at the margin and hold neither quotes nor brackets.
func cutKey(l string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(l, ":")
	if !ok || key == "" || key[0] == ' ' || key[0] == '\t' || key[0] == '-' || strings.ContainsAny(key, "\"'[]{}") {
		return "", "", false
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), true
}

// indented returns the lines at the front that belong to the key before them: indented ones, list
// items and blank ones between those.
func indented(lines []string) []string {
	n := 0
	for i, l := range lines {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" {
			continue
		}
		if l[0] != ' ' && l[0] != '\t' && trimmed != "-" && !strings.HasPrefix(l, "- ") {
			break
		}
		n = i + 1
	}
	return lines[:n]
}

func listItems(block []string) (any, string) {
	var list []any
	for _, l := range block {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		item, ok := strings.CutPrefix(l, "- ")
		if !ok {
			return nil, fmt.Sprintf("want \"- item\", got %.60q; nested keys are not read", l)
		}
		if v := scalar(strings.TrimSpace(item)); v != nil && v != "" {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil, ""
	}
	return list, ""
}

// textBlock joins the lines of a block, with spaces if it is folded.
func textBlock(block []string, folded bool) string {
	sep := "\n"
	if folded {
		sep = " "
	}
	out := make([]string, len(block))
	for i, l := range block {
		out[i] = strings.TrimSpace(l)
	}
	return strings.TrimSpace(strings.Join(out, sep))
}

// scalar reads a value on one line: nil for null, a list for [a, b], else a bool, a number or a
// string.
func scalar(s string) any {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") && len(s) >= 2 {
		list := []any{}
		for _, item := range splitList(s[1 : len(s)-1]) {
			if v := scalar(item); v != nil && v != "" {
				list = append(list, v)
			}
		}
		return list
	}
	plain := unquote(s)
	if s == "" || s[0] == '"' || s[0] == '\'' {
		return plain
	}
	if plain == "null" || plain == "~" {
		return nil
	}
	return typed(plain)
}

// splitList cuts at the commas outside quotes. Lists in lists are not read as such.
func splitList(s string) []string {
	var out []string
	quote, start := byte(0), 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.TrimSpace(s[start:i]) == "":
			quote = c
		case c == ',':
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	// A list in a list would make scalar recurse as deep as the input says; brackets are part of
	// the text there.
	out = append(out, strings.TrimSpace(s[start:]))
	for i, item := range out {
		out[i] = strings.Trim(item, "[]")
	}
	return out
}

// unquote takes off quotes, or, from an unquoted value, a comment.
func unquote(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '\'':
		if end := strings.LastIndexByte(s, '\''); end > 0 {
			return strings.ReplaceAll(s[1:end], "''", "'")
		}
	case '"':
		if end := strings.LastIndexByte(s, '"'); end > 0 {
			return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s[1:end])
		}
	case '#':
		return ""
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimRight(s[:i], " \t")
	}
	return s
}
