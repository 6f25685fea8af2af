package generate

import (
	"strings"

	"example.com/searchd/encoder/tokenizer"
)

// detokenizer turns tokens into text as they come. Its pieces together are the text of all tokens,
// except where more than mostHeld bytes in a row, each a token of its own, turn out not to be
// UTF-8.
type detokenizer struct {
	tok   *tokenizer.Tokenizer
	stops []string
	held  string // text that is not yet certain, because a stop string may begin in it
	from  int    // tokens before it are not decoded again
	to    int    // tokens whose text was taken
}

// mostHeld is how many tokens are held at most until their bytes make a character. A run of tokens
// for single bytes is text only if all of it is UTF-8.
const mostHeld = 32

// endsInByte reports whether the last of ids that has text stands for a byte, as <0x0A> does.
func (d *detokenizer) endsInByte(ids []int32) bool {
	for i := len(ids) - 1; i >= 0; i-- {
		token, _ := d.tok.Token(ids[i])
		if len(token) == 6 && strings.HasPrefix(token, "<0x") && token[5] == '>' {
			return true
		}
		if d.tok.Decode(ids[i:i+1], true) != "" {
			return false
		}
	}
	return false
}

// finalText returns the whole text of ids, up to a stop string.
func (d *detokenizer) finalText(ids []int32) string {
	text := d.tok.Decode(ids, true)
	at, _ := firstStop(text, d.stops)
	return text[:at]
}

// window is how many tokens are decoded again with each new one: a decoder may drop or join
// characters at the border of two tokens.
const window = 6

func newDetokenizer(tok *tokenizer.Tokenizer, stops []string) *detokenizer {
	return &detokenizer{tok: tok, stops: stops}
}

// add returns the text that has become certain with the last of ids, and whether a stop string
// ends it. With last there is nothing more to come.
func (d *detokenizer) add(ids []int32, last bool) (piece string, stopped bool) {
	text := d.fresh(ids, last)
	d.held += text
	if at, ok := firstStop(d.held, d.stops); ok {
		return d.held[:at], true
	}
	keep := 0
	if !last {
		keep = undecided(d.held, d.stops)
	}
	piece, d.held = d.held[:len(d.held)-keep], d.held[len(d.held)-keep:]
	return piece, false
}

// fresh returns the text of the tokens that were not taken yet, or nothing while they end within a
// character.
func (d *detokenizer) fresh(ids []int32, last bool) string {
	before := d.tok.Decode(ids[d.from:d.to], true)
	now := d.tok.Decode(ids[d.from:], true)
	if !last && len(ids)-d.to < mostHeld && (strings.HasSuffix(now, "\uFFFD") || d.endsInByte(ids[d.to:])) {
		return ""
	}
	if !strings.HasPrefix(now, before) {
		if !last {
			return ""
		}
		before = now[:commonPrefix(before, now)]
	}
	d.to = len(ids)
	d.from = max(d.from, d.to-window)
	for d.from > 0 && strings.HasPrefix(d.tok.Decode(ids[d.from:d.to], true), "\uFFFD") && d.from > d.to-2*window {
		d.from-- // begin with a whole character
	}
	return now[len(before):]
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// firstStop returns where the first stop string begins.
func firstStop(text string, stops []string) (at int, ok bool) {
	at = len(text)
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && i < at {
			at, ok = i, true
		}
	}
	return at, ok
}

// undecided returns how many bytes at the end of text may begin a stop string.
func undecided(text string, stops []string) int {
	most := 0
	for _, s := range stops {
		for n := min(len(s)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, s[:n]) {
				most = n
				break
			}
		}
	}
	return most
}
