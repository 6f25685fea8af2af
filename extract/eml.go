package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"

	"golang.org/x/net/html/charset"
)

// maxParts is the number of parts of a message that are read, maxPartDepth how deep they may nest.
const maxParts, maxPartDepth = 1000, 16

// mailHeaders are the headers that become fields.
var mailHeaders = []string{"From", "To", "Cc"}

func (x *source) eml(b []byte) (content.Content, error) {
	if x.Ext() == ".emlx" {
		b = withoutCount(b)
	}
	if x.docID == "" && x.id == "" {
		x.docID = bytesID(b, "")
	}
	c, _, why, err := x.message(b, 0, cmp.Or(x.docID, wholeID(x.id)))
	if why != "" {
		return content.Content{}, x.Reject("%s", why)
	}
	return c, err
}

// bytesID returns a hash of a message and the path of its file.
func bytesID(b []byte, path string) string {
	sum := sha256.New()
	sum.Write(b) // never fails
	io.WriteString(sum, path)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// withoutCount removes the byte count in front of an Apple Mail message, and what follows the
// message.
func withoutCount(b []byte) []byte {
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if !ok || err != nil || n < 0 {
		return b
	}
	return rest[:min(n, len(rest))]
}

// message reads a message and its attachments. An empty id becomes the Message-ID, or a hash. why
// is the reason if it is no message. Warnings are reported at that line.
func (x *source) message(b []byte, line int, id string) (c content.Content, _, why string, err error) {
	if bytes.HasPrefix(b, []byte("From ")) { // of a mailbox
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	header, body, err := parseMessage(bytes.NewReader(b))
	if err != nil {
		return content.Content{}, "", fmt.Sprintf("not a message: %v", err), nil
	}
	if !hasMailHeader(header) {
		return content.Content{}, "", "not a message: it has neither From nor Subject nor Date", nil
	}
	if x.isSavedPage() {
		c, err := x.savedPage(header, body)
		return c, "", "", err
	}
	status, err := strconv.ParseUint(header.Get("X-Mozilla-Status"), 16, 16)
	if err == nil && status&expunged != 0 {
		return content.Content{}, "", deletedMessage, nil
	}
	if id == "" {
		id = strings.Trim(headerText(header.Get("Message-Id")), "<> ")
	}
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, notInID) {
		id = bytesID(b, x.id)
	}
	r := mailReader{x: x, start: time.Now(), line: line, id: id, names: insideNames{}}
	text, err := r.part(header, body, 0)
	if errors.Is(err, content.ErrTooLong) {
		return content.Content{}, "", fmt.Sprintf("%v of %d bytes", err, x.o.MaxText), nil
	}
	if err != nil {
		return content.Content{}, "", "", err
	}
	c = r.content(text, headerText(header.Get("Subject")))
	for _, name := range mailHeaders {
		if v := headerText(header.Get(name)); v != "" {
			c.Fields[strings.ToLower(name)] = v
		}
	}
	if t, err := header.Date(); err == nil {
		setDate(&c, t)
	} else if s := headerText(header.Get("Date")); s != "" {
		c.Set("date", content.StandardTime(s)) // what is no date is reported
	}
	return c, id, "", nil
}

// content returns the content without fields from headers.
func (r *mailReader) content(text, subject string) content.Content {
	c := content.Content{Title: subject, Text: strings.TrimSpace(text), Fields: map[string]any{}}
	if c.Title == "" {
		c.Title = content.TitleLine(c.Text)
	}
	if len(r.files) > 0 {
		c.Fields["attachments"] = r.files
	}
	if len(r.linked) > 0 {
		c.Fields["attachment_ids"] = r.linked
	}
	return c
}

// setDate sets the date of a message if it has four digits in its year.
func setDate(c *content.Content, t time.Time) {
	if t.Year() > 0 && t.Year() < 10000 {
		c.Fields["date"] = t.UTC().Format(time.RFC3339)
	}
}

// expunged is the bit of X-Mozilla-Status that Thunderbird sets on messages that were deleted or
// moved and not yet removed.
const expunged = 8

// deletedMessage is the reason for not reading an expunged message.
const deletedMessage = "deleted from its mailbox"

// headerLine matches a valid line of a message head.
var headerLine = regexp.MustCompile(`^([\w.-]+:|[ \t])`)

const maxHead = 1 << 20

var (
	errHead = fmt.Errorf("its head is longer than %d bytes", maxHead)
)

// parseMessage splits a message into head and body. It ignores invalid lines of the head, which
// mailboxes and old programs contain.
func parseMessage(in io.Reader) (mail.Header, io.Reader, error) {
	body := bufio.NewReader(in)
	var head []byte
	for {
		line, err := body.ReadSlice('\n')
		whole := err == nil
		if blank := len(bytes.Trim(line, "\r\n")) == 0; !blank || len(head) > 0 {
			head = append(head, line...)
			if blank && whole && bytes.HasSuffix(head[:len(head)-len(line)], []byte("\n")) {
				break
			}
		}
		if len(head) > maxHead {
			return nil, nil, errHead
		}
		if !whole && err != bufio.ErrBufferFull {
			head = append(head, "\r\n\r\n"...)
			break // also where the message ends early
		}
	}
	m, err := mail.ReadMessage(bytes.NewReader(head))
	if err == nil && len(m.Header) > 0 {
		return m.Header, body, nil
	}
	var right []byte
	for line := range bytes.Lines(head) {
		if headerLine.Match(line) && (len(right) > 0 || line[0] != ' ' && line[0] != '\t') {
			right = append(right, line...)
		}
	}
	if len(right) == 0 && err != nil {
		return nil, nil, err
	}
	m, err = mail.ReadMessage(bytes.NewReader(append(right, "\r\n"...)))
	if err != nil {
		return nil, nil, err
	}
	return m.Header, body, nil
}

// mailReader reads the parts of one message.
type mailReader struct {
	x      *source
	start  time.Time
	parts  int
	line   int    // of warnings
	id     string // of the message's document
	files  []any  // names of the attachments
	read   int    // how many of them were read
	linked []any  // ids of their documents
	names  insideNames
	dates  map[[32]byte]bool // calendars that were read: an invitation has the same one twice

	encrypted bool // which was reported
}

func headerText(s string) string {
	words := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	v, _ := new(content.Decoder).Text([]byte(s))
	if s, err := words.DecodeHeader(v); err == nil {
		v = s
	}
	return content.OneLine(strings.ReplaceAll(strings.ToValidUTF8(v, "\ufffd"), "\x00", "\ufffd"))
}

// untransferred decodes the transfer encoding of a part.
func untransferred(h mail.Header, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "quoted-printable":
		return quotedPrintable{bufio.NewReader(body)}
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, base64Only{body})
	}
	return body
}

// part returns the text of a message or a part, and reads its attachments.
func (r *mailReader) part(h mail.Header, body io.Reader, depth int) (string, error) {
	if err := r.x.Ended(); err != nil {
		return "", err
	}
	if r.parts++; r.parts > maxParts || depth > maxPartDepth || content.BudgetSpent(r.start) != nil {
		return "", nil
	}
	kind, params := partKind(h)
	disposition, named, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := headerText(cmp.Or(named["filename"], params["name"]))
	attached := disposition == "attachment"
	front, _, _ := strings.Cut(kind, "/")
	switch {
	case front == "multipart" && !attached:
		if kind == "multipart/encrypted" {
			if err := r.sealed("PGP"); err != nil {
				return "", err
			}
		}
		return r.multi(kind, params["boundary"], body, depth)
	case isSMIME(kind, name):
		return r.enveloped(h, body, depth)
	case kind == "message/partial":
		if err := r.x.Warnf(r.line, "part %.10s of a message that was sent in pieces; of others than the first nothing is read", cmp.Or(params["number"], "?")); err != nil || params["number"] != "1" {
			return "", err
		}
		return r.within(body, depth)
	case kind == "message/rfc822" || kind == "message/global" || kind == "message/news" || strings.HasSuffix(strings.ToLower(name), ".eml"):
		return r.within(untransferred(h, body), depth)
	case !attached && (kind == "text/plain" || kind == "text/html"):
		return r.text(kind, params, untransferred(h, body))
	case kind == "text/enriched" || kind == "text/richtext": // tags like those of HTML
		return r.text("text/html", params, untransferred(h, body))
	case !attached && name == "" && front == "text" && extensions[kind] == "" && !strings.HasSuffix(kind, "html"),
		kind == "message/delivery-status", kind == "message/disposition-notification", kind == "message/feedback-report":
		return r.text("text/plain", params, untransferred(h, body))
	case front == "image" && !attached: // it is part of the text
		return "", nil
	case front == "message", strings.HasSuffix(kind, "-signature"), kind == "application/pgp-encrypted":
		return "", nil
	}
	return "", r.attachment(name, kind, untransferred(h, body))
}

func partKind(h mail.Header) (string, map[string]string) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && kind == "" || plainKinds[kind] {
		return "text/plain", params
	}
	return kind, params
}

// within returns the text of a forwarded message, with its subject and main headers.
func (r *mailReader) within(body io.Reader, depth int) (string, error) {
	h, body, err := parseMessage(body)
	if err != nil {
		return "", nil
	}
	text, err := r.part(h, body, depth+1)
	var lines []string
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if v := headerText(h.Get(name)); v != "" {
			lines = append(lines, name+": "+v)
		}
	}
	all := slices.DeleteFunc([]string{headerText(h.Get("Subject")), strings.Join(lines, "\n"), text}, func(s string) bool { return s == "" })
	return strings.TrimSpace(strings.Join(all, "\n\n")), err
}

// text returns the text of a part of text.
func (r *mailReader) text(kind string, params map[string]string, body io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(body, r.x.o.MaxText+1))
	switch {
	case int64(len(b)) > r.x.o.MaxText:
		return "", content.ErrTooLong
	case err != nil && len(b) == 0:
		return "", nil
	}
	s := ""
	if enc, name := charset.Lookup(params["charset"]); enc != nil && name != "utf-8" && !content.IsUTF8(b, name) {
		s, err = content.Decode(b, enc)
	}
	if s == "" || err != nil {
		if s, err = r.x.Text(r.line, b); err != nil {
			return "", err
		}
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	if kind == "text/plain" {
		s = content.Newlines(s)
		if strings.EqualFold(params["format"], "flowed") {
			s = unflowed(s, strings.EqualFold(params["delsp"], "yes"))
		}
		if strings.Contains(s, "-----BEGIN PGP MESSAGE-----") {
			if err := r.sealed("PGP"); err != nil {
				return "", err
			}
		}
		return strings.TrimSpace(withoutArmor(s)), nil
	}
	return r.html(s)
}

func (r *mailReader) html(s string) (string, error) {
	return web.Text(&r.x.File, s, web.Options{Mail: true})
}

// unflowed joins the lines of format=flowed text (RFC 3676): a line that ends with a space
// continues on the next one of the same quote depth.
func unflowed(s string, deleteSpace bool) string {
	var out strings.Builder
	flows, quotes := false, 0 // of the line before
	for line := range strings.SplitSeq(s, "\n") {
		text := strings.TrimLeft(line, ">")
		depth := len(line) - len(text)
		text = strings.TrimPrefix(text, " ") // which the sender has put there
		signature := text == "-- "
		if !flows || depth != quotes || signature {
			if out.Len() > 0 || flows {
				out.WriteByte('\n')
			}
			if depth > 0 {
				out.WriteString(strings.Repeat(">", depth) + " ")
			}
		}
		if flows, quotes = strings.HasSuffix(text, " ") && !signature, depth; flows && deleteSpace {
			text = text[:len(text)-1]
		}
		out.WriteString(text)
	}
	return out.String()
}

// Parts of texts that are not for people: uuencoded files, and signatures, keys and ciphers of PGP.
var (
	uuencoded = regexp.MustCompile("(?m)^begin [0-7]{3,4} \\S.*\n(?:[!-`][ -`]{0,61}\n)+ ?\n?end$\n?")
	armored   = regexp.MustCompile(`(?ms)^-----BEGIN PGP (?:SIGNATURE|MESSAGE|PUBLIC KEY BLOCK)-----$.*?^-----END PGP [A-Z ]+-----$\n?`)
	signed    = regexp.MustCompile(`(?m)^-----BEGIN PGP SIGNED MESSAGE-----\n(?:[A-Za-z]+: .*\n)*`)
)

func withoutArmor(s string) string {
	if strings.Contains(s, "begin ") {
		s = uuencoded.ReplaceAllLiteralString(s, "")
	}
	if strings.Contains(s, "-----BEGIN PGP ") {
		s = signed.ReplaceAllLiteralString(armored.ReplaceAllLiteralString(s, ""), "")
	}
	return s
}

// multi returns the text of all parts of a multipart, or of one alternative.
func (r *mailReader) multi(kind, boundary string, body io.Reader, depth int) (string, error) {
	in := bufio.NewReaderSize(body, bufferSize)
	head, headErr := in.Peek(bufferSize)
	if boundary == "" || !bytes.Contains(head, []byte("--"+boundary)) {
		switch other := boundaryIn(head); {
		case other != "":
			boundary = other
			if err := r.x.Warnf(r.line, "the boundary of its parts is not the one that its head names; read by %.100q, which is there", other); err != nil {
				return "", err
			}
		case headErr != nil: // that is all of it
			if err := r.x.Warnf(r.line, "no part begins with the boundary %.100q that its head names; read as one text", boundary); err != nil {
				return "", err
			}
			return r.text("text/plain", nil, in)
		}
	}
	var texts, plain, rich []string
	for parts := multipart.NewReader(in, boundary); ; {
		p, err := parts.NextRawPart()
		if err != nil { // also where the last boundary is missing
			break
		}
		h := mail.Header(p.Header)
		if kind == "multipart/digest" && h.Get("Content-Type") == "" {
			h["Content-Type"] = []string{"message/rfc822"}
		}
		text, err := r.part(h, p, depth+1)
		if err != nil {
			return "", err
		}
		if r.parts > maxParts {
			break
		}
		if !content.HasText(text) {
			continue
		}
		texts = append(texts, text)
		if kind, _ := partKind(h); kind == "text/plain" {
			plain = append(plain, text)
		} else {
			rich = append(rich, text)
		}
	}
	if kind == "multipart/alternative" && len(texts) > 0 {
		if len(rich) > 1 {
			rich = rich[len(rich)-1:] // the last is the best
		}
		return alternative(strings.Join(plain, "\n\n"), strings.Join(rich, "")), nil
	}
	return strings.Join(texts, "\n\n"), nil
}

// boundaryLine matches a line that begins a part.
var boundaryLine = regexp.MustCompile(`(?m)^--(\S(?:[^\r\n]{0,68}\S)?)[ \t]*\r?\nContent-[A-Za-z-]+:`)

// boundaryIn finds the boundary of a body whose head names none.
func boundaryIn(head []byte) string {
	if m := boundaryLine.FindSubmatch(head); m != nil {
		return string(m[1])
	}
	return ""
}

// alternative chooses the plain text of a message, unless most words of the other are missing in
// it, as in "your program cannot show HTML". If it also is much longer, both are kept.
func alternative(plain, rich string) string {
	if plain == "" || rich == "" {
		return plain + rich
	}
	in := map[string]bool{}
	for w := range words(plain) {
		in[w] = true
	}
	all, found := map[string]bool{}, 0
	for w := range words(rich) {
		if !all[w] && in[w] {
			found++
		}
		all[w] = true
	}
	switch {
	case 2*found >= len(all):
		return plain
	case len(in) > 2*len(all):
		return rich + "\n\n" + plain
	}
	return rich
}

func words(s string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}
