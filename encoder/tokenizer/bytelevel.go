package tokenizer

import (
	"encoding/json"
	"unicode/utf8"
)

// byteRune is the visible character that byte-level vocabularies write for each byte (GPT-2's
// table); runeByte is its inverse.
var byteRune, runeByte = func() (to [256]rune, from map[rune]byte) {
	from = make(map[rune]byte, 256)
	n := rune(256)
	for b := range to {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			to[b] = rune(b)
		} else {
			to[b] = n
			n++
		}
		from[to[b]] = byte(b)
	}
	return
}()

// byteLevel cuts by the pattern of GPT-2 (regex) and writes each byte as a character of its own.
// With raw set, as the last step before BPE, it leaves the bytes as they are for a model that reads
// bytes.
type byteLevel struct {
	prefix bool // a blank before a word that begins with none
	regex  bool
	raw    bool
	trim   bool // trim_offsets; matters to the post-processor of the same name
}

func parseByteLevel(raw json.RawMessage) (*byteLevel, error) {
	f := struct {
		Prefix bool `json:"add_prefix_space"`
		Trim   bool `json:"trim_offsets"`
		Regex  bool `json:"use_regex"`
	}{true, true, true}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	return &byteLevel{prefix: f.Prefix, regex: f.Regex, trim: f.Trim}, nil
}

func (s *byteLevel) split(p *pipe) {
	if s.prefix {
		p.rewrite(func(dst *aligned, w span) {
			if p.cur.b[w.start] != ' ' {
				_, n := utf8.DecodeRune(p.cur.b[w.start:w.end])
				dst.putString(" ", p.cur.source(int(w.start), int(w.start)+n))
			}
			dst.keep(p.cur, int(w.start), int(w.end))
		})
	}
	if s.regex {
		gpt2Split.split(p)
	}
	if !s.raw {
		p.rewrite(func(dst *aligned, w span) { appendByteRunes(dst, p.cur, int(w.start), int(w.end)) })
	}
}

func appendByteRunes(dst, src *aligned, i, j int) {
	var buf [utf8.UTFMax]byte
	for ; i < j; i++ {
		dst.put(utf8.AppendRune(buf[:0], byteRune[src.b[i]]), src.source(i, i+1))
	}
}

// byteLevelNormalizer writes each byte as a character of its own.
type byteLevelNormalizer struct{}

func (byteLevelNormalizer) normalize(dst, src *aligned) bool {
	dst.reset()
	appendByteRunes(dst, src, 0, len(src.b))
	return true
}

// decodeByteLevel appends the bytes of a token; a token with characters outside the table is
// appended unchanged.
func decodeByteLevel(dst []byte, token string) []byte {
	start := len(dst)
	for _, r := range token {
		b, ok := runeByte[r]
		if !ok {
			return append(dst[:start], token...)
		}
		dst = append(dst, b)
	}
	return dst
}
