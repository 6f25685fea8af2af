package extract

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/office"
)

// Properties of messages of Outlook ([MS-OXPROPS]).
const (
	msgSubject       = 0x0037
	msgSubmitted     = 0x0039
	msgSentByName    = 0x0042
	msgSentByAddress = 0x0065
	msgHeaders       = 0x007d
	msgRecipientKind = 0x0c15
	msgSenderName    = 0x0c1a
	msgSenderAddress = 0x0c1f
	msgCc            = 0x0e03
	msgTo            = 0x0e04
	msgDelivered     = 0x0e06
	msgBody          = 0x1000
	msgRTF           = 0x1009
	msgHTML          = 0x1013
	msgName          = 0x3001
	msgAddress       = 0x3003
	msgSMTP          = 0x39fe
	msgData          = 0x3701
	msgShortName     = 0x3704
	msgLongName      = 0x3707
	msgType          = 0x370e
	msgCharset       = 0x3fde
	msgCodePage      = 0x3ffd
	msgSenderSMTP    = 0x5d01
	msgHidden        = 0x7ffe
)

// msg reads a message of Outlook ([MS-OXMSG]) like eml.
func (x *source) msg(b []byte) (content.Content, error) {
	f, err := office.OpenOLE(b)
	if err != nil && isLetter(b) { // of another program
		x.format = EML
		return x.eml(b)
	}
	if err != nil {
		return content.Content{}, x.Reject("not a message of Outlook: %v", err)
	}
	if !f.Has("__properties_version1.0") {
		return content.Content{}, x.Reject("not a message of Outlook: it has no properties")
	}
	if x.docID == "" && x.id == "" {
		x.docID = bytesID(b, "")
	}
	id := x.docID
	if id == "" {
		id = wholeID(x.id)
	}
	m := msgReader{mailReader: mailReader{x: x, start: time.Now(), id: id, names: insideNames{}}, f: f}
	c, _, err := m.message("", 0)
	if errors.Is(err, content.ErrTooLong) {
		return content.Content{}, x.Reject("%v of %d bytes", err, x.o.MaxText)
	}
	return c, err
}

type msgReader struct {
	mailReader
	f *office.OLE
}

// properties are those of a message, a recipient or an attachment, in a storage.
type properties struct {
	f    *office.OLE
	path string // of the storage, with a slash, or empty
	page int    // of strings
	web  int    // of HTML
	head int    // bytes in front of the fixed ones
}

func (p properties) stream(id int, kind string) []byte {
	return p.f.Stream(fmt.Sprintf("%s__substg1.0_%04X%s", p.path, id, kind))
}

// fixed returns a property of fixed length.
func (p properties) fixed(id int) (uint64, bool) {
	b := p.f.Stream(p.path + "__properties_version1.0")
	for at := p.head; at+16 <= len(b); at += 16 {
		if int(binary.LittleEndian.Uint16(b[at+2:])) == id {
			return binary.LittleEndian.Uint64(b[at+8:]), true
		}
	}
	return 0, false
}

// text returns the first of the properties that exists.
func (p properties) text(ids ...int) string {
	for _, id := range ids {
		if b := p.stream(id, "001F"); b != nil {
			return content.CodePage(b, 1200)
		}
		if b := p.stream(id, "001E"); b != nil {
			page := p.page
			if page == 65001 && !utf8.Valid(b) { // the page of the mail, not of the properties
				page = 1252
			}
			return content.CodePage(b, page)
		}
	}
	return ""
}

func (p properties) line(ids ...int) string { return strings.Join(strings.Fields(p.text(ids...)), " ") }

// time returns the first of the properties that is a time.
func (p properties) time(ids ...int) (t time.Time, ok bool) {
	for _, id := range ids {
		if v, ok := p.fixed(id); ok && v > 0 && v < 1<<62 {
			const since1601 = 11644473600 // seconds, of 1970
			return time.Unix(int64(v/1e7)-since1601, 0).UTC(), true
		}
	}
	return t, false
}

// person formats a name with its address.
func person(name, address string) string {
	switch {
	case !strings.Contains(address, "@"), address[0] == '/', name == address: // else one of Exchange, which says nothing
		return name
	case name == "":
		return address
	}
	return name + " <" + address + ">"
}

// message reads the message in the storage at path. head is the headers that mail programs show.
func (m *msgReader) message(path string, depth int) (c content.Content, head []string, err error) {
	p := properties{f: m.f, path: path, page: 1252, head: 32}
	if path != "" {
		p.head = 24
	}
	for _, id := range []int{msgCharset, msgCodePage} {
		if v, ok := p.fixed(id); ok && uint32(v) != 1200 && uint32(v) > 0 {
			if p.page = int(uint32(v)); id == msgCharset {
				p.web = p.page
			}
		}
	}
	p.web = cmp.Or(p.web, p.page)
	text, err := m.body(p)
	if err != nil {
		return content.Content{}, nil, err
	}
	fields := map[string]string{
		"from": person(p.line(msgSenderName, msgSentByName), p.line(msgSenderSMTP, msgSenderAddress, msgSentByAddress)),
		"to":   p.line(msgTo), "cc": p.line(msgCc),
	}
	m.receivers(p, fields)
	var inner []string
	for _, name := range m.storages(path, "__attach_version1.0_") {
		s, err := m.attached(properties{f: m.f, path: name + "/", page: p.page, head: 8}, depth)
		if err != nil {
			return content.Content{}, nil, err
		}
		if content.HasText(s) {
			inner = append(inner, s)
		}
	}
	text = strings.TrimSpace(strings.Join(append([]string{strings.TrimSpace(text)}, inner...), "\n\n"))
	if int64(len(text)) > m.x.o.MaxText {
		return content.Content{}, nil, content.ErrTooLong
	}
	c = m.content(text, p.line(msgSubject))
	for _, name := range []string{"from", "to", "cc"} {
		if v := fields[name]; v != "" {
			c.Fields[name] = v
			head = append(head, strings.ToUpper(name[:1])+name[1:]+": "+v)
		}
	}
	if t, ok := p.time(msgSubmitted, msgDelivered); ok {
		setDate(&c, t)
		head = append(head, "Date: "+t.Format(time.RFC3339))
	}
	return c, head, nil
}

// storages returns the sorted paths of the storages below path whose names begin with prefix.
func (m *msgReader) storages(path, prefix string) []string {
	var all []string
	for _, name := range m.f.Names {
		if rest, ok := strings.CutPrefix(name, path); ok && len(rest) > len(prefix) && strings.EqualFold(rest[:len(prefix)], prefix) && !strings.Contains(rest, "/") && len(all) < maxParts {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// receivers adds addresses to the names of recipients.
func (m *msgReader) receivers(p properties, fields map[string]string) {
	all := map[string][]string{}
	for _, name := range m.storages(p.path, "__recip_version1.0_") {
		r := properties{f: m.f, path: name + "/", page: p.page, head: 8}
		kind, _ := r.fixed(msgRecipientKind)
		field := map[uint32]string{1: "to", 2: "cc"}[uint32(kind)]
		if s := person(r.line(msgName), r.line(msgSMTP, msgAddress)); field != "" && s != "" {
			all[field] = append(all[field], s)
		}
	}
	for field, list := range all {
		fields[field] = strings.Join(list, ", ")
	}
}

// body returns the text of a message: plain or from HTML, else from RTF.
func (m *msgReader) body(p properties) (string, error) {
	plain := strings.TrimSpace(withoutArmor(content.Newlines(p.text(msgBody))))
	rich := ""
	html := p.text(msgHTML)
	if b := p.stream(msgHTML, "0102"); b != nil {
		html = content.CodePage(b, p.web)
	}
	if html != "" {
		s, err := m.html(strings.ReplaceAll(html, "\x00", "\ufffd"))
		if err != nil {
			return "", err
		}
		rich = s
	}
	if !content.HasText(plain) && !content.HasText(rich) {
		if b := unpackRTF(p.stream(msgRTF, "0102"), m.x.o.MaxText); len(b) > 0 {
			f := m.x.File
			f.Report = func(int, bool, string) error { return nil } // an error means no more than that there is no text
			c, err := office.RTF(&f, b)
			if errors.Is(err, content.ErrReported) {
				return "", nil
			}
			return strings.TrimSpace(c.Text), err
		}
	}
	return alternative(plain, rich), nil
}

// attached reads an attachment, and returns the text of an attached message.
func (m *msgReader) attached(p properties, depth int) (string, error) {
	if err := m.x.Ended(); err != nil {
		return "", err
	}
	if m.parts++; m.parts > maxParts || content.BudgetSpent(m.start) != nil {
		return "", nil
	}
	if inner := fmt.Sprintf("%s__substg1.0_%04X000D/", p.path, msgData); m.f.Has(inner + "__properties_version1.0") {
		if depth >= maxInside {
			return "", nil
		}
		c, head, err := m.message(inner, depth+1)
		all := slices.DeleteFunc([]string{c.Title, strings.Join(head, "\n"), c.Text}, func(s string) bool { return s == "" })
		return strings.Join(all, "\n\n"), err
	}
	data := p.stream(msgData, "0102")
	if hidden, _ := p.fixed(msgHidden); data == nil || hidden&1 != 0 { // a picture of the text
		return "", nil
	}
	kind := strings.ToLower(p.line(msgType))
	if strings.HasSuffix(kind, "-signature") {
		return "", nil
	}
	return "", m.attachment(p.line(msgLongName, msgShortName, msgName), kind, bytes.NewReader(data))
}

// rtfStart is the initial dictionary of compressed RTF ([MS-OXRTFCP]).
const rtfStart = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// unpackRTF decompresses RTF to at most limit bytes; nil if it is invalid.
func unpackRTF(b []byte, limit int64) []byte {
	if len(b) < 16 {
		return nil
	}
	size := int(min(int64(binary.LittleEndian.Uint32(b[4:])), limit))
	switch in := b[16:]; binary.LittleEndian.Uint32(b[8:]) {
	case 0x414c454d: // MELA: it is not compressed
		return in[:min(size, len(in))]
	case 0x75465a4c: // LZFu
		dictionary := make([]byte, 4096)
		at := copy(dictionary, rtfStart)
		var out []byte
		put := func(c byte) {
			out = append(out, c)
			dictionary[at] = c
			at = (at + 1) % len(dictionary)
		}
		for len(in) > 0 && len(out) < size {
			control := in[0]
			in = in[1:]
			for bit := 0; bit < 8 && len(in) > 0; bit++ {
				if control>>bit&1 == 0 {
					put(in[0])
					in = in[1:]
					continue
				}
				if len(in) < 2 {
					return out
				}
				ref := int(in[0])<<8 | int(in[1])
				in = in[2:]
				from := ref >> 4
				if from == at {
					return out
				}
				for i := range ref&15 + 2 {
					put(dictionary[(from+i)%len(dictionary)])
				}
			}
		}
		return out[:min(len(out), size)]
	}
	return nil
}
