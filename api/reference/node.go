package reference

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a place in a YAML document, or nowhere.
type node struct{ *yaml.Node }

// at returns the member of a mapping, or nowhere.
func (n node) at(name string) node {
	for k, v := range n.members() {
		if k == name {
			return v
		}
	}
	return node{}
}

// text returns the scalar of a member of a mapping, "" where there is none.
func (n node) text(name string) string {
	if v := n.at(name); v.Node != nil && v.Kind == yaml.ScalarNode {
		return strings.TrimSpace(v.Value)
	}
	return ""
}

// members ranges over a mapping in the order of the file.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, node{n.Content[i+1]}) {
				return
			}
		}
	}
}

// items returns the elements of a sequence.
func (n node) items() (all []node) {
	if n.Node != nil && n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			all = append(all, node{c})
		}
	}
	return all
}

// json writes a value as JSON in one line, members in the order of the file; a string as it is.
func (n node) json() string {
	if n.Node == nil {
		return ""
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n.Value
	}
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n node) write(b *strings.Builder) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		sep := ""
		for name, v := range n.members() {
			b.WriteString(sep + quotedJSON(name) + ": ")
			v.write(b)
			sep = ", "
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, v := range n.items() {
			if i > 0 {
				b.WriteString(", ")
			}
			v.write(b)
		}
		b.WriteByte(']')
	default:
		if n.Tag == "!!str" {
			b.WriteString(quotedJSON(n.Value))
			return
		}
		b.WriteString(n.Value)
	}
}

func quotedJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string is always encoded
	return strings.TrimSuffix(b.String(), "\n")
}
