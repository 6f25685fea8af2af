package office

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"
)

// bookDate is a date or a year at the beginning of a string.
var bookDate = regexp.MustCompile(`^\d{4}(-\d\d(-\d\d)?)?`)

// EPUB reads the chapters of an e-book, in their order.
func EPUB(x *content.File, b []byte) (content.Content, error) {
	r, err := openArchive(x, b)
	if err != nil {
		return content.Content{}, err
	}
	main := r.textTree("meta-inf/container.xml").first("rootfile").attr("full-path")
	book := r.textTree(main)
	files, spine := map[string]string{}, []string{}
	for e := range book.all("item", "itemref") {
		if e.name == "item" && len(files) < maxMembers {
			files[e.attr("id")] = e.attr("href")
		} else if e.name == "itemref" && len(spine) < maxMembers {
			spine = append(spine, e.attr("idref"))
		}
	}
	if r.err == nil && len(spine) == 0 {
		r.err = errors.New("it names no chapters")
	}
	locked := r.encrypted()
	var missing error
	for _, id := range spine {
		if r.err != nil {
			break
		}
		href, _, _ := strings.Cut(files[id], "#")
		name := path.Join(path.Dir(main), plainPath(href))
		if locked[strings.ToLower(name)] {
			return content.Content{}, x.Reject("an e-book with copy protection, whose text is encrypted")
		}
		r.out.Block()
		if err := r.chapter(name); errors.Is(err, errNoMember) {
			missing = cmp.Or(missing, err)
		} else {
			r.err = err
		}
	}
	if missing != nil && content.HasText(r.out.String()) {
		if err := x.Warnf(0, "%v, which is left out", missing); err != nil {
			return content.Content{}, err
		}
	} else {
		r.err = cmp.Or(r.err, missing)
	}
	first := func(name string) string { return content.OneLine(book.first(name).String()) }
	c, err := r.content(first("title"))
	if err != nil {
		return content.Content{}, err
	}
	var authors []string
	for e := range book.all("creator") {
		if s := content.OneLine(e.String()); s != "" {
			authors = append(authors, s)
		}
	}
	var tags []any
	for e := range book.all("subject") {
		if s := content.OneLine(e.String()); content.HasText(s) && len(tags) < maxTagsOfBook {
			tags = append(tags, s)
		}
	}
	c.Set("author", strings.Join(authors, ", "))
	c.Set("lang", first("language"))
	c.Set("publisher", first("publisher"))
	c.Set("date", bookDate.FindString(first("date")))
	if len(tags) > 0 {
		c.Fields["tags"] = tags
	}
	if s := first("description"); content.HasText(s) { // often HTML
		if s, err = web.Text(x, s, web.Options{All: true}); err != nil {
			return content.Content{}, err
		}
		c.Set("description", s)
	}
	return c, nil
}

// chapter writes the text of an XHTML member.
func (r *archive) chapter(name string) error {
	b, err := r.member(name)
	if err != nil {
		return err
	}
	in, marked := content.SkipBOM(bufio.NewReader(bytes.NewReader(b))) // in UTF-16 there is one
	if b, err = io.ReadAll(in); err != nil {
		return err
	}
	s, _ := (&content.Decoder{Strict: marked}).Text(b)
	return web.Write(&r.out, strings.ReplaceAll(s, "\x00", "\ufffd"), web.Options{XML: true}, func() error {
		return errors.Join(r.x.Check(r.start), r.x.TooLong(r.out.Len()))
	})
}

// encrypted returns the encrypted members; often they are only fonts.
func (r *archive) encrypted() map[string]bool {
	names := map[string]bool{}
	for e := range r.tree("meta-inf/encryption.xml").all("CipherReference") {
		names[strings.ToLower(plainPath(e.attr("URI")))] = true
	}
	return names
}

func plainPath(href string) string {
	if plain, err := url.PathUnescape(href); err == nil {
		return plain
	}
	return href
}

const maxTagsOfBook = 1000
