package office

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"searchd/extract/content"
	"searchd/extract/web"
)

// epubBook is the package document of an e-book.
type epubBook struct {
	title, author, lang          content.Builder
	description, publisher, date content.Builder
	tags                         []*content.Builder
	files                        map[string]string // of the manifest, by id
	spine                        []string          // ids
	text                         *content.Builder  // of the element that is read; nil: of none
}

const maxTagsOfBook = 1000

// bookDate is a date or a year at the beginning of a string.
var bookDate = regexp.MustCompile(`^\d{4}(-\d\d(-\d\d)?)?`)

// EPUB reads the chapters of an e-book, in their order.
func EPUB(x *content.File, b []byte) (content.Content, error) {
	r, err := openArchive(x, b)
	if err != nil {
		return content.Content{}, err
	}
	main := ""
	r.read("meta-inf/container.xml", func(t xml.Token) {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && main == "" {
			main = content.Attr(e, "full-path")
		}
	})
	book := epubBook{files: map[string]string{}}
	r.read(main, book.token)
	if r.err == nil && len(book.spine) == 0 {
		r.err = errors.New("it names no chapters")
	}
	locked := r.encrypted()
	var missing error
	for _, id := range book.spine {
		if r.err != nil {
			break
		}
		href, _, _ := strings.Cut(book.files[id], "#")
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
	c, err := r.content(book.title.String())
	if err != nil {
		return content.Content{}, err
	}
	c.Set("author", book.author.String())
	c.Set("lang", book.lang.String())
	c.Set("publisher", book.publisher.String())
	c.Set("date", bookDate.FindString(book.date.String()))
	var tags []any
	for _, tag := range book.tags {
		if s := tag.String(); content.HasText(s) {
			tags = append(tags, s)
		}
	}
	if len(tags) > 0 {
		c.Fields["tags"] = tags
	}
	if s := book.description.String(); content.HasText(s) { // often HTML
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
	r.scan("meta-inf/encryption.xml", func(t xml.Token) {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "CipherReference" && len(names) < maxMembers {
			names[strings.ToLower(plainPath(content.Attr(e, "URI")))] = true
		}
	})
	return names
}

func plainPath(href string) string {
	if plain, err := url.PathUnescape(href); err == nil {
		return plain
	}
	return href
}

func (k *epubBook) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		k.text = nil
		switch t.Name.Local {
		case "title":
			if k.title.Len() == 0 {
				k.text = &k.title
			}
		case "creator":
			if k.author.Len() > 0 {
				k.author.Prefix = ", "
			}
			k.text = &k.author
		case "language":
			if k.lang.Len() == 0 {
				k.text = &k.lang
			}
		case "description":
			if k.description.Len() == 0 {
				k.text = &k.description
			}
		case "publisher":
			if k.publisher.Len() == 0 {
				k.text = &k.publisher
			}
		case "date":
			if k.date.Len() == 0 {
				k.text = &k.date
			}
		case "subject":
			if len(k.tags) < maxTagsOfBook {
				k.text = &content.Builder{}
				k.tags = append(k.tags, k.text)
			}
		case "item":
			if len(k.files) < maxMembers {
				k.files[content.Attr(t, "id")] = content.Attr(t, "href")
			}
		case "itemref":
			if len(k.spine) < maxMembers {
				k.spine = append(k.spine, content.Attr(t, "idref"))
			}
		}
	case xml.EndElement:
		k.text = nil
	case xml.CharData:
		if k.text != nil {
			k.text.Inline(string(t))
		}
	}
}
