package tokenizer

import (
	"bytes"
	"slices"
	"strings"
)

// trie finds the tokens of a vocabulary that begin at a place of a text. Nodes are numbered breadth
// first: the children of node n are the nodes first[n] to first[n+1]-1 and their bytes are
// consecutive in label, so a node takes nine bytes. Read-only after buildTrie, safe for concurrent
// use.
type trie struct {
	label []byte
	first []uint32
	id    []int32 // token that ends at the node, or -1
	root  [256]int32
}

type trieKey struct {
	text string
	id   int32
}

func sortKeys(keys []trieKey) {
	slices.SortFunc(keys, func(a, b trieKey) int { return strings.Compare(a.text, b.text) })
}

// buildTrie builds the trie of keys, which must be sorted and distinct.
func buildTrie(keys []trieKey) *trie {
	t := &trie{label: []byte{0}, id: []int32{-1}}
	type group struct {
		lo, hi int // keys that pass through the node
		depth  int
	}
	queue := []group{{0, len(keys), 0}}
	for q := 0; q < len(queue); q++ {
		g := queue[q]
		t.first = append(t.first, uint32(len(t.label)))
		lo := g.lo
		if lo < g.hi && len(keys[lo].text) == g.depth {
			t.id[q] = keys[lo].id
			lo++
		}
		for lo < g.hi {
			c := keys[lo].text[g.depth]
			hi := lo + 1
			for hi < g.hi && keys[hi].text[g.depth] == c {
				hi++
			}
			t.label = append(t.label, c)
			t.id = append(t.id, -1)
			queue = append(queue, group{lo, hi, g.depth + 1})
			lo = hi
		}
	}
	t.first = append(t.first, uint32(len(t.label)))
	for c := range t.root {
		t.root[c] = -1
	}
	for n := t.first[0]; n < t.first[1]; n++ {
		t.root[t.label[n]] = int32(n)
	}
	return t
}

// step returns the child of node by c, or -1. The root is node 0.
func (t *trie) step(node int32, c byte) int32 {
	if node == 0 {
		return t.root[c]
	}
	lo, hi := t.first[node], t.first[node+1]
	switch hi - lo {
	case 0:
		return -1
	case 1:
		if t.label[lo] == c {
			return int32(lo)
		}
		return -1
	}
	if i := bytes.IndexByte(t.label[lo:hi], c); i >= 0 {
		return int32(lo) + int32(i)
	}
	return -1
}

// walk follows s from node and returns where it ends, or -1.
func (t *trie) walk(node int32, s string) int32 {
	for i := 0; i < len(s) && node >= 0; i++ {
		node = t.step(node, s[i])
	}
	return node
}

// find returns the id of the token s, or -1.
func (t *trie) find(s []byte) int32 {
	node := int32(0)
	for _, c := range s {
		if node = t.step(node, c); node < 0 {
			return -1
		}
	}
	return t.id[node]
}

func (t *trie) findString(s string) int32 {
	if node := t.walk(0, s); node >= 0 {
		return t.id[node]
	}
	return -1
}
