package notes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/searchd/extract/content"
)

// notebookReader reads the cells of a Jupyter notebook one by one. Up to version 3 of the format
// they are in worksheets.
type notebookReader struct {
	x  *content.File
	d  *json.Decoder
	md strings.Builder

	language string // of code
}

type notebookCell struct {
	Kind   string          `json:"cell_type"`
	Level  json.RawMessage `json:"level"` // of a heading, up to version 3
	Source notebookText    `json:"source"`
	Input  notebookText    `json:"input"` // of code, up to version 3
	Name   string          `json:"language"`
}

// notebookText is a string, or a list of strings that are its lines.
type notebookText string

func (t *notebookText) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(t))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var text strings.Builder
	_, err := d.Token()
	for err == nil && d.More() {
		var line string
		err = d.Decode(&line)
		text.WriteString(line)
	}
	*t = notebookText(text.String())
	return err
}

// passed is a JSON value that is ignored.
type passed struct{}

func (passed) UnmarshalJSON([]byte) error { return nil }

// Notebook reads the text and the code of a Jupyter notebook, as Markdown, without the output of
// the code.
func Notebook(x *content.File, b []byte) (content.Content, error) {
	if !utf8.Valid(b) {
		s, err := x.Text(0, b)
		if err != nil {
			return content.Content{}, err
		}
		b = []byte(s)
	}
	var head struct {
		Metadata struct {
			LanguageInfo struct{ Name string } `json:"language_info"`
			KernelSpec   struct{ Language string }
		}
	}
	_ = json.Unmarshal(b, &head) // what cannot be read is reported below
	language := cmp.Or(head.Metadata.LanguageInfo.Name, head.Metadata.KernelSpec.Language)
	r := notebookReader{x: x, d: json.NewDecoder(bytes.NewReader(b)), language: strings.ReplaceAll(content.OneLine(language), " ", "-")}
	if err := r.end(r.members("cells", "worksheets")); err != nil {
		if ended := x.Ended(); ended != nil {
			return content.Content{}, ended
		}
		return content.Content{}, x.Reject("not a notebook that can be read: %v", err)
	}
	return markdown(x, []byte(strings.ReplaceAll(r.md.String(), "\x00", "\ufffd")), false)
}

// members reads the members of an object that hold cells: cells, and worksheets unless it is empty.
func (r *notebookReader) members(cells, worksheets string) error {
	if err := r.open('{'); err != nil {
		return err
	}
	for r.d.More() {
		name, err := r.d.Token()
		switch {
		case err != nil:
		case name == cells:
			err = r.list(r.cell)
		case name == worksheets && worksheets != "":
			err = r.list(func() error { return r.members(cells, "") })
		default:
			err = r.d.Decode(&passed{})
		}
		if err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *notebookReader) list(each func() error) error {
	if err := r.open('['); err != nil {
		return err
	}
	for r.d.More() {
		if err := errors.Join(each(), r.x.Ended()); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *notebookReader) open(bracket json.Delim) error {
	t, err := r.d.Token()
	if err == nil && t != bracket {
		err = fmt.Errorf("got %v, want %v", t, bracket)
	}
	return err
}

func (r *notebookReader) cell() error {
	var c notebookCell
	if err := r.d.Decode(&c); err != nil {
		return err
	}
	switch code := string(c.Source + c.Input); c.Kind {
	case "heading":
		r.md.WriteString(strings.Repeat("#", min(max(1, content.Atoi(string(c.Level))), 6)) + " " + string(c.Source) + "\n\n")
	case "markdown", "raw": // a raw one may be front matter
		r.md.WriteString(string(c.Source) + "\n\n")
	case "code":
		fence := "```"
		for strings.Contains(code, fence) {
			fence += fence
		}
		language := cmp.Or(r.language, c.Name)
		if m := cellMagic.FindStringSubmatch(code); m != nil {
			language = m[1]
		}
		r.md.WriteString(fence + strings.Trim(language, "`\n ") + "\n" + code + "\n" + fence + "\n\n")
	}
	if int64(r.md.Len()) > r.x.MaxText {
		return fmt.Errorf("%w of %d bytes", content.ErrTooLong, r.x.MaxText)
	}
	return nil
}

// cellMagic matches the line that names another language for a cell.
var cellMagic = regexp.MustCompile(`^\s*%%(bash|sh|html|javascript|js|latex|markdown|perl|ruby|sql|svg|R)\b`)
