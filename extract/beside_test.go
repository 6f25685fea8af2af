package extract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const chartXML = `<c:chartSpace><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title>` +
	`<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>Pears</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt><c:pt idx="1"><c:v>South</c:v></c:pt></c:strCache></c:strRef></c:cat>` +
	`<c:val><c:numRef><c:f>Sheet1!B2:B3</c:f><c:numCache><c:formatCode>0.0%</c:formatCode><c:pt idx="0"><c:v>0.125</c:v></c:pt><c:pt idx="1"><c:v>2</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>` +
	`<c:ser><c:tx><c:v>Plums</c:v></c:tx><c:val><c:numLit><c:pt idx="0"><c:v>7.0</c:v></c:pt><c:pt idx="1"><c:v>8</c:v></c:pt></c:numLit></c:val></c:ser></c:chartSpace>`

const chartWords = "Sales\n\nPears | Plums\nNorth | 12.5% | 7\nSouth | 200.0% | 8"

// What stands beside the text of a document is read, too.
func TestBesideText(t *testing.T) {
	p := func(s string) string { return "<w:p><w:r><w:t>" + s + "</w:t></w:r></w:p>" }
	rel := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://x/` + kind + `" Target="` + target + `"/>`
	}
	rels := func(all string) string { return "<Relationships>" + all + "</Relationships>" }
	diagram := `<dgm:dataModel><a:p><a:r><a:t>First step</a:t></a:r></a:p><a:p><a:r><a:t>Second step</a:t></a:r></a:p></dgm:dataModel>`
	docx := docxOf(t, "word/document.xml", docxHead+p("Text")+`<w:p><w:ins w:author="Ann"><w:r><w:t>new</w:t></w:r></w:ins><w:del w:author="Ann"><w:r><w:delText xml:space="preserve">old </w:delText></w:r><w:r><w:delText>words</w:delText></w:r></w:del></w:p>`+
		`<w:p><w:pPr><w:rPr><w:del w:author="Bob"/></w:rPr></w:pPr><w:r><w:drawing><wp:docPr id="1" name="Picture 1" descr="A red barn"/><pic:cNvPr descr="A red barn"/></w:drawing></w:r></w:p>`+docxTail,
		"word/_rels/document.xml.rels", rels(rel("1", "header", "header2.xml")+rel("2", "header", "header1.xml")+rel("3", "footer", "footer1.xml")+rel("4", "footer", "footer2.xml")+rel("5", "chart", "charts/chart1.xml")+rel("6", "diagramData", "diagrams/data1.xml")),
		"word/header1.xml", "<w:hdr>"+p("Confidential")+"</w:hdr>", "word/header2.xml", "<w:hdr>"+p("Confidential")+"</w:hdr>", "word/footer1.xml", "<w:ftr>"+p("7")+"</w:ftr>", "word/footer2.xml", "<w:ftr>"+p("Acme Ltd")+"</w:ftr>",
		"word/charts/chart1.xml", chartXML, "word/diagrams/data1.xml", diagram,
		"word/comments.xml", `<w:comments><w:comment w:author="Cat">`+p("Check this")+p("and that")+`</w:comment><w:comment>`+p("Unsigned")+`</w:comment></w:comments>`)
	pptx := docxOf(t, "ppt/presentation.xml", pptMain, "ppt/_rels/presentation.xml.rels", pptRels, "ppt/slides/slide1.xml", "<p:sld/>",
		"ppt/slides/slide2.xml", `<p:sld><p:pic><p:nvPicPr><p:cNvPr id="2" name="Picture" descr="A red barn"/></p:nvPicPr></p:pic><p:sp><a:p><a:r><a:t>Text </a:t></a:r><a14:m><m:oMath><m:r><m:t>a</m:t></m:r></m:oMath></a14:m></a:p></p:sp></p:sld>`,
		"ppt/slides/_rels/slide2.xml.rels", rels(rel("1", "chart", "../charts/chart1.xml")+rel("2", "diagramData", "../diagrams/data1.xml")+rel("3", "comments", "../comments/comment1.xml")),
		"ppt/charts/chart1.xml", chartXML, "ppt/diagrams/data1.xml", diagram, "ppt/comments/comment1.xml", `<p:cmLst><p:cm><p:text>Too long?</p:text></p:cm></p:cmLst>`)
	xlsx := docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/worksheets/sheet1.xml", "<row><c><v>1</v></c></row>",
		"xl/worksheets/_rels/sheet1.xml.rels", rels(rel("1", "comments", "../comments1.xml")+rel("2", "drawing", "../drawings/drawing1.xml")),
		"xl/comments1.xml", "<comments><authors><author>Cat</author></authors><comment><text><r><t>Check </t></r><r><t>this</t></r></text></comment></comments>",
		"xl/drawings/drawing1.xml", `<xdr:wsDr><xdr:cNvPr descr="A red barn"/><xdr:sp><a:p><a:r><a:t>A box</a:t></a:r></a:p></xdr:sp></xdr:wsDr>`,
		"xl/drawings/_rels/drawing1.xml.rels", rels(rel("1", "chart", "../charts/chart1.xml")), "xl/charts/chart1.xml", chartXML)
	odt := docxOf(t, "content.xml", odfHead+`<office:text><text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>Ann</dc:creator><dc:date>2024-01-01</dc:date></office:change-info><text:p>old words</text:p></text:deletion></text:changed-region></text:tracked-changes>`+
		`<text:p>Text<office:annotation><dc:creator>Cat</dc:creator><dc:date>2024-01-01</dc:date><text:p>Check this</text:p><text:p>and that</text:p></office:annotation></text:p><text:p><draw:frame><svg:title>Barn</svg:title><svg:desc>A red barn</svg:desc></draw:frame></text:p></office:text>`+odfTail,
		"styles.xml", `<office:master-styles><style:master-page><style:header><text:p>Confidential</text:p></style:header><style:header-left><text:p>Confidential</text:p></style:header-left><style:footer><text:p><text:page-number>1</text:page-number></text:p></style:footer></style:master-page><style:footer><text:p>Acme Ltd</text:p></style:footer></office:master-styles>`)
	ods := docxOf(t, "content.xml", odfHead+`<office:spreadsheet><table:table table:name="T"><table:table-row><table:table-cell office:value-type="percentage" office:value="0.125"><text:p>12.50%</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="42"/>`+
		`<table:table-cell office:value-type="date" office:date-value="2024-01-31"/><table:table-cell/></table:table-row></table:table></office:spreadsheet>`+odfTail)
	for _, tt := range []struct {
		file string
		b    []byte
		want string
	}{
		{"a.docx", docx, "Text new\n\nA red barn\n\n" + chartWords + "\n\nFirst step\nSecond step\n\nComment (Cat): Check this\n\nand that\n\nComment: Unsigned\n\nDeleted (Ann): old words\n\nConfidential\n\nAcme Ltd"},
		{"a.pptx", pptx, "A red barn Text a\n\n" + chartWords + "\n\nFirst step\nSecond step\n\nComment: Too long?"},
		{"a.xlsx", xlsx, "a Costs\n\n1\n\nComment: Check this\n\nA red barn\n\nA box\n\nSales"},
		{"a.odt", odt, "Text Barn A red barn\n\nDeleted (Ann): old words\nComment (Cat): Check this and that\n\nConfidential\n\nAcme Ltd"},
		{"a.ods", ods, "a T\n\n12.50% | 42 | 2024-01-31"},
	} {
		if got := readBytes(t, tt.b, tt.file, Options{}).ids("title", "text"); got != tt.file+" "+tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.file+" "+tt.want)
		}
	}
	book := docxOf(t, "META-INF/container.xml", epubMeta, "OEBPS/content.opf", `<package><metadata><dc:title>T</dc:title><dc:creator>A</dc:creator><dc:description>&lt;p&gt;A &lt;b&gt;tale&lt;/b&gt; of tides.&lt;/p&gt;</dc:description>`+
		`<dc:subject>Sea</dc:subject><dc:subject>Storms</dc:subject><dc:publisher>Acme</dc:publisher><dc:date>2001-02-03T00:00:00Z</dc:date></metadata><manifest><item id="a" href="ch 1.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>`, "OEBPS/ch 1.xhtml", "<p>Rain.")
	if got := readBytes(t, book, "a.epub", Options{}).ids("author", "description", "tags", "publisher", "date", "text"); got != "a.epub A A tale of tides. [Sea Storms] Acme 2001-02-03 Rain." {
		t.Errorf("a book: %q", got)
	}
}

// Charts and formulas of OpenDocument are documents inside the document, found by their names.
func TestOpenDocumentObjects(t *testing.T) {
	chart := odfHead + `<office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table table:name="local-table"><table:table-header-rows><table:table-row><table:table-cell><text:p/></table:table-cell>` +
		`<table:table-cell><text:p>Pears</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-rows><table:table-row><table:table-cell><text:p>North</text:p></table:table-cell>` +
		`<table:table-cell office:value-type="float" office:value="9.1"><text:p>9.1</text:p></table:table-cell></table:table-row></table:table-rows></table:table></chart:chart></office:chart>` + odfTail
	const formula = `<math xmlns="x"><semantics><mrow><mi>a</mi><mo>=</mo><mfrac><mi>b</mi><mn>2</mn></mfrac></mrow><annotation encoding="StarMath 5.0">a = b over 2</annotation></semantics></math>`
	object := func(name string) string { return `<draw:frame><draw:object xlink:href="./` + name + `"/></draw:frame>` }
	const values = "Sales\n| Pears\nNorth | 9.1"
	for name, tt := range map[string]struct{ file, kind, body, want string }{
		"text":          {"a.odt", "text", `<office:text><text:p>Heading ` + object("Object 1") + `</text:p><text:p>After</text:p></office:text>`, values + "\n\nAfter"},
		"own paragraph": {"a.odt", "text", `<office:text><text:p>` + object("Object 1") + `</text:p></office:text>`, values},
		"twice":         {"a.odt", "text", `<office:text><text:p>` + object("Object 1") + object("Object 1") + `</text:p></office:text>`, values + "\n\n" + values},
		"slide":         {"a.odp", "presentation", `<office:presentation><draw:page><draw:frame><draw:text-box><text:p>Before</text:p></draw:text-box></draw:frame>` + object("Object 1") + `</draw:page></office:presentation>`, values},
		"sheet":         {"a.ods", "spreadsheet", `<office:spreadsheet><table:table table:name="T"><table:shapes>` + object("Object 1") + `</table:shapes><table:table-row><table:table-cell><text:p>9.1</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`, "T\n\nSales\n9.1"},
		"formula":       {"a.odt", "text", `<office:text><text:p>If ` + object("Object 2") + ` then</text:p></office:text>`, "If a = b 2 then"},
		"in a cell":     {"a.odt", "text", `<office:text><table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>` + object("Object 2") + `</text:p></table:table-cell></table:table-row></table:table></office:text>`, "x | a = b 2"},
		"missing":       {"a.odt", "text", `<office:text><text:p>Text ` + object("Object 9") + `</text:p></office:text>`, "Text"},
		"of itself":     {"a.odt", "text", `<office:text><text:p>Text ` + object("") + object("..") + `</text:p></office:text>`, "Text"},
	} {
		b := docxOf(t, "mimetype", "application/vnd.oasis.opendocument."+tt.kind, "content.xml", odfHead+tt.body+odfTail, "Object 1/content.xml", chart, "Object 2/content.xml", formula)
		if got := readBytes(t, b, tt.file, Options{}).ids("text"); got != tt.file+" "+tt.want {
			t.Errorf("%s: got  %q\nwant %q", name, got, tt.file+" "+tt.want)
		}
	}
}

// Of a thread of comments, the comment for older programs is left out, and no other.
func TestThreadedComments(t *testing.T) {
	rel := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://x/` + kind + `" Target="` + target + `"/>`
	}
	old := func(cell, s string) string {
		return `<comment ref="` + cell + `"><text><r><t>` + s + `</t></r></text></comment>`
	}
	thread := func(cell, s string) string {
		return `<threadedComment ref="` + cell + `"><text>` + s + `</text></threadedComment>`
	}
	for name, tt := range map[string]struct{ old, threads, want string }{
		"both kinds":      {old("A1", "Plain") + old("B1", "[Threaded comment] copy"), thread("B1", "New") + thread("B1", "Reply"), "Comment: New\n\nComment: Reply\n\nComment: Plain"},
		"old ones":        {old("A1", "One") + old("B1", "Two"), "", "Comment: One\n\nComment: Two"},
		"threads":         {"", thread("A1", "One"), "Comment: One"},
		"all are threads": {old("A1", "copy"), thread("A1", "One"), "Comment: One"},
		"without a cell":  {`<comment><text><t>One</t></text></comment><comment><text><t>Two</t></text></comment>`, "", "Comment: One\n\nComment: Two"},
		"on one cell":     {old("A1", "One") + old("A1", "Two"), "", "Comment: One\n\nComment: Two"},
	} {
		b := docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/worksheets/sheet1.xml", "<row><c><v>1</v></c></row>",
			"xl/worksheets/_rels/sheet1.xml.rels", "<Relationships>"+rel("1", "comments", "../comments1.xml")+rel("2", "threadedComment", "../threads.xml")+"</Relationships>",
			"xl/comments1.xml", "<comments>"+tt.old+"</comments>", "xl/threads.xml", "<ThreadedComments>"+tt.threads+"</ThreadedComments>")
		if got := readBytes(t, b, "a.xlsx", Options{}).ids("text"); got != "a.xlsx Costs\n\n1\n\n"+tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// Comments name their authors, whom the programs keep in other places.
func TestCommentAuthors(t *testing.T) {
	rel := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://x/` + kind + `" Target="` + target + `"/>`
	}
	sheet := func(members ...string) []byte {
		return docxOf(t, append([]string{"xl/workbook.xml", xlsMain, "xl/worksheets/sheet1.xml", "<row><c><v>1</v></c></row>",
			"xl/_rels/workbook.xml.rels", strings.Replace(xlsRels, "</Relationships>", rel("p", "person", "persons/person.xml")+"</Relationships>", 1),
			"xl/worksheets/_rels/sheet1.xml.rels", "<Relationships>" + rel("1", "comments", "../comments1.xml") + rel("2", "threadedComment", "../threads.xml") + "</Relationships>"}, members...)...)
	}
	slides := func(members ...string) []byte {
		return docxOf(t, append([]string{"ppt/presentation.xml", pptMain, "ppt/slides/slide1.xml", "<p:sld/>", "ppt/slides/slide2.xml", "<p:sld/>",
			"ppt/_rels/presentation.xml.rels", strings.Replace(pptRels, "</Relationships>", rel("p", "commentAuthors", "commentAuthors.xml")+rel("q", "authors", "authors.xml")+"</Relationships>", 1),
			"ppt/slides/_rels/slide2.xml.rels", "<Relationships>" + rel("3", "comments", "../comments/comment1.xml") + "</Relationships>"}, members...)...)
	}
	const old = `<comments><authors><author>Ann</author><author>Bo &amp; Co</author></authors>`
	for _, tt := range []struct {
		file string
		b    []byte
		want string
	}{
		{"a.xlsx", sheet("xl/comments1.xml", old+`<comment ref="A1" authorId="1"><text><t>Dear</t></text></comment></comments>`), "Comment (Bo & Co): Dear"},
		{"b.xlsx", sheet("xl/comments1.xml", old+`<comment ref="A1" authorId="0"><text><r><t>Ann:</t></r><r><t xml:space="preserve">
Dear</t></r></text></comment></comments>`), "Comment (Ann): Dear"},
		{"c.xlsx", sheet("xl/comments1.xml", old+`<comment ref="A1" authorId="7"><text><t>Dear</t></text></comment></comments>`), "Comment: Dear"},
		{"d.xlsx", sheet("xl/threads.xml", `<ThreadedComments><threadedComment ref="A1" personId="{P}"><text>Dear</text></threadedComment></ThreadedComments>`,
			"xl/persons/person.xml", `<personList><person displayName="Cat" id="{P}"/></personList>`), "Comment (Cat): Dear"},
		{"a.pptx", slides("ppt/comments/comment1.xml", `<p:cmLst><p:cm authorId="2"><p:text>Dear</p:text></p:cm><p:cm authorId="9"><p:text>Cheap</p:text></p:cm></p:cmLst>`,
			"ppt/commentAuthors.xml", `<p:cmAuthorLst><p:cmAuthor id="2" name="Ann"/></p:cmAuthorLst>`), "Comment (Ann): Dear Comment: Cheap"},
		{"b.pptx", slides("ppt/comments/comment1.xml", `<p188:cmLst><p188:cm authorId="{A}"><p188:replyLst><p188:reply authorId="{B}"><p188:txBody><a:p><a:r><a:t>No</a:t></a:r></a:p></p188:txBody></p188:reply></p188:replyLst><p188:txBody><a:p><a:r><a:t>Dear</a:t></a:r></a:p></p188:txBody></p188:cm></p188:cmLst>`,
			"ppt/authors.xml", `<p188:authorLst><p188:author id="{A}" name="Ann"/><p188:author id="{B}" name="Bo"/></p188:authorLst>`), "Comment (Bo): No"},
	} {
		got := readBytes(t, tt.b, tt.file, Options{}).ids("title", "text")
		if !strings.HasSuffix(got, tt.want) && !strings.Contains(got, tt.want+"\n") {
			t.Errorf("%s: got %q, want %q", tt.file, got, tt.want)
		}
	}
}

// Files that a document of Word inserts as they are (altChunk) are part of its text.
func TestInsertedFiles(t *testing.T) {
	const body = "<w:p><w:r><w:t>Title</w:t></w:r></w:p><w:altChunk r:id=\"c\"/><w:p><w:r><w:t>after</w:t></w:r></w:p>"
	inner := string(docxOf(t, "word/document.xml", docxHead+"<w:p><w:r><w:t>Inner</w:t></w:r></w:p><w:altChunk r:id=\"c\"/>"+docxTail,
		"word/_rels/document.xml.rels", `<Relationships><Relationship Id="c" Type="http://x/aFChunk" Target="deep.txt"/></Relationships>`, "word/deep.txt", "too deep"))
	for name, tt := range map[string]struct{ in, want string }{
		"a.htm":   {"<html><body><h2>Head</h2><p>Page</p></body></html>", "Head\n\nPage"},
		"a.xhtml": {`<?xml version="1.0"?><html><body><p>Page</p></body></html>`, "Page"},
		"a.rtf":   {`{\rtf1 Rich}`, "Rich"},
		"a.txt":   {"Plain\r\nwords", "Plain\nwords"},
		"a.docx":  {inner, "Inner"},
		"a.mht":   {"MIME-Version: 1.0\n\nx", `; a.docx: warning: the inserted file "a.mht" is not read`},
		"b.docx":  {"PK", `; a.docx: warning: the inserted file "b.docx" is not read`},
	} {
		b := docxOf(t, "word/document.xml", docxHead+body+docxTail, "word/_rels/document.xml.rels", `<Relationships><Relationship Id="c" Type="http://x/aFChunk" Target="`+name+`"/></Relationships>`, "word/"+name, tt.in)
		want := "a.docx " + tt.want + "\n\nafter"
		if strings.HasPrefix(tt.want, ";") {
			want = "a.docx after" + tt.want
		}
		out := readBytes(t, b, "a.docx", Options{})
		if got := out.ids("text"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		checkBlocks(t, out.docs[0])
	}
	missing := docxOf(t, "word/document.xml", docxHead+body+docxTail)
	if got := readBytes(t, missing, "a.docx", Options{}).ids("text"); got != "a.docx after" {
		t.Errorf("without the file: %q", got)
	}
}

func FuzzInsertedFile(f *testing.F) {
	names := []string{"a.htm", "a.rtf", "a.txt", "a.docx", "a"}
	for i, in := range []string{"<html><p>Page</p>", `{\rtf1 Rich}`, "Plain\r\nwords", "PK", "\xff\xfea\x00"} {
		f.Add(uint8(i), []byte(in))
	}
	f.Fuzz(func(t *testing.T, n uint8, in []byte) {
		if len(in) > 1<<16 {
			return
		}
		name := names[int(n)%len(names)]
		for _, inner := range []string{string(in), string(docxOf(t, "word/document.xml", docxHead+string(in)+docxTail))} {
			b := docxOf(t, "word/document.xml", docxHead+`<w:p><w:r><w:t>x</w:t></w:r></w:p><w:altChunk r:id="c"/><w:altChunk r:id="c"/>`+docxTail,
				"word/_rels/document.xml.rels", `<Relationships><Relationship Id="c" Type="http://x/aFChunk" Target="`+name+`"/></Relationships>`, "word/"+name, inner)
			for _, d := range readBytes(t, b, "a.docx", Options{MaxFile: 1 << 20}).docs {
				if s, _ := d.Fields["text"].(string); !utf8.ValidString(s) {
					t.Errorf("%q is not UTF-8", s)
				}
			}
		}
	})
}

// Formulas beside each other are words of their own.
func TestFormulasBesideEachOther(t *testing.T) {
	m := func(s string) string { return "<m:oMath><m:r><m:t>" + s + "</m:t></m:r></m:oMath>" }
	w := func(s string) string { return `<w:r><w:t xml:space="preserve">` + s + `</w:t></w:r>` }
	for _, tt := range []struct{ in, want string }{
		{m("a=b") + m("c=d"), "a=b c=d"}, {m("a") + "\n" + m("b") + m("c"), "a b c"}, {"<m:oMathPara>" + m("a") + m("b") + "</m:oMathPara>", "a b"},
		{w("x") + m("a") + w("y"), "xay"}, {m("a") + w(" and ") + m("b"), "a and b"}, {m("a") + "</w:p><w:p>" + m("b") + w("c"), "bc"}, {m("a") + w("") + m("b"), "a b"},
	} {
		b := docxOf(t, "word/document.xml", docxHead+"<w:p>"+tt.in+"</w:p>"+docxTail)
		if got := readBytes(t, b, "a.docx", Options{}).ids("text"); strings.ReplaceAll(got, "\n\n", "\n") != "a.docx "+tt.want {
			t.Errorf("%s: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFormulas(t *testing.T) {
	e := func(name, in string) string { return "<m:" + name + ">" + in + "</m:" + name + ">" }
	r := func(s string) string { return e("r", e("t", s)) }
	pr := func(name, of, v string) string { return e(name, `<m:`+of+` m:val="`+v+`"/>`) }
	for _, tt := range []struct{ in, want string }{
		{r("m=1"), "m=1"},
		{e("f", e("num", r("a+b"))+e("den", r("2"))), "(a+b)/2"},
		{e("f", pr("fPr", "type", "noBar")+e("num", r("n"))+e("den", r("k"))), "(n ¦ k)"},
		{e("sSup", e("e", r("x"))+e("sup", r("2"))) + r("+") + e("sSub", e("e", r("y"))+e("sub", r("i+1"))) + e("sSubSup", e("e", r("z"))+e("sub", r("1"))+e("sup", r("2"))), "x^2+y_(i+1)z_1^2"},
		{e("rad", e("deg", "")+e("e", r("y"))) + e("rad", e("deg", r("3"))+e("e", r("8"))), "√(y)3√(8)"},
		{e("nary", pr("naryPr", "chr", "∑")+e("sub", r("i=1"))+e("sup", r("n"))+e("e", r("i"))) + e("nary", e("naryPr", "")+e("sub", "")+e("sup", "")+e("e", r("f"))), "∑_(i=1)^n i∫ f"},
		{e("d", pr("dPr", "begChr", "[")+e("e", r("a"))+e("e", r("b"))) + e("d", e("e", r("c"))), "[a|b)(c)"},
		{e("func", e("fName", r("sin\u2061"))+e("e", r("θ"))) + e("limLow", e("e", r("lim"))+e("lim", r("x→0"))), "sin θlim_(x→0)"},
		{e("m", e("mr", e("e", r("a"))+e("e", r("b")))+e("mr", e("e", r("c"))+e("e", r("d")))) + e("acc", e("e", r("v"))), "a b; c dv\u0302"},
	} {
		b := docxOf(t, "word/document.xml", docxHead+`<w:p><w:r><w:t>See </w:t></w:r>`+e("oMath", tt.in)+`<w:r><w:t>.</w:t></w:r></w:p>`+docxTail)
		if got := readBytes(t, b, "a.docx", Options{}).ids("text"); got != "a.docx See "+tt.want+"." {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	deep := strings.Repeat("<m:f><m:num>", 100_000)
	if out := readBytes(t, docxOf(t, "word/document.xml", docxHead+"<w:p>"+e("oMath", deep+r("x"))+docxTail), "a.docx", Options{}); len(out.errors) != 1 {
		t.Errorf("a formula that does not end: %v", out)
	}
}

func FuzzBesideText(f *testing.F) {
	f.Add([]byte(docxHead+`<w:p><m:oMath><m:f><m:num><m:t>a</m:t></m:num></m:f></m:oMath><w:del w:author="A"><w:delText>x</w:delText></w:del></w:p>`), []byte(chartXML))
	f.Add([]byte(odfHead+`<text:p>x<office:annotation><dc:creator>A</dc:creator><text:p>y</text:p></office:annotation></text:p>`), []byte(`<style:header><text:p>x</text:p></style:header>`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		rels := `<Relationships><Relationship Id="1" Type="x/chart" Target="b.xml"/><Relationship Id="2" Type="x/header" Target="b.xml"/><Relationship Id="3" Type="x/diagramData" Target="b.xml"/><Relationship Id="4" Type="x/drawing" Target="b.xml"/></Relationships>`
		for name, archive := range map[string][]byte{
			"a.docx": docxOf(t, "word/document.xml", string(a), "word/_rels/document.xml.rels", rels, "word/b.xml", string(b), "word/comments.xml", string(b)),
			"a.odt":  docxOf(t, "content.xml", string(a), "styles.xml", string(b)),
			"a.xlsx": docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/worksheets/sheet1.xml", string(a), "xl/worksheets/_rels/sheet1.xml.rels", rels, "xl/worksheets/b.xml", string(b)),
		} {
			for _, d := range readBytes(t, archive, name, Options{MaxFile: 1 << 20}).docs {
				if text, _ := d.Fields["text"].(string); !utf8.ValidString(text) {
					t.Errorf("%s: %q is not UTF-8", name, text)
				}
			}
		}
	})
}
