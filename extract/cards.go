package extract

import (
	"bufio"
	"errors"
	"io"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html/charset"
)

// cardKinds are the objects of vCard and iCalendar that are documents.
var cardKinds = map[string]bool{"VCARD": true, "VEVENT": true, "VTODO": true, "VJOURNAL": true}

// cardFields are the properties that become fields. Those marked as a list may occur several times.
var cardFields = map[string]struct {
	name string
	list bool
}{
	"email": {"email", true}, "tel": {"tel", true}, "adr": {"address", true}, "url": {"url", true}, "org": {"organization", false}, "title": {"job", false},
	"nickname": {"nickname", false}, "bday": {"birthday", false}, "categories": {"tags", true},
	"location": {"location", false}, "organizer": {"organizer", false}, "attendee": {"attendees", true}, "status": {"status", false},
}

// readCards reads contacts (vCard) and events, tasks and journals (iCalendar), one document each.
func (x *source) readCards(br *bufio.Reader) error {
	lines := lineReader{r: br, limit: x.o.MaxLine}
	c, all := &card{}, 0
	var property strings.Builder // which may go on in the next line
	at, cut, agent := 0, false, false
	end := func() error {
		name, params, value := cutProperty(property.String())
		property.Reset()
		tooLong, inAgent := cut, agent
		cut, agent = false, name == "agent" && value == "" // whose card follows
		switch kind := strings.ToUpper(value); {
		case name == "begin" && cardKinds[kind] && (c.kind == "" || !inAgent):
			before := c
			c, all = &card{kind: kind, line: at, fields: map[string]any{}, left: x.o.MaxText}, all+1
			if before.kind != "" {
				return x.Errorf(before.line, "the next one begins in line %d inside what begins here", at)
			}
		case c.kind == "":
		case name == "begin":
			c.begin(kind)
		case name == "end":
			if !c.end(kind) {
				return nil
			}
			done := c
			c = &card{}
			return x.card(done)
		case len(c.within) > 0:
		case tooLong && c.takes(name):
			return x.Errorf(at, "%s of more bytes than the limit of %d", strings.ToUpper(name), x.o.MaxLine)
		default:
			c.take(name, params, value)
		}
		return nil
	}
	for {
		b, size, err := lines.next()
		switch {
		case err == io.EOF:
			if err := end(); err != nil {
				return err
			}
			if c.kind != "" {
				return x.Errorf(c.line, "the file ends inside what begins here")
			}
			if all == 0 {
				return x.Errorf(0, "no contacts or appointments in it")
			}
			return nil
		case errors.Is(err, errNUL):
			return x.Errorf(lines.line, "%v, not %s", err, formatNouns[x.format])
		case err != nil:
			return x.Errorf(lines.line, "cannot be read: %v", err)
		case b == nil:
			if err := end(); err != nil {
				return err
			}
			property.WriteString("x:") // of which what follows in the next lines is a part
			if err := x.Errorf(lines.line, "line of %d bytes is longer than the limit of %d", size, x.o.MaxLine); err != nil {
				return err
			}
			continue
		}
		line, err := x.Text(lines.line, b)
		if err != nil {
			return err
		}
		line = strings.ReplaceAll(line, "\x00", "\ufffd")
		folded := line != "" && (line[0] == ' ' || line[0] == '\t')
		switch before := property.String(); {
		case int64(len(before)) > x.o.MaxLine:
			if folded {
				cut = true
				continue
			}
		case strings.HasSuffix(before, "=") && quotedText.MatchString(before[:min(len(before), 200)]):
			property.WriteString("\n" + strings.TrimLeft(line, " \t"))
			continue
		case folded:
			property.WriteString(line[1:])
			continue
		}
		if err := end(); err != nil {
			return err
		}
		property.WriteString(line)
		at = lines.line
	}
}

// quotedText matches a property in quoted-printable, as in vCard 2.1.
var quotedText = regexp.MustCompile(`(?i)^[^:]*;(?:ENCODING=)?QUOTED-PRINTABLE[;:]`)

// cutProperty splits a line: NAME;PARAM=VALUE:value. Names are lower-cased, without their group.
func cutProperty(line string) (name, params, value string) {
	quoted := false
	for i, r := range line {
		if r == '"' {
			quoted = !quoted
		}
		if r == ':' && !quoted {
			name, value = line[:i], line[i+1:]
			break
		}
	}
	name, params, _ = strings.Cut(name, ";")
	if quotedText.MatchString(line) {
		if b, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value))); err == nil {
			value = string(b)
			_, label, _ := strings.Cut(strings.ToLower(params), "charset=")
			label, _, _ = strings.Cut(label, ";")
			if enc, _ := charset.Lookup(label); enc != nil {
				if s, err := content.Decode(b, enc); err == nil {
					value = s
				}
			}
			value = strings.ReplaceAll(strings.ToValidUTF8(value, "\ufffd"), "\x00", "\ufffd")
		}
	}
	name = strings.ToLower(strings.TrimSpace(name))
	return name[strings.LastIndexByte(name, '.')+1:], params, strings.TrimSpace(value)
}

var cardEscape = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\:`, ":", `\\`, `\`)

// cardSplit cuts value at each sep that is not escaped.
func cardSplit(value string, sep byte) (parts []string) {
	from := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case sep:
			parts = append(parts, value[from:i])
			from = i + 1
		}
	}
	return append(parts, value[from:])
}

// card is a contact, an event, a task or a journal.
type card struct {
	kind, title, name string
	text              strings.Builder
	id, repeated      string
	line              int
	fields            map[string]any
	left              int64    // bytes that text and fields may still take; below 0: it is too long
	within            []string // the objects in it that are open, such as an alarm
}

const (
	maxCardList  = 1000 // values of one field
	maxCardDepth = 100  // objects in objects
)

func (c *card) begin(kind string) {
	if len(c.within) < maxCardDepth {
		c.within = append(c.within, kind)
	}
}

// end closes the innermost object of a kind, and reports whether that is the card.
func (c *card) end(kind string) bool {
	for i, k := range slices.Backward(c.within) {
		if k == kind {
			c.within = c.within[:i]
			return false
		}
	}
	return kind == c.kind
}

// takes reports whether a property is read.
func (c *card) takes(name string) bool {
	_, field := cardFields[name]
	return field || slices.Contains([]string{"fn", "summary", "n", "note", "description"}, name)
}

func (c *card) take(name, params, value string) {
	if value == "" || c.left < 0 {
		return
	}
	plain := cardEscape.Replace(value)
	switch name {
	case "fn", "summary":
		c.title = content.OneLine(plain)
	case "n": // family; given; more
		parts := cardSplit(value, ';')
		if len(parts) > 1 {
			parts[0], parts[1] = parts[1], parts[0]
		}
		c.name = strings.Join(strings.Fields(cardEscape.Replace(strings.Join(parts, " "))), " ")
	case "note", "description":
		if plain = strings.TrimSpace(plain); plain == "" {
			return
		}
		if c.text.Len() > 0 {
			c.text.WriteString("\n\n")
		}
		c.text.WriteString(plain)
		c.left -= int64(len(plain))
	case "uid":
		c.id = plain
	case "recurrence-id":
		c.repeated = plain
	case "dtstart", "due":
		if c.fields["date"] != nil { // looking for the zone of another costs much
			return
		}
		if date := cardTime(params, value); date != "" {
			c.fields["date"] = date
		}
	default:
		c.field(name, params, value)
	}
}

func (c *card) field(name, params, value string) {
	f, ok := cardFields[name]
	if !ok {
		return
	}
	values := []string{value}
	switch name {
	case "adr", "org":
		parts := slices.DeleteFunc(cardSplit(value, ';'), func(s string) bool { return strings.TrimSpace(s) == "" })
		values = []string{strings.Join(parts, ", ")}
	case "categories":
		values = cardSplit(value, ',')
	case "attendee", "organizer":
		values = []string{strings.TrimPrefix(strings.TrimPrefix(value, "mailto:"), "MAILTO:")}
		if cn := cardParam(params, "CN"); cn != "" {
			values[0] = cn + " <" + values[0] + ">"
		}
	}
	for _, v := range values {
		if v = strings.TrimSpace(cardEscape.Replace(v)); v == "" {
			continue
		}
		c.left -= int64(len(v))
		if !f.list {
			c.fields[f.name] = v
		} else if list, _ := c.fields[f.name].([]any); len(list) < maxCardList {
			c.fields[f.name] = append(list, v)
		}
	}
}

// cardTime returns a time, or a day if its time zone is unknown.
func cardTime(params, s string) string {
	if t, err := time.Parse("20060102T150405Z", s); err == nil {
		return t.Format(time.RFC3339)
	}
	if t, err := time.Parse("20060102T150405", s); err == nil {
		zone := cardParam(params, "TZID")
		if at, err := time.LoadLocation(zone); err == nil && zone != "" {
			return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, at).UTC().Format(time.RFC3339)
		}
		return t.Format(time.DateOnly)
	}
	if t, err := time.Parse("20060102", s); err == nil {
		return t.Format(time.DateOnly)
	}
	return ""
}

// cardParam returns a parameter of a property without quotes; empty if there is none.
func cardParam(params, name string) string {
	for params != "" {
		end, quoted := len(params), false
		for i := range len(params) {
			if params[i] == '"' {
				quoted = !quoted
			} else if params[i] == ';' && !quoted {
				end = i
				break
			}
		}
		if key, value, _ := strings.Cut(params[:end], "="); strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
		params = params[min(end+1, len(params)):]
	}
	return ""
}

func (x *source) card(c *card) error {
	if c.left < 0 {
		return x.Errorf(c.line, "%v of %d bytes", content.ErrTooLong, x.o.MaxText)
	}
	if c.title == "" {
		c.title = c.name
	}
	if c.title == "" {
		c.title, _ = c.fields["organization"].(string)
	}
	text := c.text.String()
	if !content.HasText(c.title) && !content.HasText(text) && len(c.fields) == 0 {
		return x.Errorf(c.line, "nothing to read between its begin and its end")
	}
	id := c.id
	if id != "" && c.repeated != "" {
		id += "/" + c.repeated
	}
	return x.entryDocument(c.line, id, c.title, text, c.fields)
}
