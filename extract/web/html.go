// Package web reads HTML: the text of pages, of mail bodies, chapters and notes, with its blocks.
package web

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Options says how to read HTML that is not a page of its own.
type Options struct {
	XML  bool // a slash at the end of a tag closes its element: <title/>
	Mail bool // of a message, whose preview is hidden by its style
	All  bool // read menus, footers and the like, too
}

// Page reads a web page: its main text, or all of it if that is asked for.
func Page(f *content.File, b []byte) (content.Content, error) {
	s, err := decode(f, b)
	if err != nil {
		return content.Content{}, err
	}
	xml := f.Ext() == ".xhtml" || strings.HasPrefix(strings.TrimSpace(s[:min(len(s), 64)]), "<?xml")
	w, err := read(f, s, Options{XML: xml}, !f.WholePages)
	if err != nil {
		return content.Content{}, err
	}
	c := content.Content{Title: w.title.String(), Text: w.out.String(), Blocks: w.out.Blocks(), Fields: map[string]any{}}
	if w.page != nil {
		mainText(&c, w.page, s)
	}
	c.Title = cmp.Or(c.Title, w.heading)
	c.Set("lang", w.lang)
	c.Set("description", w.description)
	return c, nil
}

// Text returns the text of HTML.
func Text(f *content.File, s string, o Options) (string, error) {
	w, err := read(f, s, o, false)
	return w.out.String(), err
}

// Write writes the text of HTML to out. check, if not nil, is called now and then; its error ends
// the reading.
func Write(out *content.Builder, s string, o Options, check func() error) error {
	w := writer{out: out, Options: o}
	return w.run(s, check)
}

// read reads s. Menus and the like are read, too, if only they have text, or nearly so: a site map.
func read(f *content.File, s string, o Options, withPage bool) (*writer, error) {
	start := time.Now()
	run := func() (*writer, error) {
		w := &writer{out: new(content.Builder), Options: o}
		if withPage {
			w.page = &page{known: map[string]hints{}, elements: make([]element, 1)}
		}
		return w, w.run(s, func() error { return f.Check(start) })
	}
	w, err := run()
	if err == nil && w.left && onlyItems(w.out) {
		some := w
		o.All = true
		w, err = run()
		if n := some.out.Len(); n > 0 && w.out.Len() < menuShare*n {
			w = some
		}
	}
	if errors.Is(err, content.ErrBudget) && f.Ended() == nil {
		err = f.Warnf(0, "HTML takes too long to parse (%v); the rest is left out", content.BudgetSpent(start))
	}
	return w, err
}

// menuShare is how many times longer the text with menus is than without them, of a page that is
// all menus.
const menuShare = 3

// onlyItems reports whether out has only headings and items of lists, and few of them.
func onlyItems(out *content.Builder) bool {
	return out.Len() < minPage && !slices.ContainsFunc(out.Blocks(), func(b content.Block) bool {
		return b.Kind != content.Heading && b.Kind != content.Item
	})
}

// decode returns b as UTF-8, by its byte order mark, its meta element, or a guess.
func decode(x *content.File, b []byte) (string, error) {
	if x.Marked {
		return x.Text(0, b)
	}
	enc, name := declaredCharset(b)
	switch {
	case name == "utf-8":
		bad, multi := content.ScanUTF8(b)
		x.Decoder.Strict = bad <= multi // else it is not in UTF-8
		return x.Text(0, b)
	case enc == nil:
		return x.Text(0, b)
	case content.IsUTF8(b, name): // as often
		if err := x.Warnf(0, "the page says that it is in %s, but it is in UTF-8", name); err != nil {
			return "", err
		}
		x.Decoder.Strict = true
		return x.Text(0, b)
	}
	s, err := content.Decode(b, enc)
	if err != nil {
		return "", x.Reject("cannot be decoded as %s: %v", name, err)
	}
	return s, nil
}

// declaredCharset returns the encoding that a meta element names; nil if none does.
func declaredCharset(b []byte) (encoding.Encoding, string) {
	// DetermineEncoding does not say whether it found a declaration. Without one its result depends
	// on whether a character of UTF-8 follows.
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
