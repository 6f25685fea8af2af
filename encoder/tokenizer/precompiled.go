package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// precompiled is the precompiled_charsmap of SentencePiece: a double array over bytes whose values
// are offsets in a text of NUL-terminated replacements. As in the Rust code the shortest key that
// begins a grapheme cluster of less than six bytes determines the whole cluster; longer clusters go
// character by character.
type precompiled struct {
	units []uint32
	texts string
	ascii [utf8.RuneSelf]string // replacement of each ASCII character, itself where there is none
	most  int                   // bytes of a replacement to one of its key
}

// maxCharsmap bounds the trie of a charsmap in bytes; that of nmt_nfkc has 240 KB.
const maxCharsmap = 8 << 20

func parsePrecompiled(raw json.RawMessage) (*precompiled, error) {
	var f struct {
		Map *string `json:"precompiled_charsmap"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Map == nil {
		return nil, errors.New("precompiled_charsmap is missing, want base64")
	}
	b, err := base64.StdEncoding.DecodeString(*f.Map)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap: %w", err)
	}
	return newPrecompiled(b)
}

func newPrecompiled(b []byte) (*precompiled, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("precompiled_charsmap of %d bytes, want at least 4", len(b))
	}
	size := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if size%4 != 0 || size == 0 || size > maxCharsmap || uint64(size) > uint64(len(b)) {
		return nil, fmt.Errorf("precompiled_charsmap: trie of %d bytes, want a multiple of 4 from 4 to %d", size, min(len(b), maxCharsmap))
	}
	p := &precompiled{units: make([]uint32, size/4), texts: string(b[size:])}
	if !utf8.ValidString(p.texts) {
		return nil, errors.New("precompiled_charsmap: replacements are not valid UTF-8")
	}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	for c := range p.ascii {
		key := [1]byte{byte(c)}
		p.ascii[c] = string(key[:])
		if s, ok := p.lookup(key[:]); ok {
			p.ascii[c] = s
		}
	}
	return p, nil
}

func unitOffset(u uint32) uint32 { return (u >> 10) << ((u & (1 << 9)) >> 6) }
func unitLeaf(u uint32) bool     { return u>>8&1 == 1 }
func unitLabel(u uint32) uint32  { return u & (1<<31 | 0xFF) }
func unitValue(u uint32) uint32  { return u & (1<<31 - 1) }

// check walks every key, the shortest first, and requires that all of it is inside the trie and the
// texts.
func (p *precompiled) check() error {
	type place struct {
		pos   uint32
		bytes int // of the key up to there
	}
	n := uint32(len(p.units))
	seen := make([]bool, n)
	for todo := []place{{unitOffset(p.units[0]), 0}}; len(todo) > 0; todo = todo[1:] {
		here := todo[0]
		for c := uint32(1); c < 256; c++ {
			at := here.pos ^ c
			if at >= n || unitLabel(p.units[at]) != c || seen[at] {
				continue
			}
			seen[at] = true
			next := at ^ unitOffset(p.units[at])
			if unitLeaf(p.units[at]) {
				if next >= n {
					return fmt.Errorf("precompiled_charsmap: unit %d of %d", next, n)
				}
				v := unitValue(p.units[next])
				if uint64(v) >= uint64(len(p.texts)) || !utf8.RuneStart(p.texts[v]) {
					return fmt.Errorf("precompiled_charsmap: replacement at byte %d, allowed is the start of a character below %d", v, len(p.texts))
				}
				end := min(int(v)+maxToken, len(p.texts))
				content, _, ended := strings.Cut(p.texts[v:end], "\x00")
				if !ended && end < len(p.texts) {
					return fmt.Errorf("precompiled_charsmap: replacement at byte %d is longer than %d bytes", v, maxToken)
				}
				p.most = max(p.most, (len(content)+here.bytes)/(here.bytes+1))
			}
			todo = append(todo, place{next, here.bytes + 1})
		}
	}
	return nil
}

func (p *precompiled) growth() int { return max(p.most, 1) }

// lookup returns the replacement for the shortest key that begins b.
func (p *precompiled) lookup(b []byte) (string, bool) {
	n := uint32(len(p.units))
	pos := unitOffset(p.units[0])
	for _, c := range b {
		pos ^= uint32(c)
		if c == 0 || pos >= n || unitLabel(p.units[pos]) != uint32(c) {
			return "", false
		}
		u := p.units[pos]
		pos ^= unitOffset(u)
		if unitLeaf(u) {
			v := unitValue(p.units[pos])
			end := int(v)
			for end < len(p.texts) && p.texts[end] != 0 {
				end++
			}
			return p.texts[v:end], true
		}
	}
	return "", false
}

func (p *precompiled) normalize(dst, src *aligned) bool {
	dst.reset()
	for i := 0; i < len(src.b); {
		if c := src.b[i]; c < utf8.RuneSelf && c != '\r' && (i+1 == len(src.b) || src.b[i+1] < utf8.RuneSelf) {
			dst.putString(p.ascii[c], src.source(i, i+1))
			i++
			continue
		}
		j := i + 1 // two ASCII characters are two clusters, but for CR LF
		for j < len(src.b) && (src.b[j] >= utf8.RuneSelf || src.b[j-1] >= utf8.RuneSelf || src.b[j-1] == '\r') {
			j++
		}
		p.clusters(dst, src, i, j)
		i = j
	}
	return true
}

func (p *precompiled) clusters(dst, src *aligned, i, j int) {
	it := graphemes.FromBytes(src.b[i:j])
	for it.Next() {
		g := it.Value()
		if len(g) < 6 {
			if s, ok := p.lookup(g); ok {
				dst.putString(s, src.source(i, i+len(g)))
				i += len(g)
				continue
			}
		}
		for len(g) > 0 {
			_, n := utf8.DecodeRune(g)
			if s, ok := p.lookup(g[:n]); ok {
				dst.putString(s, src.source(i, i+n))
			} else {
				dst.keep(src, i, i+n)
			}
			g = g[n:]
			i += n
		}
	}
}
