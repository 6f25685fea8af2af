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
	// A .json file is lines only if its first line is complete; any other one unless that line is a
	// lone bracket.
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

// firstLine passes over white space and returns the number of line ends in it and, without reading
// on, the first line that follows: all of it, or as much as the buffer holds. It is empty at the
// end of the stream.
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

// jsonRecord emits the document of one JSON object.
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

// decodeObject decodes exactly one JSON object, which names no member twice.
func decodeObject(s string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
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
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, got %s", jsonKind(v))
	}
	if err := repeated(s, fields); err != nil {
		return nil, err
	}
	if err := convertNumbers(fields); err != nil {
		return nil, err
	}
	return fields, nil
}

// convertNumbers replaces each json.Number in v, a map or a slice, by a float64, except whole
// numbers that a float64 would change.
func convertNumbers(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if n, ok := e.(json.Number); ok {
				c, err := convertNumber(n)
				if err != nil {
					return fmt.Errorf("field %q: %w", k, err)
				}
				v[k] = c
			} else if err := convertNumbers(e); err != nil {
				return err
			}
		}
	case []any:
		for i, e := range v {
			if n, ok := e.(json.Number); ok {
				c, err := convertNumber(n)
				if err != nil {
					return err
				}
				v[i] = c
			} else if err := convertNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func convertNumber(n json.Number) (any, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("number %.40s is out of range", n.String())
	}
	if s := n.String(); len(s) > 15 && !strings.ContainsAny(s, ".eE") && strconv.FormatFloat(f, 'f', -1, 64) != s {
		return n, nil
	}
	return f, nil
}
