package extract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/searchd/extract/content"
)

const (
	epubMeta = `<container><rootfiles><rootfile full-path="OEBPS/Content.opf"/></rootfiles></container>`
	epubBody = `<package><metadata><dc:title>Tales</dc:title><dc:creator>A. Keeper</dc:creator><dc:creator>B. Mate</dc:creator><dc:language>en</dc:language></metadata>` +
		`<manifest><item id="a" href="ch%201.xhtml"/><item id="b" href="ch2.xhtml#x"/><item id="c" href="no.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>`
	odfHead = `<office:document-content><office:automatic-styles><style:style style:name="P1" style:parent-style-name="Title"/></office:automatic-styles><office:body>`
	odfTail = `</office:body></office:document-content>`
	pptMain = `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>`
	pptRels = `<Relationships><Relationship Id="rId1" Type="x/slide" Target="slides/slide1.xml"/><Relationship Id="rId2" Type="x/slide" Target="/ppt/slides/slide2.xml"/></Relationships>`
	xlsMain = `<workbook><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>`
	xlsRels = `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="x/sharedStrings" Target="sharedStrings.xml"/>` +
		`<Relationship Id="rId3" Type="x/styles" Target="styles.xml"/></Relationships>`
	xlsStyles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="d. mmm yyyy"/><numFmt numFmtId="165" formatCode="[Red]0 &quot;days&quot;"/></numFmts>` +
		`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/></cellXfs></styleSheet>`
)

func TestOffice(t *testing.T) {
	sp := func(kind string, paragraphs ...string) string {
		return `<p:sp><p:nvPr><p:ph type="` + kind + `"/></p:nvPr><p:txBody><a:p><a:r><a:t>` + strings.Join(paragraphs, `</a:t></a:r></a:p><a:p><a:r><a:t>`) + `</a:t></a:r></a:p></p:txBody></p:sp>`
	}
	chapter := func(s string) string {
		return `<html><head><title/><script/></head><body><nav>menu</nav>` + s + `</body></html>`
	}
	sheet := func(s string) string { return "<worksheet><sheetData>" + s + "</sheetData></worksheet>" }
	slides := []string{"ppt/presentation.xml", pptMain, "ppt/_rels/presentation.xml.rels", pptRels, "ppt/slides/slide1.xml",
		"<p:sld>" + sp("title", "Costs") + sp("body", "One", "Two <fld>") + `<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>a</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>b</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>`}
	slides[5] = strings.ReplaceAll(slides[5], "<fld>", `</a:t></a:r><a:fld type="slidenum"><a:t>7</a:t></a:fld><a:r><a:t>words`)
	slides = append(slides, "ppt/slides/slide2.xml", "<p:sld>"+sp("ctrTitle", "Tidal", "power")+sp("sldNum", "1")+sp("ftr", "Company")+
		`<mc:AlternateContent><mc:Choice>`+sp("", "Chart")+`</mc:Choice><mc:Fallback>`+sp("", "Chart")+`</mc:Fallback></mc:AlternateContent></p:sld>`,
		"ppt/slides/_rels/slide1.xml.rels", `<Relationships><Relationship Id="rId1" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
		"ppt/notesSlides/notesSlide1.xml", "<p:notes>"+sp("body", "Say it.")+"</p:notes>")
	book := []string{"META-INF/container.xml", epubMeta, "OEBPS/content.opf", epubBody, "OEBPS/ch 1.xhtml", chapter("<h1>One</h1><p>Storm.<br/>Rain."), "OEBPS/ch2.xhtml", "\xef\xbb\xbf" + chapter("<p>First the preface.")}
	workbook := func(cells string) []string {
		return []string{"xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/sharedStrings.xml", `<sst><si><t>Paid</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh></si></sst>`,
			"xl/styles.xml", xlsStyles, "xl/worksheets/sheet1.xml", sheet(cells)}
	}
	text := odfHead + `<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p text:style-name="P1">The <text:span>title</text:span></text:p><text:table-of-content><text:p>Damp</text:p></text:table-of-content>` +
		`<text:h>Damp</text:h><text:p>Wall<text:s/>wet<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Since May.</text:p></text:note-body></text:note> again<office:annotation><text:p>no</text:p></office:annotation>.<text:line-break/>Next</text:p>` +
		`<text:list><text:list-item><text:p>one</text:p><text:p>more</text:p></text:list-item><text:list-item><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item></text:list>` +
		`<table:table table:name="T"><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row></table:table><text:p>End</text:p></office:text>` + odfTail
	for _, tt := range []struct {
		name, file  string
		b           []byte
		title, text string
		errors      string
	}{
		{"book", "a.epub", docxOf(t, book...), "Tales", "First the preface.\n\nOne\n\nStorm.\nRain.", ""},
		{"book in UTF-16", "a.epub", docxOf(t, append(book[:4:4], "OEBPS/ch 1.xhtml", "\xff\xfe<\x00p\x00>\x00W\x01", "OEBPS/ch2.xhtml", "\xfe\xff\x00<\x00p\x00>\x00H\x00i")...), "Tales", "Hi\n\n\u0157", ""},
		{"book with encrypted fonts", "a.epub", docxOf(t, append(book, "META-INF/encryption.xml", `<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>`)...), "Tales", "First the preface.\n\nOne\n\nStorm.\nRain.", ""},
		{"locked book", "a.epub", docxOf(t, append(book, "META-INF/encryption.xml", `<encryption><CipherReference URI="OEBPS/ch2.xhtml"/></encryption>`)...), "", "", "a.epub: an e-book with copy protection, whose text is encrypted"},
		{"locked book with a space", "a.epub", docxOf(t, append(book, "META-INF/encryption.xml", `<encryption><CipherReference URI="OEBPS/ch%201.xhtml"/></encryption>`)...), "", "", "a.epub: an e-book with copy protection, whose text is encrypted"},
		{"book without its last chapter", "a.epub", docxOf(t, append(book[:4:4], book[6:]...)...), "Tales", "First the preface.", `a.epub: warning: it lacks its part "OEBPS/ch 1.xhtml", which is left out`},
		{"book without its first chapter", "a.epub", docxOf(t, book[:6]...), "Tales", "One\n\nStorm.\nRain.", `a.epub: warning: it lacks its part "OEBPS/ch2.xhtml", which is left out`},
		{"no book", "a.epub", docxOf(t, "x", "y"), "", "", "a.epub: not an e-book that can be read: it names no chapters"},
		{"chapters many times", "a.epub", docxOf(t, append(book[:2:2], "OEBPS/content.opf", strings.Replace(epubBody, "</spine>", strings.Repeat(`<itemref idref="a"/>`, 9000)+"</spine>", 1),
			"OEBPS/ch 1.xhtml", chapter("<p>"+strings.Repeat("<b></b>", 10000)+"x"), "OEBPS/ch2.xhtml", "y")...), "Tales", "*",
			"a.epub: warning: the document is damaged or too large (it unpacks to more than the limit for one file); the rest is left out"},
		{"text", "a.odt", docxOf(t, "content.xml", text), "The title", "Damp\n\nWall wet Since May. again.\nNext\n\n- one\nmore\n- deep\n\na b | c\n\nEnd\n\nComment: no", ""},
		{"title of the properties", "a.odt", docxOf(t, "content.xml", odfHead+"<text:h>Head</text:h><text:p>Text</text:p>"+odfTail, "meta.xml", "<m><dc:title>T</dc:title><dc:creator>x</dc:creator></m>"), "T", "Head\n\nText", ""},
		{"sheets", "a.ods", docxOf(t, "content.xml", odfHead+`<office:spreadsheet><table:table table:name="Wines"><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell><table:table-cell table:number-columns-repeated="9999999"/>`+
			`</table:table-row><table:table-row table:number-rows-repeated="9999999"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`+odfTail), "a", "Wines\n\nName\nx", ""},
		{"locked text", "a.odt", docxOf(t, "content.xml", "\x01\x02", "META-INF/manifest.xml", `<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>`), "", "", "a.odt: an encrypted document; save it without a password"},
		{"no text", "a.odt", docxOf(t, "mimetype", "x"), "", "", "a.odt: a ZIP archive without the text of an OpenDocument"},
		{"deep", "a.odt", docxOf(t, "content.xml", odfHead+strings.Repeat("<text:p><table:table><table:table-cell><text:list><text:list-item>", 50000)+"<text:p>deep</text:p>"+odfTail), "deep", "deep", ""},
		{"slides", "a.pptx", docxOf(t, slides...), "Tidal power", "Tidal\npower\n\nChart\n\nCosts\n\nOne\nTwo words\n\na | b\n\nSay it.", ""},
		{"a slide is torn", "a.pptx", docxOf(t, append(slides[:4:4], "ppt/slides/slide2.xml", "<p:sld>"+sp("title", "T")+sp("", "Text")+"<p")...), "T", "Text", "a.pptx: warning: the document is damaged or too large (XML syntax error on line 1: unexpected EOF); the rest is left out"},
		{"no slides", "a.pptx", docxOf(t, "x", "y"), "", "", "a.pptx: a ZIP archive without the text of a presentation"},
		{"workbook", "a.xlsx", docxOf(t, workbook(`<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="inlineStr"><is><t>in &amp; line</t></is></c></row>`+
			`<row><c/><c s="1"><v>43496</v></c><c s="3"><v>43524.604166667</v></c><c s="2"><v>43496</v></c><c><v>0.30000000000000004</v></c><c t="b"><v>1</v></c><c t="e"><v>#REF!</v></c><c t="str"><f>A1</f><v>calc</v></c><c><v>1E+3</v></c></row><row/>`)...),
			"a", "Costs\n\nPaid | rich text | in & line\n2019-01-31 | 2019-02-28 14:30 | 43496 days | 0.3 | TRUE | calc | 1000", ""},
		{"workbook of an old Mac", "a.xlsx", docxOf(t, append([]string{"xl/workbook.xml", strings.Replace(xlsMain, "<sheets>", `<workbookPr date1904="1"/><sheets>`, 1)}, workbook(`<row><c s="1"><v>42034</v></c></row>`)[2:]...)...),
			"a", "Costs\n\n2019-01-31", ""},
		{"empty workbook", "a.xlsx", docxOf(t, workbook("<row/>")...), "", "", "a.xlsx: no text in a workbook of 1105 bytes"},
		{"one text in many cells", "a.xlsx", docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/sharedStrings.xml", "<sst><si><t>"+strings.Repeat("word ", 20000)+"</t></si></sst>",
			"xl/worksheets/sheet1.xml", sheet("<row><c><v>1</v></c></row>"+strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 30000))), "a", "*", "a.xlsx: warning: the document is damaged or too large (its text is longer than the limit of 1048576 bytes); the rest is left out"},
		{"more texts than may be", "a.xlsx", docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/sharedStrings.xml", "<sst>"+strings.Repeat("<si/>", (1<<20)+1)+"</sst>"), "", "",
			"a.xlsx: not a workbook that can be read: it has more than 1048576 different texts"},
		{"old Excel", "a.xlsx", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "", "", "a.xlsx: an encrypted document, or one of an old program under another name; save it as xlsx without a password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, tt.b, tt.file, Options{MaxFile: 8 << 20, MaxText: 1 << 20})
			var errors []string
			for _, e := range out.errors {
				errors = append(errors, e.Error())
			}
			if strings.Join(errors, "; ") != tt.errors || (tt.text == "") != (len(out.docs) == 0) {
				t.Fatalf("got %d documents and errors %q, want %q", len(out.docs), errors, tt.errors)
			}
			if tt.text == "" {
				return
			}
			if d := out.docs[0].Fields; d["text"] != tt.text && tt.text != "*" || d["title"] != tt.title {
				t.Errorf("got %q, %.2000q, want %q, %.2000q", d["title"], d["text"], tt.title, tt.text)
			}
		})
	}
	out := readBytes(t, docxOf(t, book...), "a.epub", Options{})
	if f := out.docs[0].Fields; f["author"] != "A. Keeper, B. Mate" || f["lang"] != "en" {
		t.Errorf("a book: %v", f)
	}
}

// Characters that stand as _xHHHH_ in texts of Office Open XML are read as what they are, once.
func TestXMLEscapes(t *testing.T) {
	const in = "one_x000D_\ntwo_x000d__x000A_three _x005F_x0041_ _xD83D__xDE00_ _x0001_a_x00e9_ snake_x12_ _xyz1_ _xD83D_"
	const want = "one two three _x0041_ \U0001f600 a\u00e9 snake_x12_ _xyz1_ \ufffd"
	shared := docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/sharedStrings.xml", "<sst><si><t>"+in+"</t></si></sst>", "xl/worksheets/sheet1.xml",
		`<worksheet><sheetData><row><c t="s"><v>0</v></c></row><row><c t="inlineStr"><is><t>`+in+`</t></is></c></row><row><c t="str"><v>`+in+`</v></c></row></sheetData></worksheet>`)
	for name, b := range map[string][]byte{
		"a.xlsx": shared, "a.docx": docxOf(t, "word/document.xml", docxHead+"<w:p><w:r><w:t>"+in+"</w:t></w:r></w:p>"+docxTail),
		"a.pptx": docxOf(t, "ppt/presentation.xml", `<a><sldId r:id="1"/></a>`, "ppt/_rels/presentation.xml.rels", `<a><Relationship Id="1" Type="x/slide" Target="s"/></a>`, "ppt/s", "<a><a:p><a:t>"+in+"</a:t></a:p></a>"),
	} {
		out := readBytes(t, b, name, Options{})
		want, times := want, 1
		switch name {
		case "a.xlsx":
			times = 3
		case "a.docx":
			want = strings.ReplaceAll(in, "\n", " ")
		}
		if len(out.docs) != 1 || strings.Count(out.docs[0].Fields["text"].(string), want) != times {
			t.Errorf("%s: got %v, want %q", name, out, want)
		}
	}
}

// Very many members of almost no length are given up when the time for the file is spent.
func TestManyMembers(t *testing.T) {
	defer func(d time.Duration) { content.Budget = d }(content.Budget)
	content.Budget = 50 * time.Millisecond
	var main, slides, notes strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&main, `<sldId r:id="%d"/>`, i)
		fmt.Fprintf(&slides, `<Relationship Id="%d" Type="x/slide" Target="s"/>`, i)
		fmt.Fprintf(&notes, `<Relationship Id="%d" Type="x/notesSlide" Target="n"/>`, i)
	}
	in := docxOf(t, "ppt/presentation.xml", "<a>"+main.String()+"</a>", "ppt/_rels/presentation.xml.rels", "<a>"+slides.String()+"</a>", "ppt/s", "<a/>",
		"ppt/_rels/s.rels", "<a>"+notes.String()+"</a>", "ppt/n", "<a/>")
	out := readBytes(t, in, "a.pptx", Options{})
	if len(out.errors) != 1 || !strings.Contains(out.errors[0].Reason, "time budget spent") {
		t.Errorf("got %v", out)
	}
}

func TestRTF(t *testing.T) {
	const head = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Helvetica;}{\f1\fnil\fcharset204 Arial CYR;}{\f2\fcharset2 Symbol;}{\f3\fcharset128 MS Gothic;}}{\colortbl;\red255;}{\*\generator X;}` + "\n"
	for _, tt := range []struct{ name, in, text string }{
		{"characters", `\pard Caf\'e9 \u8364?5 \emdash  \f1\'cf\'f0\f0  \u-10179?\u-8694? \{x\}\\ a\~b \lquote q\rquote  \f3\'93\'fa\'96\'7b\f2 abc\'b7\f0  end`, "Café €5 — Пр 😊 {x}\\ a b ‘q’ 日本 end"},
		{"bytes for old readers", `\uc2\u8364\'80\'80x\u233 eey{\uc0\u233 z}\u233\u233 aab`, "€xéyézééb"},
		{"paragraphs", `One\par\par Two\line three\par` + "\r\n" + `four`, "One\n\nTwo\nthree\n\nfour"},
		{"TextEdit", "One\\\ntwo\\\n\\\nthree", "One\ntwo\n\nthree"},
		{"lists", `Text\par{\pntext\f2\'b7\tab}one\par{\listtext 2.\tab}two\par\pard End`, "Text\n\n- one\n2. two\n\nEnd"},
		{"table", `Text\par\trowd\intbl a\par b\cell c\cell\row\intbl d\cell\row\pard End`, "Text\n\na b | c\nd\n\nEnd"},
		{"left out", `{\v hidden}a{\deleted gone}{\pict 89504e\bin5 }}}}}ff}{\*\ftnsep -}{\*\bkmkstart x}{\field{\*\fldinst HYPERLINK "u"}{\fldrslt link}}\v x\v0 b{\*\unknown{\title no}{\b c}}`, "alinkb"},
		{"notes and boxes", `a{\footnote note}{\*\footnote two}{\shp{\*\shpinst{\sp{\sn x}}{\shptxt box}}{\shprslt no}}`, "abox\n\nnote\n\ntwo"},
		{"headers and footers", `{\header Head\par}{\headerf First {\b page}}{\footer Foot}a{\footerl Foot}b`, "ab\n\nHead\n\nFirst page\n\nFoot"},
		{"comments", `a{\*\atnid E}{\*\atnauthor Eve}\chatn{\*\annotation{\*\atndate 1} Why?\par So} b`, "a b\n\nComment: Why?\n\nSo"},
		{"a footnote behind a word", `climate{\super\chftn}{\footnote\pard{\super\chftn} A note} report`, "climate report\n\nA note"},
		{"cut off", `a\'e`, "a"},
		{"more ends than beginnings", `a}}}b`, "ab"},
		{"deep", strings.Repeat("{", 1_000_000) + "x" + strings.Repeat("}", 1_000_000) + `y\v z`, "xy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(head+"word word word word word\\par "+tt.in+"}"), "a.rtf", Options{})
			if len(out.docs) != 1 || len(out.errors) > 0 {
				t.Fatal(out)
			}
			if d := out.docs[0].Fields; d["text"] != tt.text {
				t.Errorf("got %q, want %q", d["text"], tt.text)
			}
		})
	}
	out := readBytes(t, []byte(head+`{\info{\title A {\b bold} title}{\author X}}Text}`), "letter", Options{})
	if got := fmt.Sprint(out.docs, out.errors); !strings.Contains(got, "title:A bold title") || !strings.Contains(got, "text:Text") {
		t.Errorf("got %v", out)
	}
	for in, want := range map[string]string{
		"words":               `a.rtf: not RTF: it does not begin with {\rtf`,
		`{\rtf1{\pict 00}}`:   "a.rtf: no text in RTF of 17 bytes",
		head + "long enough}": "a.rtf: its text is longer than the limit of 5 bytes",
	} {
		if out := readBytes(t, []byte(in), "a.rtf", Options{MaxText: 5}); len(out.docs) > 0 || len(out.errors) != 1 || out.errors[0].Error() != want {
			t.Errorf("%q: %v", in, out)
		}
	}
}

func FuzzRTF(f *testing.F) {
	f.Add([]byte(`{\rtf1\ansicpg932{\fonttbl{\f0\fcharset204 x;}}{\info{\title t}}\uc1\u233?{\pntext *}\f0\'cf\intbl\cell\row\bin2 ab\par}`))
	fuzzReader(f, "in.rtf")
}

func FuzzOffice(f *testing.F) {
	f.Add([]byte(epubBody), []byte("<h1>x</h1>"))
	f.Add([]byte(odfHead+`<text:list><text:list-item><text:p>x</text:p></text:list-item></text:list>`), []byte(xlsStyles))
	f.Add([]byte(pptMain), []byte(`<p:sp><p:ph type="title"/><a:p><a:t>x</a:t></a:p></p:sp>`))
	f.Add([]byte(xlsMain), []byte(`<row><c t="s" s="1"><v>0</v></c><c s="1"><v>3e9</v></c></row>`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		A, B := string(a), string(b)
		for name, archive := range map[string][]byte{
			"a.epub": docxOf(t, "META-INF/container.xml", epubMeta, "OEBPS/content.opf", A, "OEBPS/ch 1.xhtml", B),
			"a.odt":  docxOf(t, "content.xml", A, "meta.xml", B),
			"a.pptx": docxOf(t, "ppt/presentation.xml", A, "ppt/_rels/presentation.xml.rels", pptRels, "ppt/slides/slide1.xml", B, "ppt/slides/slide2.xml", A),
			"a.xlsx": docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/sharedStrings.xml", A, "xl/styles.xml", xlsStyles, "xl/worksheets/sheet1.xml", B),
		} {
			for _, d := range readBytes(t, archive, name, Options{MaxFile: 1 << 20}).docs {
				if text, _ := d.Fields["text"].(string); !bytes.Equal(bytes.ToValidUTF8([]byte(text), nil), []byte(text)) {
					t.Errorf("%s: %q is not UTF-8", name, text)
				}
			}
		}
	})
}

func FuzzFlatOffice(f *testing.F) {
	for _, s := range []string{
		`<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Styles><Style ss:ID="s"><NumberFormat ss:Format="0.0%"/></Style></Styles><Worksheet ss:Name="A"><Table><Row ss:Index="2"><Cell ss:Index="3" ss:StyleID="s"><Data ss:Type="Number">.5</Data><Comment><Data>c</Data></Comment></Cell></Row></Table></Worksheet></Workbook>`,
		`<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>y</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:wordDocument>`,
		`<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:name="/word/document.xml"><pkg:xmlData><w:document><w:body><w:p><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document></pkg:xmlData></pkg:part></pkg:package>`,
		`<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><office:meta><dc:title>t</dc:title></office:meta><office:body><office:spreadsheet><table:table table:name="T"><table:table-row table:number-rows-repeated="9"><table:table-cell table:number-columns-repeated="9"><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document>`,
	} {
		f.Add([]byte(s))
	}
	fuzzReader(f, "in.xml")
}
