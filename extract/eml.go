package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// maxParts is the number of parts of a message that are looked at.
const maxParts = 1000

// mailHeaders are the headers that become fields, by their names in lower case.
var mailHeaders = []string{"From", "To", "Cc"}

// eml reads a message as mail programs save it.
func (x *source) eml(b []byte) (content, error) {
	if extension(x.name) == ".emlx" {
		b = withoutCount(b)
	}
	c, _, why, err := x.message(b, 0)
	if why != "" {
		return content{}, x.reject("%s", why)
	}
	return c, err
}

// withoutCount takes off a message of Apple Mail the line in front of it, which says how long it is, and what stands behind it.
func withoutCount(b []byte) []byte {
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if !ok || err != nil || n < 0 {
		return b
	}
	return rest[:min(n, len(rest))]
}

// message reads a message: subject, sender, receivers, date, and the text of its parts. Of alternatives the plain text is read; of attachments
// the names, and messages. id is its Message-ID; why says that it is none. Warnings are of that line.
func (x *source) message(b []byte, line int) (c content, id, why string, err error) {
	if bytes.HasPrefix(b, []byte("From ")) { // of a mailbox
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	header, body, err := parseMessage(bytes.NewReader(b))
	if err != nil {
		return content{}, "", fmt.Sprintf("not a message: %v", err), nil
	}
	if header.Get("From") == "" && header.Get("Subject") == "" && header.Get("Date") == "" {
		return content{}, "", "not a message: it has neither From nor Subject nor Date", nil
	}
	if x.isSavedPage() {
		c, err := x.savedPage(header, body)
		return c, "", "", err
	}
	r := mailReader{x: x, start: time.Now(), line: line}
	text, err := r.part(header, body, 0)
	if errors.Is(err, errTextTooLong) {
		return content{}, "", fmt.Sprintf("%v of %d bytes", err, x.o.MaxText), nil
	}
	if err != nil {
		return content{}, "", "", err
	}
	c = content{title: r.header(header, "Subject"), text: strings.TrimSpace(text), fields: map[string]any{}}
	if c.title == "" {
		c.title = titleLine(c.text)
	}
	for _, name := range mailHeaders {
		if v := r.header(header, name); v != "" {
			c.fields[strings.ToLower(name)] = v
		}
	}
	if len(r.files) > 0 {
		c.fields["attachments"] = r.files
	}
	if t, err := header.Date(); err == nil && t.Year() > 0 && t.Year() < 10000 {
		c.fields["date"] = t.UTC().Format(time.RFC3339)
	}
	status, err := strconv.ParseUint(header.Get("X-Mozilla-Status"), 16, 16)
	c.deleted = err == nil && status&expunged != 0
	return c, r.header(header, "Message-Id"), "", nil
}

// expunged is the bit of Thunderbird's X-Mozilla-Status of a message that was deleted, or moved to another mailbox, and is in the file until
// that is compacted.
const expunged = 8

// headerLine is a line of the head of a message that is right: a header, or more of one.
var headerLine = regexp.MustCompile(`^([\w.-]+:|[ \t])`)

// maxHead is the length in bytes of the head of a message.
const maxHead = 1 << 20

var (
	errHead        = fmt.Errorf("its head is longer than %d bytes", maxHead)
	errTextTooLong = errors.New("its text is longer than the limit")
)

// parseMessage takes a message apart. Where that fails it passes over what is no header in its head, as mailboxes and old programs left it.
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

type mailReader struct {
	x     *source
	start time.Time
	parts int
	line  int   // of warnings
	files []any // names of the attachments
}

// header returns a header as text on one line.
func (r *mailReader) header(h mail.Header, name string) string { return headerText(h.Get(name)) }

func headerText(s string) string {
	words := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	v, _ := new(decoder).text([]byte(s))
	if s, err := words.DecodeHeader(v); err == nil {
		v = s
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ToValidUTF8(v, "\ufffd"), "\x00", "\ufffd")), " ")
}

// untransferred undoes what was done to the body of a part for its way.
func untransferred(h mail.Header, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, body)
	}
	return body
}

// part returns the text of a message or of a part of it.
func (r *mailReader) part(h mail.Header, body io.Reader, depth int) (string, error) {
	if err := r.x.ended(); err != nil {
		return "", err
	}
	if r.parts++; r.parts > maxParts || depth > maxNesting || budgetSpent(r.start) != nil {
		return "", nil
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && kind == "" || kind == "text" { // as before MIME
		kind = "text/plain"
	}
	disposition, named, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	attached := disposition == "attachment" && kind != "message/rfc822"
	if name := headerText(cmp.Or(named["filename"], params["name"])); attached || !shownInside(kind) {
		r.attachment(name, kind)
	}
	if attached {
		return "", nil
	}
	if strings.HasPrefix(kind, "multipart/") {
		return r.multi(kind, params["boundary"], body, depth)
	}
	body = untransferred(h, body)
	switch kind {
	case "message/rfc822":
		h, body, err := parseMessage(body)
		if err != nil {
			return "", nil
		}
		text, err := r.part(h, body, depth+1)
		return strings.TrimSpace(r.header(h, "Subject") + "\n\n" + text), err
	case "text/plain", "text/html":
	default:
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(body, r.x.o.MaxText+1))
	switch {
	case int64(len(b)) > r.x.o.MaxText:
		return "", errTextTooLong
	case err != nil && len(b) == 0:
		return "", nil
	}
	s := ""
	bad, multi := scanUTF8(b)
	if enc, name := charset.Lookup(params["charset"]); enc != nil && !(name == "windows-1252" && bad == 0 && multi > 0) { // which says ASCII or Latin-1 by habit
		s, err = decodeAll(b, enc)
	}
	if s == "" || err != nil {
		if s, err = r.x.text(r.line, b); err != nil {
			return "", err
		}
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	if kind == "text/plain" {
		return strings.TrimSpace(withoutArmor(newlines(s))), nil
	}
	w, err := r.x.readHTML(s, htmlWriter{mail: true})
	if err != nil {
		return "", err
	}
	return w.out.String(), nil
}

const (
	maxAttachments    = 100
	maxAttachmentName = 255 // bytes
)

// shownInside reports whether parts of that type are part of what is read of a message: its text, and the pictures in it.
func shownInside(kind string) bool {
	front, _, _ := strings.Cut(kind, "/")
	return front == "text" || front == "image" || front == "multipart" || front == "message"
}

// attachment remembers the name of an attachment; signatures have one, too, which says nothing.
func (r *mailReader) attachment(name, kind string) {
	if valueHasText(name) && len(name) <= maxAttachmentName && len(r.files) < maxAttachments && !strings.HasSuffix(kind, "-signature") {
		r.files = append(r.files, name)
	}
}

// What a text may hold that is not for people: files in uuencode, and signatures, keys and ciphers of PGP.
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

// multi returns the text of the parts of a multipart: of alternatives the first that has any, where the plain one comes first; else of all.
func (r *mailReader) multi(kind, boundary string, body io.Reader, depth int) (string, error) {
	if boundary == "" {
		return "", nil
	}
	var texts []string
	for parts := multipart.NewReader(body, boundary); ; {
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
		if valueHasText(text) {
			texts = append(texts, text)
		}
		if kind == "multipart/alternative" && len(texts) > 0 {
			break
		}
	}
	return strings.Join(texts, "\n\n"), nil
}
