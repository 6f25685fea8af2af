package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/searchd/internal/strictjson"

	sugar "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/decoder"
)

// Decode returns the text of ids. Ids without a token are left out, and special tokens too if
// skipSpecial is set. Normalisation is not reversed.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		if skipSpecial && t.byID[id].Special {
			continue
		}
		tok, ok := t.Token(id)
		if a := t.byID[id]; a.Normalized {
			tok = normalizeString(tok, t.steps) // as the Rust code has it
		}
		if ok {
			tokens = append(tokens, tok)
		}
	}
	if len(tokens) == 0 {
		return ""
	}
	if t.decoder == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(t.decoder.DecodeChain(tokens), "")
}

// parseDecoder reads the decoder field, nil if absent, with the decoders of package sugarme that
// are correct and our own, which are chains.
func parseDecoder(raw json.RawMessage) (sugar.Decoder, error) {
	if strictjson.IsNull(raw) {
		return nil, nil
	}
	all, err := parseSteps(raw, "decoders", 0, newDecoder)
	if err == nil && growth(all, 1) > maxGrowth {
		err = fmt.Errorf("it may make more than %d bytes of one", maxGrowth)
	}
	return decoder.NewSequence(all), err
}

func newDecoder(kind string, raw json.RawMessage) (sugar.Decoder, error) {
	switch kind {
	case "WordPiece":
		f := struct {
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}{"##", true}
		err := json.Unmarshal(raw, &f)
		return decoder.NewWordPieceDecoder(f.Prefix, f.Cleanup), err
	case "BPEDecoder":
		f := struct {
			Suffix string `json:"suffix"`
		}{"</w>"}
		err := json.Unmarshal(raw, &f)
		if err == nil && f.Suffix == "" {
			err = errors.New("suffix is empty")
		}
		return decoder.NewBpeDecoder(f.Suffix), err
	case "Fuse":
		return decoder.NewFuse(), nil
	case "ByteLevel":
		return chain(decodeBytes), nil
	case "ByteFallback":
		return chain(decodeFallback), nil
	case "Metaspace":
		m, err := parseMetaspace(raw)
		if err != nil {
			return nil, err
		}
		return chain(m.decode), nil
	case "Replace":
		rep, err := parseReplace(raw)
		if err != nil {
			return nil, err
		}
		return struct {
			chain
			grower
		}{rep.decode, rep}, nil
	case "Strip":
		return parseStripDecoder(raw)
	}
	return nil, fmt.Errorf("unknown type %q, allowed are WordPiece, BPEDecoder, ByteLevel, ByteFallback, Metaspace, Replace, "+
		"Strip, Fuse and Sequence", kind)
}

// chain is a function from tokens to tokens as a decoder.
type chain func(tokens []string) []string

// DecodeChain implements tokenizer.Decoder of package sugarme.
func (c chain) DecodeChain(tokens []string) []string { return c(tokens) }

// Decode implements tokenizer.Decoder of package sugarme.
func (c chain) Decode(tokens []string) string { return strings.Join(c(tokens), "") }

// decodeBytes reads byte-level tokens as one text, because a character may be spread over tokens.
func decodeBytes(tokens []string) []string {
	var b []byte
	for _, t := range tokens {
		b = decodeByteLevel(b, t)
	}
	return []string{lossy(b)}
}

// lossy returns b as text, with one U+FFFD for each longest part that begins a character but does
// not end it.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			// b[:n] can become a character as long as some continuation makes it one.
			for n < min(len(b), utf8.UTFMax) && !utf8.FullRune(b[:n]) && b[n]&0xC0 == 0x80 && !utf8.FullRune(b[:n+1]) {
				n++
			}
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}

// decodeFallback turns runs of <0x..> into text, each byte of a run that is not valid UTF-8 into
// U+FFFD.
func decodeFallback(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			if len(run) > 0 {
				out = append(out, string(run))
			}
		} else {
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if b, ok := fallbackByte(t); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

func fallbackByte(t string) (byte, bool) {
	if len(t) != 6 || t[:3] != "<0x" || t[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(t[3:5], 16, 8)
	return byte(v), err == nil
}

// decode replaces the replacement character by blanks, and drops the one before the text.
func (m *metaspace) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		blank := " "
		if i == 0 && m.scheme != prependNever {
			blank = ""
		}
		out[i] = strings.ReplaceAll(t, m.replacement, blank)
	}
	return out
}

func (p *replace) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		var sb strings.Builder
		end := 0
		p.find.matches([]byte(t), func(i, j int) {
			sb.WriteString(t[end:i])
			sb.WriteString(p.content)
			end = j
		})
		sb.WriteString(t[end:])
		out[i] = sb.String()
	}
	return out
}

// parseStripDecoder reads Strip, which takes up to start and stop times a character from the ends
// of each token.
func parseStripDecoder(raw json.RawMessage) (sugar.Decoder, error) {
	var f struct {
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(f.Content) != 1 || f.Start < 0 || f.Stop < 0 {
		return nil, fmt.Errorf("content %.40q, start %d, stop %d, want one character and counts of 0 or more", f.Content, f.Start, f.Stop)
	}
	return chain(func(tokens []string) []string {
		out := make([]string, len(tokens))
		for i, t := range tokens {
			for n := 0; n < f.Start && strings.HasPrefix(t, f.Content); n++ {
				t = t[len(f.Content):]
			}
			for n := 0; n < f.Stop && strings.HasSuffix(t, f.Content); n++ {
				t = t[:len(t)-len(f.Content)]
			}
			out[i] = t
		}
		return out
	}), nil
}
