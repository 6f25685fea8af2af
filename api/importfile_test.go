package api

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// imported sends a body and returns the lines of the answer.
func imported(t *testing.T, f *fixture, query, media, body string, header ...string) []itemAnswer {
	t.Helper()
	a := f.do("POST", "/v1/collections/docs/documents/import"+query, body, append([]string{"Content-Type", media}, header...)...)
	a.want(200, nil)
	var lines []itemAnswer
	for line := range strings.Lines(a.Body.String()) {
		var l itemAnswer
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// zipOf packs members, names and contents by turns.
func zipOf(t *testing.T, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, members[i+1])
	}
	z.Close()
	return b.String()
}

func TestImportFiles(t *testing.T) {
	f := newFixture(t, Options{})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("# Zipped\n\nA text."))
	z.Close()
	word := zipOf(t, "word/document.xml", `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>A letter</w:t></w:r></w:p><w:p><w:r><w:t>Dear all.</w:t></w:r></w:p></w:body></w:document>`)
	for _, tt := range []struct {
		name, query, media, body string
		ids, title               string
	}{
		{"Markdown", "?name=notes/pan.md", "text/markdown", "---\nyear: 2021\n---\n# Iron pans\n\nOil them.", "notes/pan.md", "Iron pans"},
		{"a name of two lines", "?name=a%0Ab.md", "text/markdown", "# Lines\n\nTwo.", `a\nb.md`, "Lines"},
		{"HTML", "?name=a.html", "text/html; charset=utf-8", "<title>Flat tyres</title><p>Patch the tube.", "a.html", "Flat tyres"},
		{"plain text", "?name=b.txt&format=txt", "text/plain", "Only words.", "b.txt", "Only words."},
		{"CSV", "", "text/csv", "id,title,year\nc1,One,1999\nc2,Two,2000\n", "c1 c2", "One"},
		{"tabs", "", "text/tab-separated-values", "id\ttitle\nt1\tThree\n", "t1", "Three"},
		{"gzip inside", "?name=z.md", "text/markdown", zipped.String(), "z.md", "Zipped"},
		{"Word", "?name=a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", word, "a.docx", "A letter"},
		{"mail", "?name=a.eml", "message/rfc822", "From: a@example.org\nSubject: Lunch\n\nAt noon?", "a.eml", "Lunch"},
		{"notebook", "?name=a.ipynb", "application/x-ipynb+json", `{"cells":[{"cell_type":"markdown","source":["# Pies\n","Roll the dough."]}]}`, "a.ipynb", "Pies"},
		{"e-book", "?name=a.epub", "application/epub+zip", zipOf(t, "META-INF/container.xml", `<c><rootfile full-path="b.opf"/></c>`, "b.opf",
			`<package><dc:title>Tides</dc:title><item id="a" href="a.xhtml"/><itemref idref="a"/></package>`, "a.xhtml", "<p>The moon pulls.</p>"), "a.epub", "Tides"},
		{"OpenDocument", "?name=a.odt", "application/vnd.oasis.opendocument.text", zipOf(t, "content.xml", "<office:document-content><text:h>Damp</text:h><text:p>In the wall.</text:p></office:document-content>"), "a.odt", "Damp"},
		{"sheets", "?name=a.ods", "application/vnd.oasis.opendocument.spreadsheet", zipOf(t, "content.xml", "<office:document-content><text:p>Wines</text:p></office:document-content>"), "a.ods", "Wines"},
		{"slides of OpenDocument", "?name=a.odp", "application/vnd.oasis.opendocument.presentation", zipOf(t, "content.xml", "<office:document-content><text:p>Bees</text:p></office:document-content>"), "a.odp", "Bees"},
		{"slides", "?name=a.pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a"/>`,
			"ppt/_rels/presentation.xml.rels", `<r><Relationship Id="a" Type="slide" Target="s.xml"/></r>`, "ppt/s.xml", "<a:p><a:t>Turbines</a:t></a:p>"), "a.pptx", "Turbines"},
		{"workbook", "?name=costs.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zipOf(t, "xl/workbook.xml", `<sheet name="S" r:id="a"/>`,
			"xl/_rels/workbook.xml.rels", `<r><Relationship Id="a" Type="worksheet" Target="s.xml"/></r>`, "xl/s.xml", "<c><v>5</v></c>"), "costs.xlsx", "costs"},
		{"rich text", "?name=a.rtf", "application/rtf", `{\rtf1 Damp walls\par nothing.}`, "a.rtf", "Damp walls"},
		{"Evernote", "?name=a.enex", "application/enex+xml", "<en-export><note><title>Roof</title><content>&lt;p>Slates.&lt;/p></content></note></en-export>", "993f58a0ed9dab5497cb4aba8346d6ea", "Roof"},
		{"contacts", "", "text/vcard", "BEGIN:VCARD\nUID:v1\nFN:Anna Berg\nEND:VCARD\n", "v1", "Anna Berg"},
		{"a calendar", "", "text/calendar", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:e1\nSUMMARY:Dentist\nEND:VEVENT\nEND:VCALENDAR\n", "e1", "Dentist"},
		{"a canvas", "?name=plan.canvas", "application/x-canvas+json", `{"nodes":[{"type":"text","text":"Rainwater"}]}`, "plan.canvas", "plan"},
		{"an outline", "?name=a.opml", "text/x-opml", `<opml><head><title>Beds</title></head><body><outline text="Dig"/></body></opml>`, "a.opml", "Beds"},
		{"a feed", "?name=a.rss", "application/rss+xml", `<rss version="2.0"><channel><item><guid>g1</guid><title>Slates</title></item></channel></rss>`, "g1", "Slates"},
		{"an archive", "?name=a.zip", "application/zip", zipOf(t, "b/c.md", "# Gutters"), "a.zip!/b/c.md", "Gutters"},
		{"NDJSON as text/plain", "", "text/plain", `{"id":"n1","title":"Lines"}`, "n1", "Lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ids []string
			for _, l := range imported(t, f, tt.query, tt.media, tt.body) {
				if l.Status != "created" || l.Line < 1 {
					t.Errorf("line %+v", l)
				}
				ids = append(ids, l.ID)
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Fatalf("ids %q, want %q", got, tt.ids)
			}
			var doc struct{ Document map[string]any }
			f.do("GET", "/v1/collections/docs/documents/"+url.PathEscape(ids[0]), "").want(200, &doc)
			if title, _ := doc.Document["title"].(string); title != tt.title {
				t.Errorf("title %q, want %q: %v", title, tt.title, doc.Document)
			}
		})
	}
}

// What is wrong with a file that is taken all the same stands with the document that it is about.
func TestImportFilesWarns(t *testing.T) {
	f := newFixture(t, Options{})
	for _, tt := range []struct{ name, media, body, want string }{
		{"columns", "text/csv", "id,title,title\nw1,One,Two\nw2,Three,Four\n", `2 header names the column "title" twice, as column 2 and 3: the second is "title_2"|3 |`},
		{"bytes", "text/csv", "id,title,title\nw3,One,Two\nw4,Gr\xfc\xdfe,x\n", `2 header names the column "title" twice, as column 2 and 3: the second is "title_2"|3 field "title": not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another|`},
		{"dates", "text/csv", "id,text,created\nw5,x,2024-01-01\nw6,y,soon\n", `2 |3 field "created": 1 of 2 values are not read as dates, such as "soon"; `},
		{"front matter", "text/markdown", "---\ntitle: x\n" + strings.Repeat("? {a: b}\n: c\n", 1000) + "no key\n---\nGr\xfc\xdfe", "1 not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another; front matter: "},
	} {
		got := ""
		for _, l := range imported(t, f, "?name=w.x", tt.media, tt.body) {
			if l.Status != "created" {
				t.Errorf("%s: %+v", tt.name, l)
			}
			got += fmt.Sprintf("%d %s|", l.Line, l.Warning)
		}
		if !strings.HasPrefix(got, tt.want) || len(got) > 2*maxWarning {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestImportFilesRefuses(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/import"
	f.do("POST", path, "x", "Content-Type", "application/pdf").problem(415, "unsupported_media_type", "")
	f.do("POST", path+"?format=pdf", "x", "Content-Type", "text/plain").problem(400, "invalid_request", "/format")
	f.do("POST", path+"?name=", "x", "Content-Type", "text/markdown").problem(400, "invalid_request", "/name")
	f.do("POST", path+"?other=1", "x", "Content-Type", "text/markdown").problem(400, "invalid_request", "/other")
	lines := imported(t, f, "", "text/csv", "id,title\nc1,One\nc2,Two,too,many\nc3,Three\n")
	if len(lines) != 3 || lines[0].Status != "created" || lines[1].Status != "error" || lines[1].Line != 3 || lines[1].Error == nil || lines[2].Status != "created" {
		t.Errorf("a record with too many fields: %+v", lines)
	}
	lines = imported(t, f, "?name=x.md", "text/markdown", strings.Repeat("long ", 2<<20))
	if len(lines) != 1 || lines[0].Status != "error" {
		t.Errorf("a text of 10 MiB: %+v", lines)
	}
}

func TestImportPDF(t *testing.T) {
	read := func(_ context.Context, b []byte) (extract.PDFText, error) {
		switch string(b) {
		case "%PDF-torn":
			return extract.PDFText{Title: "Torn", Text: "What is left.", Warning: "PDF: 1 of 2 pages cannot be read"}, nil
		case "%PDF-long":
			return extract.PDFText{Text: strings.Repeat("long ", 2<<20)}, nil
		case "%PDF-scan":
			return extract.PDFText{}, errors.New("PDF: no text layer")
		}
		return extract.PDFText{Title: "Whole", Text: fmt.Sprintf("%d bytes", len(b))}, nil
	}
	f := newFixture(t, Options{PDF: read})
	for _, tt := range []struct{ name, body, status, warning, wrong string }{
		{"a", strings.Repeat("x", 9<<20), "created", "", ""}, // larger than a document may be; its text is not
		{"b", "%PDF-torn", "created", "PDF: 1 of 2 pages cannot be read", ""},
		{"c", "%PDF-long", "error", "", "file: got 1048"},
		{"d", "%PDF-scan", "error", "", "no text layer"},
	} {
		lines := imported(t, f, "?name="+tt.name+".pdf", "application/pdf", tt.body)
		if len(lines) != 1 || string(lines[0].Status) != tt.status || lines[0].Warning != tt.warning || tt.wrong != "" && (lines[0].Error == nil || !strings.Contains(lines[0].Error.Detail, tt.wrong)) {
			t.Errorf("%s: %+v, want %+v", tt.name, lines, tt)
		}
	}
	var doc struct{ Document map[string]any }
	f.do("GET", "/v1/collections/docs/documents/b.pdf", "").want(200, &doc)
	if doc.Document["title"] != "Torn" || doc.Document["text"] != "What is left." {
		t.Errorf("the document is %v", doc.Document)
	}
	f.do("POST", importPath, strings.Repeat("x", maxFile+1), "Content-Type", "application/pdf").problem(413, "too_large", "")
}

// TestImportPDFsAtOnce holds that PDFs wait for each other, and that one whose client has gone is
// not read.
func TestImportPDFsAtOnce(t *testing.T) {
	var running, most atomic.Int32
	f := newFixture(t, Options{WriteSlots: 8, PDF: func(context.Context, []byte) (extract.PDFText, error) {
		defer running.Add(-1)
		for n := running.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(20 * time.Millisecond)
		return extract.PDFText{Text: "words"}, nil
	}})
	slots := int32(cap(f.server.pdfs.slots))
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { imported(t, f, fmt.Sprintf("?name=%d.pdf", i), "application/pdf", "x") })
	}
	wg.Wait()
	if most.Load() > slots {
		t.Errorf("%d PDFs were read at once, want at most %d", most.Load(), slots)
	}
	for range slots {
		f.server.pdfs.enterEventually(t.Context())
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := f.server.readPDF(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: %v", err)
	}
}

func TestCollectionStatsRoute(t *testing.T) {
	f := overCheckpoints(t)
	f.do("PUT", "/v1/collections/gauges", "").want(201, nil)
	f.do("POST", "/v1/collections/gauges/documents", `{"id":"a","text":"the quick fox"}`).want(201, nil)
	var s struct {
		Documents, Passages int
		Vectors             struct {
			Bytes, Nodes int64
		}
		Keyword struct{ Bytes int64 }
	}
	f.do("GET", "/v1/collections/gauges/stats", "").want(200, &s)
	if s.Documents != 1 || s.Passages != 1 || s.Vectors.Nodes != 1 || s.Vectors.Bytes <= 0 || s.Keyword.Bytes <= 0 {
		t.Errorf("gauges %+v", s)
	}
	f.do("GET", "/v1/collections/none/stats", "").problem(404, "collection_not_found", "")
}

func TestCollectionLanguageRoute(t *testing.T) {
	f := overCheckpoints(t)
	f.do("PUT", "/v1/collections/texts", "").want(201, nil)
	f.do("POST", "/v1/collections/texts/documents", `{"id":"a","text":"`+strings.Repeat("le chat est sur la table et le chien dort dans la maison avec les enfants ", 4)+`"}`).want(201, nil)
	var l struct {
		Language  string
		LooksLike string `json:"looks_like"`
	}
	f.do("GET", "/v1/collections/texts/language", "").want(200, &l)
	if l.Language != "en" || l.LooksLike != "fr" {
		t.Errorf("language %+v", l)
	}
	f.do("GET", "/v1/collections/none/language", "").problem(404, "collection_not_found", "")
}

// Pictures, attachments and what code has put out make files longer than a document may be.
func TestImportLongFiles(t *testing.T) {
	f := newFixture(t, Options{})
	long := strings.Repeat("xxxxxxx\n", 9<<17)
	var word bytes.Buffer
	z := zip.NewWriter(&word)
	for name, text := range map[string]string{"word/document.xml": `<w:document xmlns:w="w"><w:p><w:r><w:t>some words</w:t></w:r></w:p></w:document>`, "word/media/a.png": long} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	z.Close()
	letter := "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nSubject: A letter\nContent-Type: multipart/mixed; boundary=b\n\n" +
		"--b\nContent-Type: text/plain\n\nsome words\n--b\nContent-Type: image/png\n\n" + long + "\n--b--\n\n"
	for _, tt := range []struct{ name, media, body string }{
		{"a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", word.String()},
		{"a.ipynb", "application/x-ipynb+json", `{"cells":[{"cell_type":"code","source":"some words","outputs":["` + strings.ReplaceAll(long, "\n", " ") + `"]}]}`},
		{"a.eml", "message/rfc822", letter},
		{"a.mbox", "message/rfc822", letter},
	} {
		lines := imported(t, f, "?name="+tt.name, tt.media, tt.body)
		if len(lines) != 1 || lines[0].Status != "created" {
			t.Errorf("%s: %+v", tt.name, lines)
			continue
		}
		var doc struct{ Document map[string]any }
		f.do("GET", "/v1/collections/docs/documents/"+lines[0].ID, "").want(200, &doc)
		if text, _ := doc.Document["text"].(string); !strings.Contains(text, "some words") || len(text) > 100 {
			t.Errorf("%s: the text has %d bytes", tt.name, len(text))
		}
	}
	lines := imported(t, f, "?name=b.ipynb", "application/x-ipynb+json", `{"cells":[{"cell_type":"markdown","source":"`+strings.ReplaceAll(long, "\n", " ")+`"}]}`)
	if len(lines) != 1 || lines[0].Status != "error" || !strings.Contains(lines[0].Error.Detail, "text is longer") {
		t.Errorf("a notebook of 9 MiB of text: %+v", lines)
	}
}

// TestImportLongFilesAtOnce holds that long messages that come at once are counted among the bodies
// in memory, and that what is refused can be sent again.
func TestImportLongFilesAtOnce(t *testing.T) {
	f := newFixture(t, Options{MaxItem: 1 << 20, MaxInFlight: 24 << 20, WriteSlots: 8})
	half, whole := strings.NewReader("From: a@example.org\nSubject: A letter\nContent-Type: image/png\n\n"+strings.Repeat("xxxxxxx\n", 1<<20)), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		r := httptest.NewRequest("POST", importPath+"?name=slow.eml", io.MultiReader(half, untilClosed(whole)))
		r.Header.Set("Content-Type", "message/rfc822")
		f.server.Handler().ServeHTTP(httptest.NewRecorder(), r)
	})
	for f.server.inFlight.Load() < 14<<20 {
		time.Sleep(time.Millisecond)
	}
	letter := "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nSubject: A letter\n\n"
	long := letter + strings.Repeat("xxxxxxx\n", 1<<20)
	f.do("POST", importPath+"?name=a.eml", long, "Content-Type", "message/rfc822").problem(503, "overloaded", "")
	lines := imported(t, f, "?name=a.mbox", "message/rfc822", strings.Repeat(letter+"words\n\n", importBatchDocs+1)+long)
	if last := lines[len(lines)-1]; !last.Stopped || last.Error == nil || last.Error.Code != "overloaded" {
		t.Errorf("a mailbox with a long message ends with %+v", last)
	}
	imported(t, f, "?name=short.eml", "message/rfc822", letter+"words") // goes in meanwhile
	close(whole)
	wg.Wait()
	if n := f.server.inFlight.Load(); n != 0 {
		t.Errorf("%d bytes are counted when all is done", n)
	}
	if lines = imported(t, f, "?name=a.eml", "message/rfc822", long); len(lines) != 1 || lines[0].Error == nil || !strings.Contains(lines[0].Error.Detail, "text is longer") {
		t.Errorf("sent again: %+v", lines)
	}
}

// untilClosed is a body that stands still until the channel is closed, and ends there.
type untilClosed chan struct{}

func (c untilClosed) Read([]byte) (int, error) {
	<-c
	return 0, io.EOF
}
