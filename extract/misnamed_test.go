package extract

import (
	"strings"
	"testing"
)

const flatSheet = `<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">` +
	`<DocumentProperties xmlns="urn:schemas-microsoft-com:office:office"><Title>Price list</Title></DocumentProperties><Worksheet ss:Name="Pots"><Table><Row><Cell><Data ss:Type="String">name</Data></Cell><Cell><Data ss:Type="String">from</Data></Cell><Cell><Data ss:Type="String">price</Data></Cell></Row>` +
	`<Row><Cell><Data ss:Type="String">Kettle</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">12</Data><Comment ss:Author="Ann"><ss:Data>Ann: too <B>dear</B></ss:Data></Comment></Cell></Row><Row><Cell/><Cell><Data ss:Type="DateTime">2024-01-31T00:00:00.000</Data></Cell></Row></Table></Worksheet></Workbook>`

// Files are read as what they are where programs give them the name of another format.
func TestMisnamed(t *testing.T) {
	const letter = "From: ann@example.org\r\nSubject: Rent\r\nDate: Mon, 2 Jan 2023 10:00:00 +0100\r\n\r\nIt is due.\r\n"
	word := docxOf(t, "word/document.xml", docxHead+"<w:p><w:r><w:t>New words</w:t></w:r></w:p>"+docxTail)
	flatWord := `<?xml version="1.0"?><?mso-application progid="Word.Document"?><w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:body><w:p><w:r><w:t>Old words</w:t></w:r></w:p></w:body></w:wordDocument>`
	parts := `<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:name="/word/document.xml"><pkg:xmlData>` + strings.TrimPrefix(docxHead, `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`) + `<w:p><w:r><w:t>Parts</w:t></w:r></w:p>` + docxTail + `</pkg:xmlData></pkg:part></pkg:package>`
	flatText := `<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><office:meta><dc:title>Flat</dc:title></office:meta><office:body><office:text><text:p>One<draw:image><office:binary-data>iVBORw0KGgo</office:binary-data></draw:image></text:p><text:p>two</text:p></office:text></office:body></office:document>`
	const sheet = "Price list Pots\n\nname | from | price\nKettle |  | 12\n| 2024-01-31\n\nComment (Ann): too dear"
	for _, tt := range []struct{ file, in, want string }{
		{"letter.doc", `{\rtf1\ansi Rich words\par}`, "Rich words"},
		{"page.doc", `<html><head><title>T</title></head><body><p>Page of Word</body></html>`, "T Page of Word"},
		{"new.doc", string(word), "New words"},
		{"flat.doc", flatWord, "Old words"},
		{"flat.xml", flatWord, "Old words"},
		{"parts.xml", parts, "Parts"},
		{"old.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", `old.doc: files of type ".doc" are not read; save it as .docx`},
		{"sheet.xls", flatSheet, sheet},
		{"sheet.xml", flatSheet, sheet},
		{"sheet.xlsx", flatSheet, sheet},
		{"cut.xml", flatSheet[:strings.Index(flatSheet, "<Row><Cell/>")], "Price list Pots\n\nname | from | price\nKettle |  | 12"},
		{"flat.fodt", flatText, "Flat One\n\ntwo"},
		{"flat.odt", flatText, "Flat One\n\ntwo"},
		{"mail.msg", letter, "Rent It is due."},
		{"words.msg", "only words\n", "words.msg: not a message of Outlook: damaged compound file"},
		{"form.dotx", string(word), "New words"},
		{"form.dotm", string(word), "New words"},
		{"form.ott", string(docxOf(t, "content.xml", odfHead+"<office:text><text:p>A form</text:p></office:text>"+odfTail)), "A form"},
		{"other.xml", "<catalogue><pot/></catalogue>", "other.xml: XML, but neither RSS nor Atom"},
	} {
		got := readBytes(t, []byte(tt.in), tt.file, Options{}).ids("title", "text")
		stem, _, _ := strings.Cut(tt.file, ".")
		if got = strings.TrimPrefix(strings.TrimPrefix(got, tt.file+" "), stem+" "); got != tt.want && got != tt.want+" "+tt.want {
			t.Errorf("%s: got %q, want %q", tt.file, got, tt.want)
		}
	}
}

// Padding behind a text is none of it: the end of a C string or of a file of DOS. More of it may be
// what a crash left of a text, and is reported.
func TestPadding(t *testing.T) {
	for _, tt := range []struct{ file, in, want string }{
		{"a.txt", "Words\n\x00", "a.txt Words"},
		{"a.txt", "Words\r\n\x1a", "a.txt Words"},
		{"a.txt", "Words" + strings.Repeat("\x00", 5000), "a.txt Words; a.txt: warning: 5000 NUL bytes at the end left out"},
		{"a.md", "Words\n\x00", "a.md Words"},
		{"a.rtf", "{\\rtf1 Words}\x00", "a.rtf Words"},
		{"a.html", "<p>Words\x1a", "a.html Words"},
		{"a.eml", "Subject: S\n\nWords\n\x1a", "a.eml Words"},
		{"a.org", "Words\n\x00", "a.org Words"},
		{"a.txt", "Two\x00words\n", "a.txt:1: binary data (NUL bytes), not plain text"},
	} {
		if got := readBytes(t, []byte(tt.in), tt.file, Options{}).ids("text"); got != tt.want {
			t.Errorf("%s of %.40q: got %.80q, want %.80q", tt.file, tt.in, got, tt.want)
		}
	}
}
