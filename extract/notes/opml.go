package notes

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"

	"golang.org/x/net/html/charset"
)

// maxIndent is the depth at which indentation stops.
const maxIndent = 20

// outlineTags are tags that Workflowy and others write into outlines.
var outlineTags = regexp.MustCompile(`(?i)</?(?:a|b|i|u|s|em|strong|code|span|mark|mention|time|br)(?:\s[^<>]*)?/?>`)

// Outline reads OPML as an indented list, each text followed by its note.
func Outline(x *content.File, b []byte) (content.Content, error) {
	d := xml.NewDecoder(&content.TagLimit{R: content.Stoppable{R: bytes.NewReader(b), Ended: x.Ended}})
	d.Strict, d.Entity, d.CharsetReader = false, xml.HTMLEntity, charset.NewReaderLabel
	if x.Marked { // it is UTF-8 by now, whatever it declares
		d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	}
	var out, title content.Builder
	depth, titled, start := 0, false, time.Now()
	for n := 0; ; n++ {
		var err error
		if n%1024 == 0 {
			err = errors.Join(x.Check(start), x.TooLong(out.Len()))
		}
		var t xml.Token
		if err == nil {
			t, err = d.RawToken()
		}
		if err != nil {
			if ended := x.Ended(); ended != nil {
				return content.Content{}, ended
			}
			if err == io.EOF {
				break
			}
			if out.Len() == 0 {
				return content.Content{}, x.Reject("cannot be read: %v", err)
			}
			line, _ := d.InputPos()
			if err := x.Warnf(line, "cannot be read: %v; the rest is left out", err); err != nil {
				return content.Content{}, err
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
				title.Inline(string(t))
			}
		}
	}
	return content.Content{Title: strings.ToValidUTF8(title.String(), "\ufffd"), Text: strings.ToValidUTF8(out.String(), "\ufffd")}, nil
}

// writeOutline writes an element of an outline and its note.
func writeOutline(out *content.Builder, attrs []xml.Attr, depth int) {
	values := map[string]string{}
	for _, a := range attrs {
		values[strings.ToLower(a.Name.Local)] = a.Value
	}
	text := values["text"]
	if text == "" {
		text = values["title"]
	}
	indent := strings.Repeat("  ", min(depth, maxIndent))
	out.Item(indent + "- ")
	for _, s := range []string{text, values["_note"]} {
		if outlineTags.MatchString(s) {
			var h content.Builder
			_ = web.Write(&h, s, web.Options{All: true}, nil) // without a check it cannot fail
			s = h.String()
		}
		if strings.TrimSpace(s) == "" {
			continue
		}
		out.Inline(s)
		out.Item(indent + "  ")
	}
}
