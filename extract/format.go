package extract

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/office"
)

// Format is a file format.
type Format uint8

const (
	Auto     Format = iota // recognise by name, then by content
	JSONL                  // JSON objects, one per line; also a JSON array of objects or a run of objects over several lines
	CSV                    // comma-, semicolon-, tab- or bar-separated, with a header row
	Markdown               // CommonMark with front matter (YAML, TOML, JSON) and tables
	HTML                   // any age of HTML
	Text                   // plain text
	PDF                    // portable documents with a text layer; needs Options.PDF
	DOCX                   // documents of Word and other writers (Office Open XML)
	EML                    // a message of mail, or a mailbox of them; a web page that was saved as one file
	IPYNB                  // a Jupyter notebook
	EPUB                   // an e-book
	ODF                    // OpenDocument: texts, tables and slides of LibreOffice and others
	PPTX                   // slides of PowerPoint and other writers (Office Open XML)
	XLSX                   // workbooks of Excel and other writers (Office Open XML)
	RTF                    // rich text
	ENEX                   // notes that Evernote has exported
	VCF                    // contacts (vCard)
	ICS                    // appointments, tasks and journals (iCalendar)
	Canvas                 // a canvas of Obsidian (JSON Canvas)
	OPML                   // an outline
	MSG                    // a message of Outlook
	Feed                   // entries of RSS or Atom
	XLS                    // workbooks of Excel before 2007
	Picture                // a picture; needs Options.OCR
	Archive                // files packed as ZIP or tar, each of which is read as in a folder
)

var formatNames = [...]string{Auto: "auto", JSONL: "jsonl", CSV: "csv", Markdown: "md", HTML: "html", Text: "txt", PDF: "pdf", DOCX: "docx", EML: "eml", IPYNB: "ipynb",
	EPUB: "epub", ODF: "odf", PPTX: "pptx", XLSX: "xlsx", RTF: "rtf", ENEX: "enex", VCF: "vcf", ICS: "ics", Canvas: "canvas", OPML: "opml", MSG: "msg", Feed: "feed", XLS: "xls", Picture: "picture", Archive: "archive"}

// formatNouns name formats in messages.
var formatNouns = [...]string{Auto: "auto", JSONL: "JSON", CSV: "CSV", Markdown: "Markdown", HTML: "HTML", Text: "plain text", PDF: "PDF", DOCX: "a Word document", EML: "a message", IPYNB: "a notebook",
	EPUB: "an e-book", ODF: "an OpenDocument", PPTX: "a presentation", XLSX: "a workbook", RTF: "RTF", ENEX: "notes of Evernote", VCF: "contacts", ICS: "a calendar", Canvas: "a canvas", OPML: "an outline", MSG: "a message", Feed: "a feed", XLS: "a workbook", Picture: "a picture", Archive: "an archive"}

// ofRecords reports whether files of the format hold records with ids of their own, like mailboxes.
func (f Format) ofRecords() bool {
	return f == JSONL || f == CSV || f == ENEX || f == VCF || f == ICS || f == Feed
}

// String returns the name that ParseFormat takes.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Formats returns the names of all formats, auto first.
func Formats() []string { return slices.Clone(formatNames[:]) }

var formatSynonyms = map[string]Format{"": Auto, "ndjson": JSONL, "json": JSONL, "tsv": CSV, "markdown": Markdown, "htm": HTML, "text": Text, "odt": ODF, "ods": ODF, "odp": ODF, "rss": Feed, "atom": Feed, "xml": Feed, "zip": Archive, "tar": Archive}

// ParseFormat returns the format with a name of [Formats], or a usual synonym, in any case; "" is
// auto.
func ParseFormat(s string) (Format, error) {
	name := strings.ToLower(s)
	if i := slices.Index(formatNames[:], name); i >= 0 {
		return Format(i), nil
	}
	if f, ok := formatSynonyms[name]; ok {
		return f, nil
	}
	return Auto, fmt.Errorf("got %q, allowed: %s", s, strings.Join(formatNames[:], ", "))
}

var formatByExt = map[string]Format{
	".jsonl": JSONL, ".ndjson": JSONL, ".json": JSONL,
	".csv": CSV, ".tsv": CSV, ".tab": CSV,
	".md": Markdown, ".markdown": Markdown, ".mdown": Markdown, ".mkd": Markdown, ".mdx": Markdown,
	".html": HTML, ".htm": HTML, ".xhtml": HTML,
	".txt": Text, ".text": Text, ".rst": Text, ".adoc": Text, ".asciidoc": Text, ".org": Text, ".tex": Text, ".srt": Text, ".vtt": Text,
	".pdf": PDF, ".docx": DOCX, ".docm": DOCX, ".dotx": DOCX, ".dotm": DOCX, ".eml": EML, ".emlx": EML, ".mbox": EML, ".mhtml": EML, ".mht": EML, ".ipynb": IPYNB,
	".epub": EPUB, ".odt": ODF, ".ods": ODF, ".odp": ODF, ".ott": ODF, ".ots": ODF, ".otp": ODF, ".fodt": ODF, ".fods": ODF, ".fodp": ODF, ".pptx": PPTX, ".pptm": PPTX, ".ppsx": PPTX, ".ppsm": PPTX, ".potx": PPTX, ".potm": PPTX,
	".xlsx": XLSX, ".xlsm": XLSX, ".xltx": XLSX, ".xltm": XLSX, ".xls": XLS, ".msg": MSG, ".rss": Feed, ".atom": Feed, ".rdf": Feed, ".xml": Feed, ".xlt": XLS, ".rtf": RTF,
	".enex": ENEX, ".vcf": VCF, ".ics": ICS, ".canvas": Canvas, ".opml": OPML,
	".png": Picture, ".jpg": Picture, ".jpeg": Picture, ".tif": Picture, ".tiff": Picture, ".bmp": Picture, ".gif": Picture, ".webp": Picture,
	".zip": Archive, ".tar": Archive, ".tgz": Archive,
}

// savedAs names, for formats that are not read, the format to save as.
var savedAs = map[string]string{
	".doc": ".docx", ".pages": ".docx", ".xlsb": ".xlsx", ".numbers": ".xlsx", ".ppt": ".pptx", ".key": ".pptx",
	".mobi": ".epub", ".azw3": ".epub", ".pst": ".mbox",
}

// Detect recognises a format by the extension of name, ignoring .gz, or by the first bytes of the
// decompressed content if name has no extension. It reports false for unknown extensions and binary
// content.
func Detect(name string, head []byte) (Format, bool) {
	ext := content.Extension(name)
	switch f, ok := byName(name); {
	case ok && f == Feed && office.IsFlatSheet(head):
		return XLS, true
	case ok && f == Feed && office.IsFlat(head):
		return DOCX, true
	case ok:
		return f, true
	}
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return PDF, true
	}
	if savedAs[ext] != "" {
		return misnamed(ext, head)
	}
	if bytes.HasPrefix(head, []byte(`{\rtf`)) && ext == "" {
		return RTF, true
	}
	if ext != "" {
		return Auto, false
	}
	return detectContent(head)
}

// misnamed recognises content under the name of a format that is not read: many programs write rich
// text, web pages and new documents as .doc.
func misnamed(ext string, head []byte) (Format, bool) {
	switch trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(content.BOM)), " \t\r\n"); {
	case bytes.HasPrefix(trimmed, []byte(`{\rtf`)):
		return RTF, true
	case office.IsFlat(head), bytes.HasPrefix(head, []byte("PK\x03\x04")) && ext == ".doc":
		return DOCX, true
	case startsHTML(trimmed):
		return HTML, true
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && ext == ".ppt":
		return PPTX, true
	}
	return Auto, false
}

// byName recognises a format by name alone.
func byName(name string) (Format, bool) {
	if inMaildir(name) {
		return EML, true
	}
	f, ok := formatByExt[content.Extension(name)]
	return f, ok
}

// maildir matches the path of a message in a Maildir.
var maildir = regexp.MustCompile(`(?:^|[/\\])(?:cur|new)[/\\]\d{9,10}(?:_\d+)?\.[^./\\]+\.[^/\\]+$`)

func inMaildir(name string) bool {
	return maildir.MatchString(name) && formatByExt[content.Extension(name)] == Auto
}

func detectContent(head []byte) (Format, bool) {
	head = bytes.TrimPrefix(head, []byte(content.BOM))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(trimmed) == 0, !content.IsText(head):
		return Auto, false
	case trimmed[0] == '{' && startsJSON(trimmed, "\"}"), trimmed[0] == '[' && startsJSON(trimmed, "{]"):
		return JSONL, true
	case isMailbox(head):
		return EML, true
	case bytes.HasPrefix(trimmed, []byte("BEGIN:VCARD")):
		return VCF, true
	case bytes.HasPrefix(trimmed, []byte("BEGIN:VCALENDAR")):
		return ICS, true
	case bytes.Contains(head, []byte("<en-export")):
		return ENEX, true
	case isFeed(trimmed):
		return Feed, true
	case startsHTML(trimmed):
		return HTML, true
	case bytes.HasPrefix(head, []byte("---\n")), bytes.HasPrefix(head, []byte("---\r\n")), bytes.HasPrefix(head, []byte("# ")):
		return Markdown, true
	}
	return Text, true
}

// startsJSON reports whether a byte of next follows the opening bracket.
func startsJSON(s []byte, next string) bool {
	rest := bytes.TrimLeft(s[1:], " \t\r\n")
	return len(rest) > 0 && strings.IndexByte(next, rest[0]) >= 0
}

func startsHTML(s []byte) bool {
	s = bytes.ToLower(s[:min(len(s), 512)])
	for bytes.HasPrefix(s, []byte("<!--")) {
		_, after, ok := bytes.Cut(s, []byte("-->"))
		if !ok {
			return false
		}
		s = bytes.TrimLeft(after, " \t\r\n")
	}
	if bytes.HasPrefix(s, []byte("<?xml")) {
		return bytes.Contains(s, []byte("<html"))
	}
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(s, []byte(tag)) {
			return true
		}
	}
	return false
}
