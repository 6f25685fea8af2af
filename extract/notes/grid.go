package notes

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// gridRule matches the lines between the rows of a grid table, as Pandoc and reStructuredText have
// it. That below the header is of '='.
var gridRule = regexp.MustCompile(`^ {0,3}\+(?:[-=:]{2,}\+)+[ \t]*$`)

// fenceLine matches a line that opens or closes a block of code.
var fenceLine = regexp.MustCompile("^ {0,3}(```+|~~~+)")

// withoutGrids makes the grid tables of a Markdown text tables of the usual kind, with a line for
// each row. Code keeps its lines.
func withoutGrids(body string) string {
	if !strings.Contains(body, "+--") && !strings.Contains(body, "+==") && !strings.Contains(body, "+:") {
		return body
	}
	var out strings.Builder
	lines := strings.SplitAfter(body, "\n")
	fence := ""
	for i := 0; i < len(lines); i++ {
		if m := fenceLine.FindStringSubmatch(lines[i]); m != nil && (fence == "" || strings.HasPrefix(m[1], fence)) {
			if fence != "" {
				fence = ""
			} else {
				fence = m[1]
			}
		}
		n := 0
		if fence == "" && gridRule.MatchString(strings.TrimRight(lines[i], "\n")) {
			n = gridEnd(lines[i:])
		}
		if n == 0 {
			out.WriteString(lines[i])
			continue
		}
		writeGrid(&out, lines[i:i+n])
		i += n - 1
	}
	return out.String()
}

// maxGridColumns is the number of columns of a grid table: a row of one character has as many.
const maxGridColumns = 200

// gridEnd returns the number of lines of the table that begins with a rule; 0 if it is none.
func gridEnd(lines []string) int {
	last := 0
	for i, line := range lines {
		line = strings.TrimRight(line, "\n")
		if s := strings.TrimLeft(line, " "); s == "" || s[0] != '|' && s[0] != '+' {
			break
		}
		if gridRule.MatchString(line) {
			last = i
		}
	}
	if last < 2 || len(gridColumns(lines[:last+1])) > maxGridColumns { // two rules and a line between them
		return 0
	}
	return last + 1
}

// partRule matches a rule beside a cell of several rows.
var partRule = regexp.MustCompile(`\+[-=:]{2,}\+|\+[-=:]{2,}$`)

// writeGrid writes the rows of a table. Without a rule of '=', the first one is its header.
func writeGrid(out *strings.Builder, lines []string) {
	columns := gridColumns(lines)
	cells := make([]string, len(columns)-1)
	rows := 0
	out.WriteByte('\n')
	for _, line := range lines[1:] {
		whole := gridRule.MatchString(strings.TrimRight(line, "\n"))
		if !whole {
			for i, s := range gridCells(line, columns) {
				if strings.Trim(s, "-=+:") != "" {
					cells[i] = strings.TrimSpace(cells[i] + " " + s)
				}
			}
		}
		if !whole && !partRule.MatchString(strings.TrimSpace(line)) {
			continue
		}
		full := len(cells)
		for full > 1 && cells[full-1] == "" {
			full--
		}
		out.WriteString("| " + strings.Join(cells[:full], " | ") + " |\n")
		if rows++; rows == 1 {
			out.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
		}
		clear(cells)
	}
	out.WriteByte('\n')
}

// gridColumns returns the places of the lines between columns: those of '+' in all rules.
func gridColumns(lines []string) []int {
	at := map[int]bool{}
	for _, line := range lines {
		line = strings.TrimRight(line, " \t\n")
		if !gridRule.MatchString(line) {
			continue
		}
		for i, c := range line { // of ASCII
			if c == '+' {
				at[i] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(at))
}

// gridCells returns the parts of a line between the columns; one that spans several is in the first
// of them. Where the bars are in other places, as behind wide characters, it splits at the bars.
func gridCells(line string, columns []int) []string {
	r := []rune(strings.TrimRight(line, " \t\n"))
	cells := make([]string, len(columns)-1)
	isBar := func(i int) bool { return i < len(r) && (r[i] == '|' || r[i] == '+') }
	if !isBar(columns[len(columns)-1]) {
		parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i, s := range parts {
			i = min(i, len(cells)-1) // the last cell has bars of its own
			cells[i] = strings.TrimSpace(cells[i] + " " + strings.TrimSpace(s))
		}
		return cells
	}
	for i := 0; i < len(cells); {
		end := i + 1
		for !isBar(columns[end]) {
			end++
		}
		cells[i] = strings.TrimSpace(string(r[columns[i]+1 : columns[end]]))
		i = end
	}
	return cells
}
