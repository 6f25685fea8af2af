package extract

import (
	"strings"
	"testing"
)

func TestFeeds(t *testing.T) {
	const rss = `<?xml version="1.0" encoding="UTF-8"?><!-- made by x --><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Tides</title>` +
		`<item><title>High &amp;amp; low</title><link>https://example.org/1</link><guid>tag:1</guid><pubDate>Mon, 02 Jan 2023 10:00:00 +0100</pubDate><dc:creator>Ann</dc:creator><category>sea</category><category>moon</category><description>Short</description><content:encoded><![CDATA[<p>The <b>sea</b> rises.</p><ul><li>One</ul>]]></content:encoded></item>` +
		`<item><description>No title here</description><link>https://example.org/2</link></item><item><title>Same words</title></item><item/></channel></rss>`
	const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title><entry><id>urn:1</id><title type="html">A &lt;i&gt;note&lt;/i&gt;</title><link href="https://example.org/a"/><updated>2024-05-06T07:08:09Z</updated><author><name>Bob</name></author><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two</p></div></content></entry></feed>`
	const rdf = `<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel><item rdf:about="https://example.org/o"><title>Old one</title><link>https://example.org/o</link><description>Words</description></item></rdf:RDF>`
	const video = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><title>Videos</title><entry><id>v:1</id><title>Ebb</title><link href="https://example.org/v"/><media:group><media:title>Ebb</media:title><media:description>How the sea goes.</media:description></media:group></entry></feed>`
	const podcast = `<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Talks</title><item><guid>t:1</guid><title>Flood</title><itunes:summary>How the sea comes.</itunes:summary></item></channel></rss>`
	for _, tt := range []struct{ file, in, want string }{
		{"a.xml", video, "v:1 Ebb How the sea goes. https://example.org/v Videos"},
		{"a.rss", podcast, "t:1 Flood How the sea comes. Talks"},
		{"a.rss", rss, "tag:1 High & low The sea rises.\n\n- One 2023-01-02T09:00:00Z Ann [sea moon] https://example.org/1 Tides; https://example.org/2 No title here No title here https://example.org/2 Tides; *; a.rss: entry 4: neither a title nor a text"},
		{"a.xml", atom, "urn:1 A note One\n\nTwo 2024-05-06T07:08:09Z Bob https://example.org/a Notes"},
		{"a.atom", atom, "urn:1 A note One\n\nTwo 2024-05-06T07:08:09Z Bob https://example.org/a Notes"},
		{"feed", rdf, "https://example.org/o Old one Words https://example.org/o Old"},
		{"a.xml", `<?xml version="1.0"?><rows><row/></rows>`, "a.xml: XML, but neither RSS nor Atom"},
		{"a.rss", `<rss><channel><title>x</title></channel></rss>`, "a.rss: a feed without entries"},
		{"a.rss", `<rss><channel>` + strings.Repeat("<a:b>", 100_000), "a.rss: not a feed that can be read: elements are nested too deeply"},
		{"a.rss", `<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><channel><item><title>&b;</title></item></channel></rss>`, "a.rss: XML, but neither RSS nor Atom"},
	} {
		got := readBytes(t, []byte(tt.in), tt.file, Options{}).ids("title", "text", "date", "author", "tags", "url", "feed")
		front, end, _ := strings.Cut(tt.want, "*")
		if !strings.HasPrefix(got, front) || !strings.HasSuffix(got, end) {
			t.Errorf("%s: got %q\nwant %q", tt.file, got, tt.want)
		}
	}
	if out := readBytes(t, docxOf(t, "a.xml", "<x/>", "b.xml", atom), "a.zip", Options{}); len(out.docs) != 1 || len(out.errors) > 0 {
		t.Errorf("in an archive: %v", out)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><title>x</title><item><title>y</title><pubDate>Mon, 02 Jan 2023 10:00:00 +0100</pubDate><a:b xmlns:a="c">d</a:b></item></channel></rss>`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><content type="xhtml"><div>x</div></content><link href="u"/></entry></feed>`))
	fuzzReader(f, "in.rss")
}
