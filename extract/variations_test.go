package extract

import (
	"strings"
	"testing"
)

// TestFeedVariations reads feeds as the usual programs write them.
func TestFeedVariations(t *testing.T) {
	rss := func(item string) string {
		return `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>F</title><item>` + item + `</item></channel></rss>`
	}
	atom := func(entry string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><id>1</id>` + entry + `</entry></feed>`
	}
	for name, tt := range map[string]struct{ in, want string }{
		"escaped HTML":        {rss(`<guid>1</guid><title>T</title><description>&lt;p&gt;One &lt;b&gt;two&lt;/b&gt;&lt;/p&gt;</description>`), "1 T One two"},
		"CDATA in the title":  {rss(`<guid>1</guid><title><![CDATA[Fish & chips]]></title><description>d</description>`), "1 Fish & chips d"},
		"a podcast":           {rss(`<guid>1</guid><title>T</title><itunes:summary>spoken words</itunes:summary><enclosure url="https://example.org/a.mp3" length="1" type="audio/mpeg"/>`), "1 T spoken words"},
		"a date without day":  {rss(`<guid>1</guid><title>T</title><description>d</description><pubDate>2 Jan 2023 10:00:00 GMT</pubDate>`), "1 T d 2023-01-02T10:00:00Z"},
		"a zone by name":      {rss(`<guid>1</guid><title>T</title><description>d</description><pubDate>Mon, 02 Jan 2023 10:00:00 EST</pubDate>`), "1 T d 2023-01-02T15:00:00Z"},
		"a date of ISO 8601":  {rss(`<guid>1</guid><title>T</title><description>d</description><pubDate>2023-01-02T10:00:00+01:00</pubDate>`), "1 T d 2023-01-02T09:00:00Z"},
		"an author's address": {rss(`<guid>1</guid><title>T</title><description>d</description><author>a@example.org (Ann)</author>`), "1 T d Ann <a@example.org>"},
		"named entities":      {rss(`<guid>1</guid><title>Caf&eacute;</title><description>d &ndash; e</description>`), "1 Café d – e"},
		"spaces before":       {"\n  " + strings.TrimPrefix(rss(`<guid>1</guid><title>T</title><description>d</description>`), `<?xml version="1.0"?>`), "1 T d"},
		"a mark of UTF-8":     {"\ufeff" + rss(`<guid>1</guid><title>T</title><description>d</description>`), "1 T d"},
		"Latin-1":             {strings.Replace(rss("<guid>1</guid><title>Caf\xe9</title><description>d</description>"), `"1.0"?>`, `"1.0" encoding="ISO-8859-1"?>`, 1), "1 Café d"},
		"a summary":           {atom(`<title>T</title><summary>short</summary>`), "1 T short"},
		"plain text of Atom":  {atom(`<title type="text">a &lt; b</title><content type="text">1 &lt; 2</content>`), "1 a < b 1 < 2"},
		"HTML of Atom":        {atom(`<title>T</title><content type="html">&lt;h2&gt;Head&lt;/h2&gt;&lt;p&gt;Par&lt;/p&gt;</content>`), "1 T Head\n\nPar"},
		"published":           {atom(`<title>T</title><content>d</content><published>2023-01-02T10:00:00Z</published>`), "1 T d 2023-01-02T10:00:00Z"},
		"a prefix":            {`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>F</a:title><a:entry><a:id>1</a:id><a:title>T</a:title><a:content>d</a:content></a:entry></a:feed>`, "1 T d"},
	} {
		if got := readBytes(t, []byte(tt.in), "a.xml", Options{}).ids("title", "text", "date", "author"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestNotebookVariations reads notebooks of several programs and versions.
func TestNotebookVariations(t *testing.T) {
	nb := func(cells string) string {
		return `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[` + cells + `]}`
	}
	for name, tt := range map[string]struct{ in, title, text string }{
		"of Colab":           {`{"nbformat":4,"metadata":{"colab":{"name":"x.ipynb"}},"cells":[{"cell_type":"markdown","metadata":{"id":"x"},"source":["# T\n","a"]}]}`, "T", "a"},
		"of R":               {`{"nbformat":4,"metadata":{"kernelspec":{"language":"R","name":"ir"}},"cells":[{"cell_type":"markdown","source":"# T"},{"cell_type":"code","source":"x <- 1"}]}`, "T", "x <- 1"},
		"no title":           {nb(`{"cell_type":"code","source":"x = 1"}`), "a", "x = 1"},
		"null outputs":       {nb(`{"cell_type":"markdown","source":"# T"},{"cell_type":"code","source":"x","outputs":null,"execution_count":null}`), "T", "x"},
		"empty cells":        {nb(`{"cell_type":"code","source":[]},{"cell_type":"markdown","source":""},{"cell_type":"markdown","source":"# T\n\nb"}`), "T", "b"},
		"a picture inside":   {nb(`{"cell_type":"markdown","source":"# T\n\n![a cat](attachment:c.png)","attachments":{"c.png":{"image/png":"iVBO"}}}`), "T", "a cat"},
		"formulas":           {nb(`{"cell_type":"markdown","source":"# T\n\n$$a_1 + b_2$$"}`), "T", "$$a_1 + b_2$$"},
		"HTML in a cell":     {nb(`{"cell_type":"markdown","source":"# T\n\n<b>bold</b> word"}`), "T", "bold word"},
		"a table":            {nb(`{"cell_type":"markdown","source":"# T\n\n|a|b|\n|-|-|\n|1|2|"}`), "T", "a|b\n1|2"},
		"a mark of UTF-8":    {"\ufeff" + nb(`{"cell_type":"markdown","source":"# T\n\nb"}`), "T", "b"},
		"UTF-16 escapes":     {nb(`{"cell_type":"markdown","source":"# T\n\nGr\u00fc\u00dfe \ud83c\udf89"}`), "T", "Grüße 🎉"},
		"line ends of DOS":   {nb(`{"cell_type":"markdown","source":["# T\r\n","\r\n","b\r\n"]}`), "T", "b"},
		"an unknown kind":    {nb(`{"cell_type":"markdown","source":"# T\n\nb"},{"cell_type":"sql","source":"select 1"}`), "T", "b"},
		"a title underlined": {nb(`{"cell_type":"markdown","source":"T\n===\n\nb"}`), "T", "b"},
	} {
		out := readBytes(t, []byte(tt.in), "a.ipynb", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != tt.title || out.docs[0].Fields["text"] != tt.text {
			t.Errorf("%s: %v, want %q, %q", name, out, tt.title, tt.text)
		}
	}
}
