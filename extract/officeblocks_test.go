package extract

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Documents of office programs, books and notebooks come with the blocks that their authors made.
func TestOfficeBlocks(t *testing.T) {
	p := func(style, text string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	row := func(head bool, cells ...string) string {
		s := `<w:tr>`
		if head {
			s += `<w:trPr><w:tblHeader/></w:trPr>`
		}
		for _, c := range cells {
			s += `<w:tc>` + p("", c) + `</w:tc>`
		}
		return s + `</w:tr>`
	}
	styles := `<w:styles><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="B2"><w:name w:val="List Bullet 2"/></w:style><w:style w:styleId="Q"><w:name w:val="Quote"/></w:style></w:styles>`
	docx := func(body string) []byte {
		return docxOf(t, "word/document.xml", docxHead+p("", "Start")+p("", "")+body+docxTail, "word/styles.xml", styles)
	}
	slide := func(title, rest string) string {
		return `<p:sld><p:sp><p:ph type="title"/><a:p><a:t>` + title + `</a:t></a:p></p:sp>` + rest + `</p:sld>`
	}
	cells := func(head string, values ...string) string {
		s := "<row>"
		for _, v := range values {
			s += `<c t="` + head + `"><v>` + v + `</v></c>`
		}
		return s + "</row>"
	}
	sheet := func(rows string) []byte {
		return docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/worksheets/sheet1.xml", "<sheetData>"+rows+"</sheetData>")
	}
	odf := func(s string) []byte { return docxOf(t, "content.xml", odfHead+s+odfTail) }
	odfRow := func(kind string, values ...string) string {
		s := "<table:table-row>"
		for _, v := range values {
			s += `<table:table-cell office:value-type="` + kind + `"><text:p>` + v + `</text:p></table:table-cell>`
		}
		return s + "</table:table-row>"
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"a.docx", docx(p("H2", "Part") + p("B2", "deep") + p("Q", "said") + p("", "End")), "heading2: Part\nitem2: - deep\nquote: said\nparagraph: End\n"},
		{"table.docx", docx(`<w:tbl>` + row(false, "name", "mm") + row(false, "thin", "1") + `</w:tbl>` + p("", "End")), "table: name | mm ##⏎thin | 1\nparagraph: End\n"},
		{"heads.docx", docx(`<w:tbl>` + row(true, "all") + row(true, "name", "mm") + row(false, "thin", "1") + `</w:tbl>`), "table: all⏎name | mm ##⏎thin | 1\n"},
		{"box.docx", docx(`<w:tbl>` + row(false, "a note") + row(false, "more") + `</w:tbl>`), "table: a note⏎more\n"},
		{"merged.docx", docx(`<w:tbl>` + row(false, "kind", "name", "mm") + strings.Replace(row(false, "screw", "thin", "1"), `<w:tc>`, `<w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>`, 1) +
			strings.Replace(row(false, "", "thick", "3"), `<w:tc>`, `<w:tc><w:tcPr><w:vMerge/></w:tcPr>`, 1) + strings.Replace(row(false, "wide", "5"), `<w:tc>`, `<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>`, 1) + row(false, "", "", "7") + `</w:tbl>` + p("", "End")),
			"table: kind | name | mm ##⏎screw | thin | 1⏎screw | thick | 3⏎wide | 5⏎| | 7\nparagraph: End\n"},
		{"one.docx", docx(`<w:tbl>` + row(false, "a", "b") + `</w:tbl>`), "table: a | b\n"},
		{"nested.docx", docx(`<w:tbl><w:tr><w:tc>` + p("", "x") + `<w:tbl>` + row(false, "in", "ner") + `</w:tbl></w:tc><w:tc>` + p("", "y") + `</w:tc></w:tr>` + row(false, "1", "2") + `</w:tbl>` + p("", "End")), "table: x⏎⏎in | ner⏎⏎y ##⏎1 | 2\nparagraph: End\n"},
		{"a.pptx", docxOf(t, "ppt/presentation.xml", pptMain, "ppt/_rels/presentation.xml.rels", pptRels, "ppt/slides/slide2.xml", slide("First", ""), "ppt/slides/slide1.xml",
			slide("Second", `<p:sp><a:p><a:t>words</a:t></a:p></p:sp><p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:t>a</a:t></a:p></a:tc><a:tc><a:p><a:t>b</a:t></a:p></a:tc></a:tr><a:tr><a:tc><a:p><a:t>1</a:t></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>`)),
			"heading2 on 2: Second\nparagraph on 2: words\ntable on 2: a | b ##⏎1\n"},
		{"spans.pptx", docxOf(t, "ppt/presentation.xml", pptMain, "ppt/_rels/presentation.xml.rels", pptRels, "ppt/slides/slide2.xml", slide("First", `<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:t>a</a:t></a:p></a:tc><a:tc><a:p><a:t>b</a:t></a:p></a:tc></a:tr>`+
			`<a:tr><a:tc rowSpan="2"><a:p><a:t>1</a:t></a:p></a:tc><a:tc><a:p><a:t>2</a:t></a:p></a:tc></a:tr><a:tr><a:tc vMerge="1"><a:p/></a:tc><a:tc><a:p><a:t>3</a:t></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>`), "ppt/slides/slide1.xml", "<p:sld/>"),
			"table on 1: a | b ##⏎1 | 2⏎1 | 3\n"},
		{"a.xlsx", sheet(cells("inlineStr", "Item", "Price") + cells("n", "1", "2") + cells("n", "3", "4")), "heading1: Costs\ntable: Item | Price ##⏎1 | 2⏎3 | 4\n"},
		{"gaps.xlsx", sheet(`<row><c r="B1" t="inlineStr"><is><t>a</t></is></c><c r="C1" t="inlineStr"><is><t>b</t></is></c><c t="inlineStr"><is><t>c</t></is></c></row><row><c r="B2"><v>1</v></c><c r="D2"><v>3</v></c></row><row><c r="C3"><v>2</v></c></row><row><c r="A4"><v>0</v></c></row>`),
			"heading1: Costs\ntable: a | b | c ##⏎1 |  | 3⏎| 2⏎0\n"},
		{"title.xlsx", sheet(cells("inlineStr", "Plan") + cells("inlineStr", "Item", "Price") + cells("n", "1", "2")), "heading1: Costs\ntable: Plan⏎Item | Price ##⏎1 | 2\n"},
		{"numbers.xlsx", sheet(cells("n", "1", "2") + cells("inlineStr", "Item", "Price")), "heading1: Costs\ntable: 1 | 2⏎Item | Price\n"},
		{"spans.odt", odf(`<office:text><text:p>Start</text:p><table:table>` + odfRow("string", "kind", "name") + `<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>screw</text:p></table:table-cell><table:table-cell><text:p>thin</text:p></table:table-cell></table:table-row>` +
			`<table:table-row><table:covered-table-cell/><table:table-cell><text:p>thick</text:p></table:table-cell></table:table-row></table:table></office:text>`), "table: kind | name ##⏎screw | thin⏎screw | thick\n"},
		{"a.odt", odf(`<office:text><text:p>Start</text:p><text:h text:outline-level="2">Part</text:h><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item></text:list><table:table>` +
			odfRow("string", "name", "mm") + odfRow("float", "thin", "1") + `</table:table><text:p>End</text:p></office:text>`), "heading2: Part\nitem1: - one\nitem2: - deep\ntable: name | mm ##⏎thin | 1\nparagraph: End\n"},
		{"a.ods", odf(`<office:spreadsheet><table:table table:name="T">` + odfRow("string", "a", "b") + odfRow("float", "1", "2") + `</table:table></office:spreadsheet>`), "heading1: T\ntable: a | b ##⏎1 | 2\n"},
		{"a.odp", odf(`<office:presentation><draw:page><draw:frame presentation:class="title"><text:p>First</text:p></draw:frame></draw:page><draw:page><draw:frame presentation:class="title"><text:p>Second</text:p></draw:frame><draw:frame><text:p>words</text:p></draw:frame></draw:page></office:presentation>`),
			"heading2 on 2: Second\nparagraph on 2: words\n"},
		{"a.epub", docxOf(t, "META-INF/container.xml", epubMeta, "OEBPS/content.opf", epubBody, "OEBPS/ch2.xhtml", `<h1>One</h1><p>It rains<a epub:type="noteref" href="#n">1</a> here.</p>`, "OEBPS/ch 1.xhtml", `<h2>Two</h2><ul><li>a</li></ul>`),
			"heading1: One\nparagraph: It rains [1] here.\nheading2: Two\nitem1: - a\n"},
		{"a.ipynb", []byte(`{"cells":[{"cell_type":"markdown","source":"text"},{"cell_type":"code","source":"x = 1"},{"cell_type":"code","source":"%%bash\nls"}],"metadata":{"language_info":{"name":"Python"}}}`), "paragraph: text\ncode python: x = 1\ncode bash: %%bash⏎ls\n"},
		{"old.ipynb", []byte(`{"worksheets":[{"cells":[{"cell_type":"code","language":"ruby","input":"x"}]}]}`), "code ruby: x\n"},
	} {
		out := readBytes(t, tt.b, tt.name, Options{})
		if len(out.docs) != 1 {
			t.Errorf("%s: %v", tt.name, out)
			continue
		}
		d := out.docs[0]
		got := ""
		for _, l := range strings.SplitAfter(outline(d), "\n") {
			if l != "paragraph: Start\n" {
				got += l
			}
		}
		if strings.Contains(tt.want, " on ") {
			lines := strings.SplitAfter(got, "\n")
			for i, b := range d.Blocks {
				kind, rest, _ := strings.Cut(lines[i], ":")
				lines[i] = fmt.Sprintf("%s on %d:%s", kind, b.Page, rest)
			}
			got = strings.Join(lines, "")
		}
		if got != tt.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// The blocks of a PDF pass through, without its title.
func TestPDFBlocks(t *testing.T) {
	o := Options{PDF: func(context.Context, []byte) (PDFText, error) {
		return PDFText{Title: "T", Text: "T\n\nPart\n\nwords", Blocks: []Block{{Start: 0, End: 1, Page: 1}, {Kind: Heading, Level: 1, Start: 3, End: 7, Page: 2}, {Start: 9, End: 14, Page: 3}}}, nil
	}}
	d := readBytes(t, []byte("%PDF-1.7"), "a.pdf", o).docs[0]
	if got := fmt.Sprintf("%s %v", d.Fields["text"], d.Blocks); got != "Part\n\nwords [{heading 1 0 4 0  2} {paragraph 0 6 11 0  3}]" {
		t.Errorf("got %s", got)
	}
}

// Alphabets are recognised by their letters, even in a line or two.
func TestAlphabets(t *testing.T) {
	for _, tt := range []struct{ encoding, text string }{
		{"windows-1250", "Zażółć gęślą jaźń. Pchnąć w tę łódź jeża lub ośm skrzyń fig."},
		{"iso-8859-2", "Zażółć gęślą jaźń. Pchnąć w tę łódź jeża lub ośm skrzyń fig."},
		{"windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. V lese bylo ticho."},
		{"windows-1254", "Pijamalı hasta yağız şoföre çabucak güvendi. Bugün hava güzel."},
		{"windows-1256", "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر"},
		{"windows-1257", "Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą"},
		{"windows-1252", "Fünf große Männer fuhren über die Brücke nach Köln und aßen Äpfel."},
		{"windows-1252", "Où est né l'été dernier? À côté de la forêt, des élèves étaient là."},
	} {
		enc, err := ParseEncoding(tt.encoding)
		if err != nil {
			t.Fatal(err)
		}
		b, err := enc.NewEncoder().String(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		out := readBytes(t, []byte(b), "a.txt", Options{})
		if got := out.docs[0].Fields["text"]; got != tt.text || len(out.errors) != 1 {
			t.Errorf("%s: %q, %v", tt.encoding, got, out.errors)
		}
	}
}
