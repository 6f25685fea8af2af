package extract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readJSON reads objects: one per line, in an array, or one after another over several lines.
func (x *source) readJSON(br *bufio.Reader) error {
	x.Decoder.Strict = true // RFC 8259: JSON is UTF-8
	blank, first, err := firstLine(br)
	if err != nil && !errors.Is(err, io.EOF) {
		return x.Errorf(blank+1, "cannot be read: %v", err)
	}
	if len(first) == 0 {
		return x.Warnf(0, "no records")
	}
	// A .json file has lines if its first line is complete; other files unless it is a lone
	// bracket.
	byLine := string(bytes.TrimSpace(first)) != "{"
	if x.Ext() == ".json" {
		byLine = json.Valid(first)
	}
	switch {
	case first[0] == '[':
		return x.readJSONValues(&valueReader{r: br, limit: x.o.MaxLine, line: blank + 1, array: true})
	case byLine:
		return x.readJSONLines(&lineReader{r: br, limit: x.o.MaxLine, line: blank})
	}
	return x.readJSONValues(&valueReader{r: br, limit: x.o.MaxLine, line: blank + 1})
}

// firstLine skips white space and returns the number of its line ends, and the next line as far as
// it is buffered. The line is empty at the end of the stream.
func firstLine(br *bufio.Reader) (blank int, line []byte, err error) {
	for {
		c, err := br.ReadByte()
		if err != nil {
			return blank, nil, err
		}
		if c == '\n' {
			blank++
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			_ = br.UnreadByte() // cannot fail after ReadByte
			break
		}
	}
	for {
		b, _ := br.Peek(br.Buffered())
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return blank, b[:i], nil
		}
		if _, err := br.Peek(len(b) + 1); err != nil { // the end, a full buffer, or an error that comes again
			return blank, b, nil
		}
	}
}

func (x *source) readJSONLines(l *lineReader) error {
	for {
		line, size, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errNUL):
			return x.Errorf(l.line, "%v; the rest of the file is not read", err)
		case err != nil:
			return x.Errorf(l.line+1, "cannot be read: %v", err)
		case line == nil:
			err = x.Errorf(l.line, "line of %d bytes is longer than the limit of %d", size, x.o.MaxLine)
		case bytes.IndexByte(line, 0) >= 0:
			if x.stats.Documents == 0 {
				return x.Errorf(l.line, "%v, not JSON", errNUL)
			}
			err = x.Errorf(l.line, "%v, not JSON", errNUL)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			err = x.jsonRecord(l.line, line)
		}
		if err != nil {
			return err
		}
	}
}

func (x *source) readJSONValues(v *valueReader) error {
	for {
		value, size, line, err := v.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return x.Errorf(line, "%v", err)
		case value == nil:
			err = x.Errorf(line, "value of %d bytes is longer than the limit of %d", size, x.o.MaxLine)
		default:
			err = x.jsonRecord(line, value)
		}
		if err != nil {
			return err
		}
	}
}

func (x *source) jsonRecord(line int, b []byte) error {
	s, err := x.Text(line, b)
	if err != nil {
		return err
	}
	fields, err := decodeObject(s)
	if err != nil {
		return x.Errorf(line, "%v", err)
	}
	return x.record(line, fields)
}

// decodeObject decodes one JSON object without repeated members. Numbers become float64, except
// whole numbers that float64 would change.
func decodeObject(s string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("not valid JSON at byte %d: %v", syntax.Offset, err)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			return nil, fmt.Errorf("not valid JSON: it ends too early, at byte %d", len(s))
		}
		return nil, fmt.Errorf("not valid JSON: %v", err)
	}
	if rest := strings.TrimSpace(s[d.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("not valid JSON at byte %d: more text after the value", d.InputOffset()+1)
	}
	d = json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, got %s", jsonKind(v))
	}
	return fields, nil
}

// repeatedError is the error for a repeated member of the object at a JSON pointer.
type repeatedError struct{ name, at string }

func (e *repeatedError) Error() string {
	if e.at == "" {
		return fmt.Sprintf("member %.100q: given more than once", e.name)
	}
	return fmt.Sprintf("member %.100q in %.100s: given more than once", e.name, e.at)
}

// in prefixes the JSON pointer of err with a step.
func in(step string, err error) error {
	var repeated *repeatedError
	if errors.As(err, &repeated) {
		repeated.at = "/" + pointerEscape.Replace(step) + repeated.at
	}
	return err
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// decodeValue decodes the next value of d, which reads valid JSON.
func decodeValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	switch t := t.(type) {
	case json.Number:
		return convertNumber(t)
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := decodeValue(d)
				if err != nil {
					return nil, in(strconv.Itoa(len(list)), err)
				}
				list = append(list, v)
			}
			_, err = d.Token()
			return list, err
		}
		fields := map[string]any{}
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := t.(string)
			if _, ok := fields[name]; ok {
				return nil, &repeatedError{name: name}
			}
			v, err := decodeValue(d)
			if errors.Is(err, errRange) {
				return nil, fmt.Errorf("field %q: %w", name, err)
			}
			if err != nil {
				return nil, in(name, err)
			}
			fields[name] = v
		}
		_, err = d.Token()
		return fields, err
	}
	return t, err
}

var errRange = errors.New("out of range")

func convertNumber(n json.Number) (any, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("number %.40s is %w", n.String(), errRange)
	}
	if s := n.String(); len(s) > 15 && !strings.ContainsAny(s, ".eE") && strconv.FormatFloat(f, 'f', -1, 64) != s {
		return n, nil
	}
	return f, nil
}
