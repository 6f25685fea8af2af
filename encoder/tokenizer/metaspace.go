package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// prependScheme selects the words that get the replacement character before them.
type prependScheme string

const (
	prependAlways prependScheme = "always"
	prependFirst  prependScheme = "first" // the word at the very start of the text
	prependNever  prependScheme = "never"
)

// metaspace replaces each blank by a visible character, puts one in front, and splits before each.
type metaspace struct {
	replacement string
	scheme      prependScheme
	cut         bool
}

func parseMetaspace(raw json.RawMessage) (*metaspace, error) {
	f := struct {
		Replacement string         `json:"replacement"`
		AddPrefix   *bool          `json:"add_prefix_space"`
		Scheme      *prependScheme `json:"prepend_scheme"`
		Split       *bool          `json:"split"`
	}{Replacement: "▁"}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return nil, fmt.Errorf("replacement %.40q, want one character", f.Replacement)
	}
	m := &metaspace{replacement: f.Replacement, scheme: prependAlways, cut: f.Split == nil || *f.Split}
	if f.Scheme != nil {
		m.scheme = *f.Scheme
	} else if f.AddPrefix != nil && !*f.AddPrefix {
		m.scheme = prependNever
	}
	switch m.scheme {
	case prependAlways, prependFirst, prependNever:
	default:
		return nil, fmt.Errorf("prepend_scheme %.40q, allowed are always, first and never", m.scheme)
	}
	if f.AddPrefix != nil && !*f.AddPrefix && m.scheme != prependNever {
		return nil, fmt.Errorf("prepend_scheme %q with add_prefix_space false, allowed is never", m.scheme)
	}
	return m, nil
}

func (m *metaspace) split(p *pipe) {
	n := len(m.replacement)
	p.tmp.reset()
	p.eachWord(func(w span) {
		start := len(p.tmp.b)
		b := p.cur.b[w.start:w.end]
		first, size := utf8.DecodeRune(b)
		src := p.cur.source(int(w.start), int(w.start)+size)
		if first != ' ' && string(b[:size]) != m.replacement &&
			(m.scheme == prependAlways || m.scheme == prependFirst && p.origin+int(src.start) == 0) {
			p.tmp.putString(m.replacement, src)
		}
		plain := 0
		for i, c := range b {
			if c == ' ' {
				p.tmp.keep(p.cur, int(w.start)+plain, int(w.start)+i)
				p.tmp.putString(m.replacement, p.cur.source(int(w.start)+i, int(w.start)+i+1))
				plain = i + 1
			}
		}
		p.tmp.keep(p.cur, int(w.start)+plain, int(w.end))
		if !m.cut {
			p.add(start, len(p.tmp.b))
			return
		}
		for i := start + 1; i+n <= len(p.tmp.b); i++ {
			if p.tmp.b[i] == m.replacement[0] && string(p.tmp.b[i:i+n]) == m.replacement {
				p.add(start, i)
				start = i
				i += n - 1
			}
		}
		p.add(start, len(p.tmp.b))
	})
	p.cur, p.tmp = p.tmp, p.cur
}
