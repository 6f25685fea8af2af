// Package extract turns files, folders and streams into documents: an id, fields and a text that
// can be searched.
//
// [Walk] reads files and folders, [Reader] one stream; [Files] finds what Walk would read and
// leaves the reading, in any order, to its caller. All hand each document to emit as soon as it is
// known and each thing that could not be read to fail, so that one bad line costs one document and
// never the run.
//
//	stats, err := extract.Walk(ctx, []string{"notes", "catalogue.csv.gz"}, extract.Options{},
//		func(d extract.Document) error { return index(d) },
//		func(e extract.ItemError) error { log.Print(e); return nil })
//
// # Formats
//
// Record formats give one document per record and are streamed: JSON lines, a JSON array or a run
// of JSON objects, CSV and TSV, and mailboxes (mbox, Maildir), whose records are messages with
// Message-ID for their ids, exports of Evernote (enex), whose records are notes, feeds (RSS, Atom),
// and contacts (vcf) and calendars (ics). Whole-file formats give one document per file: Markdown,
// HTML, plain text, documents of Word, PowerPoint and Excel (docx, pptx, xlsx, xls), OpenDocument
// (odt, ods, odp), rich text (rtf), e-books (epub), messages (eml, emlx, msg), Jupyter notebooks
// (ipynb), canvases of Obsidian (canvas), outlines (opml) and, with [Options].PDF, PDF. Each may be
// gzip-compressed. Of plain texts whose names end with .org, .rst, .adoc, .tex, .srt or .vtt the
// markup is taken off, lightly.
//
// # Fields
//
// The values in [Document.Fields] are those of encoding/json (string, float64, bool, nil, []any,
// map[string]any), with one addition: a whole number beyond 2^53 is kept digit by digit as
// json.Number.
//
// A record keeps its fields as they are, without the one that holds its id. A whole-file document
// has title, text, path, modified (RFC 3339, where the source has a time), what its front matter
// says and the tags in its text (Markdown), lang and description (HTML), author, lang, description,
// tags, publisher and date (e-books), author, date and tags (Org), from, to, cc, date, attachments
// (their names) and attachment_ids (messages). A text that begins with its title as a heading, or
// as a first line before a blank one, holds it no more: the title stands in its own field. A first
// line that opens a letter, or is a message of a chat, is no title.
//
// # Files inside files
//
// Members of archives (zip, tar) are read as the files of a folder would be, with "!/" in their ids
// between the path of the archive and theirs. Files are read inside one another four deep.
//
// An attachment of a message is a document of its own, or many, as the file would be: its id is
// that of the message, "!/" and its name, that of a record in it has "#" and the record's own
// behind that. attached_to names the message, whose attachment_ids names the first 100 of them.
// What cannot be read is a warning about the message, which is found by the name. A message inside
// a message is part of its text.
//
// Of a web page the main text is read, without menus, teasers and footers, unless too little of it
// is such ([Options].WholePages). Messages, chapters of e-books and notes are read whole.
//
// # Blocks
//
// [Document].Blocks gives the structure of a text: headings with their levels, paragraphs, items of
// lists, tables with their headers, code with its language, quotations, and the numbers of pages
// and slides. Markdown, HTML, notebooks, e-books, PDF, documents of office programs, Org,
// reStructuredText and AsciiDoc have them.
//
// # Pictures
//
// With [Options].OCR, and that of package extract/pdf, the text of pictures and of scanned pages is
// recognised; see package extract/ocr.
//
// # Trust
//
// Input is untrusted. Each line, record, file and decompressed stream has a limit, parsers have a
// time budget, folders are read without following symbolic links, and only regular files are
// opened. Memory is bounded by MaxLine for record formats and by a small multiple of MaxFile for
// whole-file formats and mailboxes, whatever the input. An archive may unpack to MaxUnpacked bytes,
// with all that is in it, and to MaxRatio times its size.
package extract
