package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"regexp"
	"strings"
	"time"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html/charset"
)

// maxFeedDepth limits the depth of a feed, as its parser is recursive.
const maxFeedDepth = 200

// feedRoot matches the beginning of RSS and Atom, behind declarations and comments.
var feedRoot = regexp.MustCompile(`^(?:\s|<\?[^>]*>|<!--(?:[^-]|-[^-])*-->|<!DOCTYPE[^>\[]*>)*<(?:[A-Za-z]+:)?(?:rss|feed|RDF)[\s>]`)

func isFeed(head []byte) bool { return feedRoot.Match(head[:min(len(head), 4096)]) }

// readFeed reads RSS or Atom, one document per entry. In folders it skips other XML.
func (x *source) readFeed(br *bufio.Reader) error {
	head, _ := br.Peek(4096)
	if !isFeed(head) {
		if !x.quiet {
			return x.Errorf(0, "XML, but neither RSS nor Atom")
		}
		x.stats.Skipped++
		if x.o.Skip != nil {
			x.o.Skip(x.Name, SkippedContent)
		}
		return nil
	}
	k := kept{x: x}
	defer k.drop()
	if ok, err := k.readFile(br); !ok {
		return err
	}
	if err := x.shallow(k.b); err != nil {
		if ended := x.Ended(); ended != nil {
			return ended
		}
		return x.Errorf(0, "not a feed that can be read: %v", err)
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(k.b))
	if err != nil {
		return x.Errorf(0, "not a feed that can be read: %v", err)
	}
	if len(feed.Items) == 0 {
		return x.Errorf(0, "a feed without entries")
	}
	for n, item := range feed.Items {
		if err := x.entry(feed, item, n+1); err != nil {
			return err
		}
	}
	return nil
}

var errDeep = errors.New("elements are nested too deeply")

// shallow rejects XML whose depth or tags would take the parser too much memory.
func (x *source) shallow(b []byte) error {
	d := xml.NewDecoder(&content.TagLimit{R: bytes.NewReader(b)})
	d.Strict, d.Entity, d.CharsetReader = false, xml.HTMLEntity, charset.NewReaderLabel
	for depth, n := 0, 0; ; n++ {
		if n%1024 == 0 {
			if err := x.Ended(); err != nil {
				return err
			}
		}
		t, err := d.RawToken()
		if err != nil {
			if errors.Is(err, content.ErrTag) {
				return err
			}
			return nil // the parser says what is wrong, if anything is
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxFeedDepth {
				return errDeep
			}
		case xml.EndElement:
			depth--
		}
	}
}

func (x *source) entry(feed *gofeed.Feed, item *gofeed.Item, n int) error {
	body, err := x.feedText(cmp.Or(item.Content, item.Description, extensionText(item)))
	if err != nil {
		return err
	}
	title, err := x.feedText(item.Title)
	if err != nil {
		return err
	}
	title = content.OneLine(title)
	fields := map[string]any{}
	for name, v := range map[string]string{"url": item.Link, "feed": feed.Title} {
		if v = content.OneLine(content.Clean(v)); v != "" {
			fields[name] = v
		}
	}
	for _, t := range []*time.Time{item.PublishedParsed, item.UpdatedParsed} {
		if t != nil && fields["date"] == nil && t.Year() > 0 && t.Year() < 10000 {
			fields["date"] = t.UTC().Format(time.RFC3339)
		}
	}
	var names []string
	for _, a := range item.Authors {
		if a != nil && len(names) < maxCardList {
			if s := content.OneLine(content.Clean(person(a.Name, a.Email))); s != "" {
				names = append(names, s)
			}
		}
	}
	if len(names) > 0 {
		fields["author"] = strings.Join(names, ", ")
	}
	var tags []any
	for _, tag := range item.Categories {
		if tag = strings.TrimSpace(content.Clean(tag)); content.HasText(tag) && len(tags) < maxCardList {
			tags = append(tags, tag)
		}
	}
	if len(tags) > 0 {
		fields["tags"] = tags
	}
	switch {
	case int64(len(body)) > x.o.MaxText:
		return x.Errorf(0, "entry %d: %v of %d bytes", n, content.ErrTooLong, x.o.MaxText)
	case !content.HasText(title) && !content.HasText(body):
		return x.Errorf(0, "entry %d: neither a title nor a text", n)
	case title == "":
		title = content.TitleLine(body)
	}
	return x.entryDocument(n, cmp.Or(strings.TrimSpace(content.Clean(item.GUID)), strings.TrimSpace(content.Clean(item.Link))), title, body, fields)
}

// extensionText returns the description of an episode or a video, which such feeds have in place of
// a text of the entry.
func extensionText(item *gofeed.Item) string {
	if e := item.ITunesExt; e != nil && cmp.Or(e.Summary, e.Subtitle) != "" {
		return cmp.Or(e.Summary, e.Subtitle)
	}
	media := item.Extensions["media"]
	for _, e := range media["description"] {
		if e.Value != "" {
			return e.Value
		}
	}
	for _, around := range []string{"group", "content"} {
		for _, e := range media[around] {
			for _, d := range e.Children["description"] {
				if d.Value != "" {
					return d.Value
				}
			}
		}
	}
	return ""
}

// feedText returns the text of a value that may be HTML.
func (x *source) feedText(s string) (string, error) {
	s = content.Clean(s)
	if !strings.ContainsAny(s, "<&") {
		return strings.TrimSpace(content.Newlines(s)), nil
	}
	text, err := web.Text(&x.File, s, web.Options{All: true})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(text), nil
}
