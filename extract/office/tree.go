package office

import (
	"encoding/xml"
	"iter"
	"slices"
	"strings"

	"example.com/searchd/extract/content"
)

const (
	maxNodes = 1 << 18 // elements and texts of a tree
	maxTree  = 100     // depth of a tree; deeper elements are ignored, but not their text
)

// node is an element, or a text without a name, of a part that is held in memory. Methods of a nil
// node return nothing.
type node struct {
	name, prefix string
	attrs        []xml.Attr
	nodes        []*node
	text         string
}

// treeBuilder builds trees of tokens.
type treeBuilder struct {
	stack []*node // open elements; the first one is the root, which has no name
	deep  int     // open elements beyond maxTree
	count int
}

// token adds a token to the tree.
func (b *treeBuilder) token(t xml.Token) {
	if len(b.stack) == 0 {
		b.stack = []*node{{}}
	}
	top := b.stack[len(b.stack)-1]
	if b.count >= maxNodes {
		return
	}
	switch t := t.(type) {
	case xml.StartElement:
		if len(b.stack) > maxTree {
			b.deep++
			return
		}
		b.count++
		n := &node{name: t.Name.Local, prefix: t.Name.Space, attrs: slices.Clone(t.Attr)}
		top.nodes = append(top.nodes, n)
		b.stack = append(b.stack, n)
	case xml.EndElement:
		if b.deep > 0 {
			b.deep--
		} else if len(b.stack) > 1 {
			b.stack = b.stack[:len(b.stack)-1]
		}
	case xml.CharData:
		b.count++
		top.nodes = append(top.nodes, &node{text: string(t)})
	}
}

// root returns the tree.
func (b *treeBuilder) root() *node {
	if len(b.stack) == 0 {
		return nil
	}
	return b.stack[0]
}

// tree reads a member. It ignores errors: the member holds no text.
func (r *archive) tree(name string) *node {
	var b treeBuilder
	r.scan(name, b.token)
	return b.root()
}

// textTree is tree for members that hold text.
func (r *archive) textTree(name string) *node {
	var b treeBuilder
	r.read(name, b.token)
	return b.root()
}

// attr returns the value of an attribute, whatever its prefix.
func (n *node) attr(name string) string {
	if n == nil {
		return ""
	}
	return content.Attr(xml.StartElement{Attr: n.attrs}, name)
}

// child returns the first child element with one of these names.
func (n *node) child(names ...string) *node {
	if n != nil {
		for _, c := range n.nodes {
			if c.name != "" && slices.Contains(names, c.name) {
				return c
			}
		}
	}
	return nil
}

// all returns the descendants with one of these names in the order of the document.
func (n *node) all(names ...string) iter.Seq[*node] {
	var walk func(n *node, yield func(*node) bool) bool
	walk = func(n *node, yield func(*node) bool) bool {
		for _, c := range n.nodes {
			if c.name != "" && slices.Contains(names, c.name) && !yield(c) || !walk(c, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(*node) bool) {
		if n != nil {
			walk(n, yield)
		}
	}
}

// first returns the first descendant with that name.
func (n *node) first(name string) *node {
	for c := range n.all(name) {
		return c
	}
	return nil
}

// String returns the text of the node and its descendants, of descendants with these names only if
// some are given.
func (n *node) String() string { return n.textOf() }

func (n *node) textOf(names ...string) string {
	var b strings.Builder
	var walk func(n *node, in bool)
	walk = func(n *node, in bool) {
		if in = in || slices.Contains(names, n.name); in {
			b.WriteString(n.text)
		}
		for _, c := range n.nodes {
			walk(c, in)
		}
	}
	if n != nil {
		walk(n, len(names) == 0)
	}
	return b.String()
}
