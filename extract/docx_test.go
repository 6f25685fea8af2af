package extract

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

// docxOf packs members, names and contents by turns.
func docxOf(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		f, err := w.Create(members[i])
		if err == nil {
			_, err = f.Write([]byte(members[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	docxHead  = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`
	docxTail  = `</w:body></w:document>`
	docxStyle = `<w:styles xmlns:w="w"><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>` +
		`<w:style w:styleId="V1"><w:name w:val="toc 1"/></w:style><w:style w:styleId="LB"><w:name w:val="List Bullet"/></w:style></w:styles>`
)

func TestDOCX(t *testing.T) {
	p := func(style, inner string) string {
		if style != "" {
			style = `<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>`
		}
		return "<w:p>" + style + inner + "</w:p>"
	}
	run := func(s string) string { return `<w:r><w:t xml:space="preserve">` + s + `</w:t></w:r>` }
	box := func(s string) string {
		return `<w:r><w:pict><v:textbox><w:txbxContent>` + p("", run(s)) + `</w:txbxContent></v:textbox></w:pict></w:r>`
	}
	list := func(s string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>` + run(s) + `</w:p>`
	}
	cell := func(s ...string) string { return "<w:tc>" + strings.Join(s, "") + "</w:tc>" }
	body := p("Titel", run("The ti")+run("tle")) + p("V1", run("Heading")+`<w:r><w:tab/></w:r>`+run("3")) + p("berschrift1", run("Heading &amp; more")) +
		p("", run("One ")+`<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>`+run("two")+
			`<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:br/><w:t>three</w:t></w:r>`) +
		list("first") + list("second") + p("LB", run("third")) +
		"<w:tbl><w:tr>" + cell(p("", run("a")), p("", run("b"))) + cell(p("", run("c"))) + "</w:tr><w:tr>" + cell(p("", run("d"))) + cell(p("", "")) + "</w:tr></w:tbl>" +
		p("", `<mc:AlternateContent><mc:Choice>`+run("box")+`</mc:Choice><mc:Fallback>`+run("box")+`</mc:Fallback></mc:AlternateContent>`) + p("", "")
	const text = "Heading & more\n\nOne two\nthree\n\n- first\n- second\n- third\n\na b | c\nd\n\nbox"
	const core = `<cp:coreProperties><dc:title>By its properties</dc:title><dc:creator>A. Author</dc:creator></cp:coreProperties>`
	document := docxHead + body + docxTail
	for _, tt := range []struct {
		name        string
		b           []byte
		title, text string
		errors      int
	}{
		{"all of it", docxOf(t, "word/document.xml", document, "word/styles.xml", docxStyle, "docProps/core.xml", core,
			"word/footnotes.xml", "<w:footnotes><w:footnote>"+p("", run("A note."))+"</w:footnote><w:footnote>"+p("", run("Ibid."))+"</w:footnote></w:footnotes>"), "The title", text + "\n\nA note.\n\nIbid.\n\nDeleted: deleted", 0},
		{"another name", docxOf(t, "_rels/.rels", `<Relationships><Relationship Type="http://x/relationships/officeDocument" Target="/word/document2.xml"/></Relationships>`,
			"word/document2.xml", docxHead+p("berschrift1", run("Head"))+p("", run("Text"))+docxTail, "word/styles.xml", docxStyle), "Head", "Text", 0},
		{"boxes in paragraphs", docxOf(t, "word/document.xml", docxHead+p("Titel", box("Box 1")+run("The title"))+p("LB", run("One")+box("Box 2")+run(" item"))+p("", run("Text"))+docxTail, "word/styles.xml", docxStyle),
			"The title", "Box 1\n\nThe title\n\n- One\n\nBox 2\n\nitem\n\nText", 0},
		{"title of the properties", docxOf(t, "word/document.xml", docxHead+p("", run("Text"))+docxTail, "docProps/core.xml", core), "By its properties", "Text", 0},
		{"UTF-16", docxOf(t, "word/document.xml", "\xff\xfe"+"<\x00"), "", "", 1},
		{"cut off", docxOf(t, "word/document.xml", docxHead+p("", run("Text"))+"<w:p"), "a", "Text", 1},
		{"no text", docxOf(t, "word/document.xml", docxHead+docxTail), "", "", 1},
		{"no document", docxOf(t, "xl/workbook.xml", "<x/>"), "", "", 1},
		{"no archive", []byte("words"), "", "", 1},
		{"old Word", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "", "", 1},
		{"entities", docxOf(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>`+docxHead+p("", run("&b;"))+docxTail), "", "", 1},
		{"deep", docxOf(t, "word/document.xml", docxHead+strings.Repeat("<w:p><w:tbl><w:tr><w:tc>", 100000)+run("deep")+docxTail), "a", "deep", 0},
		{"one long tag", docxOf(t, "word/document.xml", docxHead+p("", run("Text"))+"<w:p "+strings.Repeat(`a=">" `, (1<<20)/6)+"/>"), "a", "Text", 1},
		{"apostrophes", docxOf(t, "word/document.xml", docxHead+"<!-- it's <b> -> <a href='x --><![CDATA[it's]] >]]>"+strings.Repeat("<w:p></w:p>", (1<<20)/10)+p("", run("Text"))+docxTail), "a", "Text", 0},
		{"a long tag behind a comment", docxOf(t, "word/document.xml", docxHead+p("", run("Text"))+"<!-- it's --><w:p "+strings.Repeat(`a=">" `, (1<<20)/6)+"/>"), "a", "Text", 1},
		{"a bomb", docxOf(t, "word/document.xml", docxHead+p("", run(strings.Repeat("aaaa bbb ", 1<<20)))+docxTail), "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, tt.b, "a.docx", Options{MaxFile: 8 << 20})
			if len(out.errors) != tt.errors || (tt.text == "") != (len(out.docs) == 0) {
				t.Fatalf("got %d documents and errors %v, want %d errors", len(out.docs), out.errors, tt.errors)
			}
			if tt.text == "" {
				return
			}
			if d := out.docs[0].Fields; d["text"] != tt.text || tt.title != "a" && d["title"] != tt.title || out.docs[0].ID != "a.docx" {
				t.Errorf("got %q, %q, want %q, %q", d["title"], d["text"], tt.title, tt.text)
			}
		})
	}
}

// Lists have the numbers that Word shows, headings too but for the one that is the title.
func TestDOCXLists(t *testing.T) {
	p := func(style, list, level, text string) string {
		if style != "" {
			style = `<w:pStyle w:val="` + style + `"/>`
		}
		if list != "" {
			list = `<w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + list + `"/></w:numPr>`
		}
		return "<w:p><w:pPr>" + style + list + `<w:pPrChange><w:pPr><w:pStyle w:val="V1"/></w:pPr></w:pPrChange></w:pPr><w:r><w:t>` + text + "</w:t></w:r></w:p>"
	}
	level := func(n, start, format, text string) string {
		return `<w:lvl w:ilvl="` + n + `"><w:start w:val="` + start + `"/><w:numFmt w:val="` + format + `"/><w:lvlText w:val="` + text + `"/></w:lvl>`
	}
	numbering := `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0">` + level("0", "1", "decimal", "%1.") + level("1", "1", "lowerLetter", "%2)") + level("2", "3", "upperRoman", "(%3)") + `</w:abstractNum>` +
		`<w:abstractNum w:abstractNumId="1">` + level("0", "1", "decimal", "%1") + level("1", "1", "decimal", "%1.%2") + `</w:abstractNum>` +
		`<w:abstractNum w:abstractNumId="2">` + level("0", "1", "bullet", "•") + `</w:abstractNum>` +
		`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>` +
		`<w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>`
	styles := strings.Replace(docxStyle, `<w:name w:val="heading 1"/>`, `<w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr>`, 1)
	body := p("berschrift1", "", "", "Scope") + p("", "1", "0", "one") + p("", "1", "1", "a") + p("", "1", "1", "b") + p("", "1", "2", "deep") + p("", "1", "0", "two") + p("", "1", "1", "a again") +
		p("", "1", "0", "") + p("", "1", "0", "four") + p("", "4", "0", "anew") + p("", "4", "0", "on") + p("", "3", "0", "bullet") + p("", "9", "0", "unknown") + p("", "1", "77", "no level") +
		p("berschrift1", "2", "1", "Within") + p("berschrift1", "", "", "Terms") + p("", "0", "0", "none")
	out := readBytes(t, docxOf(t, "word/document.xml", docxHead+body+docxTail, "word/styles.xml", styles, "word/numbering.xml", numbering), "a.docx", Options{})
	const want = "1. one\na) a\nb) b\n(III) deep\n2. two\na) a again\n4. four\n7. anew\n8. on\n- bullet\n- unknown\n- no level\n\n1.1 Within\n\n2 Terms\n\nnone"
	if len(out.docs) != 1 || out.docs[0].Fields["title"] != "Scope" || out.docs[0].Fields["text"] != want {
		t.Errorf("got %v\nwant %q", out, want)
	}
	// Spaces of a number are written as one, also in front of the heading that is the title.
	for _, mark := range []string{"Part%1", "  Part   %1  :\u00a0 ", "a" + strings.Repeat(" ", 60) + "b", "a" + strings.Repeat(" a", 64)} {
		numbering := `<w:numbering><w:abstractNum w:abstractNumId="1">` + level("0", "1", "decimal", mark) + `</w:abstractNum><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>`
		for _, text := range []string{"Text", ""} {
			out := readBytes(t, docxOf(t, "word/document.xml", docxHead+p("berschrift1", "", "", "x")+p("", "", "", text)+docxTail, "word/styles.xml", styles, "word/numbering.xml", numbering), "a.docx", Options{})
			if len(out.docs) != 1 || out.docs[0].Fields["title"] != "x" || text != "" && out.docs[0].Fields["text"] != text {
				t.Errorf("number %q: %v, want the title x and %q", mark, out, text)
			}
		}
	}
}

func FuzzDOCX(f *testing.F) {
	f.Add([]byte(docxHead+`<w:p><w:pPr><w:pStyle w:val="LB"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>`+docxTail), []byte(docxStyle), []byte(nil))
	f.Add([]byte(docxHead+`<w:p><w:pPr><w:pStyle w:val="berschrift1"/><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`+docxTail), []byte(docxStyle),
		[]byte(`<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:lvlText w:val="a %1"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`))
	f.Fuzz(func(t *testing.T, document, styles, numbering []byte) {
		readBytes(t, docxOf(t, "word/document.xml", string(document), "word/styles.xml", string(styles), "word/numbering.xml", string(numbering)), "a.docx", Options{MaxFile: 1 << 20})
		readBytes(t, document, "a.docx", Options{MaxFile: 1 << 20})
	})
}
