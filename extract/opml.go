package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// maxIndent is the depth of an outline from which the list is indented no more.
const maxIndent = 20

// outlineTags is for the marks of HTML that Workflowy and others write into the texts of outlines.
var outlineTags = regexp.MustCompile(`(?i)</?(?:a|b|i|u|s|em|strong|code|span|mark|mention|time|br)(?:\s[^<>]*)?/?>`)

// opml reads an outline as an indented list, each text with its note behind it.
func (x *source) opml(b []byte) (content, error) {
	d := xml.NewDecoder(&tagLimit{r: stoppable{bytes.NewReader(b), x.ended}})
	d.Strict, d.Entity, d.CharsetReader = false, xml.HTMLEntity, charset.NewReaderLabel
	if x.marked { // it is UTF-8 by now, whatever it declares
		d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	}
	var out, title textBuilder
	depth, titled, start := 0, false, time.Now()
	for n := 0; ; n++ {
		var err error
		if n%1024 == 0 {
			err = errors.Join(x.ended(), budgetSpent(start))
		}
		var t xml.Token
		if err == nil {
			t, err = d.RawToken()
		}
		if err != nil {
			if ended := x.ended(); ended != nil {
				return content{}, ended
			}
			if err == io.EOF {
				break
			}
			if out.b.Len() == 0 {
				return content{}, x.reject("cannot be read: %v", err)
			}
			line, _ := d.InputPos()
			if err := x.warnf(line, "cannot be read: %v; the rest is left out", err); err != nil {
				return content{}, err
			}
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			if titled = t.Name.Local == "title"; t.Name.Local == "outline" {
				writeOutline(&out, t.Attr, depth)
				depth++
			}
		case xml.EndElement:
			if titled = false; t.Name.Local == "outline" {
				depth = max(0, depth-1)
			}
		case xml.CharData:
			if titled {
				title.inline(string(t))
			}
		}
	}
	return content{title: strings.ToValidUTF8(title.String(), "\ufffd"), text: strings.ToValidUTF8(out.String(), "\ufffd")}, nil
}

// writeOutline writes the text of one element of an outline, and its note.
func writeOutline(out *textBuilder, attrs []xml.Attr, depth int) {
	values := map[string]string{}
	for _, a := range attrs {
		values[strings.ToLower(a.Name.Local)] = a.Value
	}
	text := values["text"]
	if text == "" {
		text = values["title"]
	}
	indent := strings.Repeat("  ", min(depth, maxIndent))
	out.item(indent + "- ")
	for _, s := range []string{text, values["_note"]} {
		if outlineTags.MatchString(s) {
			h := htmlWriter{out: &textBuilder{}, all: true}
			_ = h.run(s, nil) // without a check it cannot fail
			s = h.out.String()
		}
		if strings.TrimSpace(s) == "" {
			continue
		}
		out.inline(s)
		out.item(indent + "  ")
	}
}
