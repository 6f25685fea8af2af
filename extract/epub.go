package extract

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
)

// epubBook is what the package document of a book says.
type epubBook struct {
	title, author, lang          textBuilder
	description, publisher, date textBuilder
	tags                         []*textBuilder
	files                        map[string]string // of the manifest, by id
	spine                        []string          // ids
	text                         *textBuilder      // of the element that is read; nil: of none
}

const maxTagsOfBook = 1000

// bookDate is a date at the front of one, of which a year may be all.
var bookDate = regexp.MustCompile(`^\d{4}(-\d\d(-\d\d)?)?`)

// epub reads the chapters of an e-book, in their order.
func (x *source) epub(b []byte) (content, error) {
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	main := ""
	err = r.each("meta-inf/container.xml", func(t xml.Token) {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && main == "" {
			main = attr(e, "full-path")
		}
	})
	book := epubBook{files: map[string]string{}}
	if err == nil {
		err = r.each(strings.ToLower(main), book.token)
	}
	if err == nil && len(book.spine) == 0 {
		err = errors.New("it names no chapters")
	}
	locked := r.encrypted()
	var out textBuilder
	var lacks error
	for _, id := range book.spine {
		if err != nil {
			break
		}
		href, _, _ := strings.Cut(book.files[id], "#")
		name := path.Join(path.Dir(main), plainPath(href))
		if locked[strings.ToLower(name)] {
			return content{}, x.reject("an e-book with copy protection, whose text is encrypted")
		}
		out.block()
		if err = r.chapter(name, &out); errors.Is(err, errNoMember) {
			lacks, err = cmp.Or(lacks, err), nil
		}
	}
	if lacks != nil && valueHasText(out.String()) {
		if err := x.warnf(0, "%v, which is left out", lacks); err != nil {
			return content{}, err
		}
	} else {
		err = cmp.Or(err, lacks)
	}
	if err != nil {
		if err := r.torn(err, out.String()); err != nil {
			return content{}, err
		}
	}
	c := content{title: book.title.String(), text: out.String(), fields: map[string]any{}}
	for name, v := range map[string]string{"author": book.author.String(), "lang": book.lang.String(), "publisher": book.publisher.String(), "date": bookDate.FindString(book.date.String())} {
		if v != "" {
			c.fields[name] = v
		}
	}
	var tags []any
	for _, tag := range book.tags {
		if s := tag.String(); valueHasText(s) {
			tags = append(tags, s)
		}
	}
	if len(tags) > 0 {
		c.fields["tags"] = tags
	}
	if s := book.description.String(); valueHasText(s) { // often HTML
		w, err := x.readHTML(s, htmlWriter{all: true})
		if err != nil {
			return content{}, err
		}
		c.fields["description"] = w.out.String()
	}
	return c, nil
}

// chapter writes the text of a member of XHTML.
func (r *archive) chapter(name string, out *textBuilder) error {
	b, err := r.member(name)
	if err != nil {
		return err
	}
	in, marked := skipBOM(bufio.NewReader(bytes.NewReader(b))) // in UTF-16 there is one
	if b, err = io.ReadAll(in); err != nil {
		return err
	}
	s, _ := (&decoder{strict: marked}).text(b)
	w := htmlWriter{out: out, xml: true}
	return w.run(strings.ReplaceAll(s, "\x00", "\ufffd"), func() error {
		return errors.Join(r.x.ended(), budgetSpent(r.start), r.tooLong(out.b.Len()))
	})
}

// encrypted returns the names, in lower case, of the members that are encrypted; often they are
// fonts alone.
func (r *archive) encrypted() map[string]bool {
	names := map[string]bool{}
	_ = r.each("meta-inf/encryption.xml", func(t xml.Token) { // what cannot be read says nothing
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "CipherReference" && len(names) < maxMembers {
			names[strings.ToLower(plainPath(attr(e, "URI")))] = true
		}
	})
	return names
}

// plainPath returns the path of a member that a URL stands for.
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
			if k.title.b.Len() == 0 {
				k.text = &k.title
			}
		case "creator":
			if k.author.b.Len() > 0 {
				k.author.prefix = ", "
			}
			k.text = &k.author
		case "language":
			if k.lang.b.Len() == 0 {
				k.text = &k.lang
			}
		case "description":
			if k.description.b.Len() == 0 {
				k.text = &k.description
			}
		case "publisher":
			if k.publisher.b.Len() == 0 {
				k.text = &k.publisher
			}
		case "date":
			if k.date.b.Len() == 0 {
				k.text = &k.date
			}
		case "subject":
			if len(k.tags) < maxTagsOfBook {
				k.text = &textBuilder{}
				k.tags = append(k.tags, k.text)
			}
		case "item":
			if len(k.files) < maxMembers {
				k.files[attr(t, "id")] = attr(t, "href")
			}
		case "itemref":
			if len(k.spine) < maxMembers {
				k.spine = append(k.spine, attr(t, "idref"))
			}
		}
	case xml.EndElement:
		k.text = nil
	case xml.CharData:
		if k.text != nil {
			k.text.inline(string(t))
		}
	}
}
