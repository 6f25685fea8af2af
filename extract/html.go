package extract

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

func (x *source) html(b []byte) (content, error) {
	s, err := x.decodeHTML(b)
	if err != nil {
		return content{}, err
	}
	how := htmlWriter{xml: extension(x.name) == ".xhtml" || strings.HasPrefix(strings.TrimSpace(s[:min(len(s), 64)]), "<?xml")}
	if !x.o.WholePages {
		how.page = new(page)
	}
	w, err := x.readHTML(s, how)
	if err != nil {
		return content{}, err
	}
	c := content{title: w.title.String(), text: w.out.String(), blocks: w.out.ended(), fields: map[string]any{}}
	if w.page != nil {
		c.mainText(w.page, s)
	}
	if c.title == "" {
		c.title = w.heading
	}
	for name, v := range map[string]string{"lang": w.lang, "description": w.description} {
		if v != "" {
			c.fields[name] = v
		}
	}
	return c, nil
}

// readHTML reads the text of s, as how says.
func (x *source) readHTML(s string, how htmlWriter) (*htmlWriter, error) {
	start := time.Now()
	read := func(all bool) (*htmlWriter, error) {
		w := how
		w.out, w.all = new(textBuilder), all
		if how.page != nil {
			w.page = &page{known: map[string]hints{}}
		}
		return &w, w.run(s, func() error {
			if err := x.ended(); err != nil {
				return err
			}
			return budgetSpent(start)
		})
	}
	w, err := read(false)
	if err == nil && w.left && !valueHasText(w.out.String()) {
		w, err = read(true) // what seemed to stand beside the text is all there is
	}
	if errors.Is(err, errBudget) {
		err = x.warnf(0, "HTML takes too long to parse (%v); the rest is left out", err)
	}
	return w, err
}

// decodeHTML returns b as UTF-8: decoded by its byte order mark, else by its meta element, else as
// other text is.
func (x *source) decodeHTML(b []byte) (string, error) {
	if x.marked {
		return x.text(0, b)
	}
	enc, name := declaredCharset(b)
	bad, multi := scanUTF8(b)
	switch {
	case name == "utf-8":
		x.dec.strict = true
		return x.text(0, b)
	case enc == nil:
		return x.text(0, b)
	case bad*minChance <= multi && multi > 0 && (isCharmap(name) || multi >= minChance):
		// Pages of UTF-8 often claim to be something else; that such a text is UTF-8 by chance
		// happens to a few letters of two bytes at most.
		if err := x.warnf(0, "the page says that it is in %s, but it is in UTF-8", name); err != nil {
			return "", err
		}
		x.dec.strict = true
		return x.text(0, b)
	}
	s, err := decodeAll(b, enc)
	if err != nil {
		return "", x.reject("cannot be decoded as %s: %v", name, err)
	}
	return s, nil
}

// minChance is the number of characters of UTF-8 that are not there by chance.
const minChance = 10

// isCharmap reports whether the character set of that name has one byte for each character.
func isCharmap(name string) bool {
	enc, err := ParseEncoding(name)
	_, ok := enc.(*charmap.Charmap)
	return err == nil && ok
}

// declaredCharset returns the character set that a meta element in the first 1,024 bytes names; nil
// if none does.
func declaredCharset(b []byte) (encoding.Encoding, string) {
	// DetermineEncoding does not say whether it found a declaration or guessed. With ASCII and one
	// character of UTF-8, not at the end, its guess is UTF-8, without that character it is
	// Windows-1252: what comes out both times has been declared.
	head := bytes.Clone(b[:min(len(b), 1000)])
	for i, c := range head {
		if c >= 0x80 {
			head[i] = '?'
		}
	}
	enc, name, _ := charset.DetermineEncoding(head, "")
	if _, other, _ := charset.DetermineEncoding(append(head, "\u00e9."...), ""); other != name {
		return nil, ""
	}
	return enc, name
}
