package extract

import (
	"encoding/json"
	"strings"
)

// notebook is what matters of a Jupyter notebook: its cells, which up to version 3 of the format lie in worksheets.
type notebook struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
}

type notebookCell struct {
	Kind   string       `json:"cell_type"`
	Source notebookText `json:"source"`
	Input  notebookText `json:"input"` // of code, up to version 3
}

// notebookText is a string, or a list of strings that are its lines with their ends.
type notebookText string

func (t *notebookText) UnmarshalJSON(b []byte) error {
	var lines []string
	if len(b) > 0 && b[0] == '[' {
		err := json.Unmarshal(b, &lines)
		*t = notebookText(strings.Join(lines, ""))
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// ipynb reads the text and the code of a Jupyter notebook, as Markdown; what the code has put out is left out.
func (x *source) ipynb(b []byte) (content, error) {
	s, err := x.text(0, b)
	if err != nil {
		return content{}, err
	}
	var n notebook
	if err := json.Unmarshal([]byte(s), &n); err != nil {
		return content{}, x.reject("not a notebook: %v", err)
	}
	cells := n.Cells
	for _, w := range n.Worksheets {
		cells = append(cells, w.Cells...)
	}
	var md strings.Builder
	for _, c := range cells {
		switch c.Kind {
		case "markdown", "heading":
			md.WriteString(string(c.Source) + "\n\n")
		case "code":
			fence := "```"
			for strings.Contains(string(c.Source+c.Input), fence) {
				fence += fence
			}
			md.WriteString(fence + "\n" + string(c.Source+c.Input) + "\n" + fence + "\n\n")
		}
	}
	return x.markdown([]byte(strings.ReplaceAll(md.String(), "\x00", "\ufffd")))
}
