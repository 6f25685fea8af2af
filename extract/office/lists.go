package office

import (
	"path"
	"strconv"
	"strings"

	"example.com/searchd/extract/content"
)

const (
	maxLists    = 10000
	listLevels  = 9
	maxListMark = 64 // bytes
)

// docxLevel is the numbering of one level of a list.
type docxLevel struct {
	format string // bullet, decimal, lowerLetter, ...
	text   string // what stands in front of the paragraph, with %1 to %9 for the numbers of the levels
	start  int
}

// docxNumbers are the counters of a list, which lists may share.
type docxNumbers struct {
	levels [listLevels]docxLevel
	counts [listLevels]int // of the paragraphs since the level above went on
}

type docxList struct {
	*docxNumbers
	starts map[int]int // by level, where the list begins anew; nil once it has
}

// lists returns the lists of the document by their ids.
func (r *archive) lists(dir string) map[string]*docxList {
	lists, numbers := map[string]*docxList{}, map[string]*docxNumbers{}
	numbering := r.tree(path.Join(dir, "numbering.xml"))
	for a := range numbering.all("abstractNum") {
		of := &docxNumbers{}
		for l := range a.all("lvl") {
			if level := listLevel(l.attr("ilvl")); level >= 0 && len(l.child("lvlText").attr("val")) <= maxListMark {
				of.levels[level] = docxLevel{l.child("numFmt").attr("val"), l.child("lvlText").attr("val"), content.Atoi(l.child("start").attr("val"))}
			}
		}
		numbers[a.attr("abstractNumId")] = of
	}
	for n := range numbering.all("num") {
		list := &docxList{docxNumbers: numbers[n.child("abstractNumId").attr("val")], starts: map[int]int{}}
		for o := range n.all("lvlOverride") {
			if start, level := o.child("startOverride"), listLevel(o.attr("ilvl")); start != nil && level >= 0 {
				list.starts[level] = content.Atoi(start.attr("val"))
			}
		}
		lists[n.attr("numId")] = list
	}
	return lists
}

// listLevel returns the number of a level, -1 if it is invalid.
func listLevel(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < listLevels {
		return n
	}
	return -1
}

// next counts a paragraph of a level and returns its number; empty for bullets and unknown lists.
func (l *docxList) next(level int) string {
	if l == nil || l.docxNumbers == nil || level < 0 {
		return ""
	}
	for at, n := range l.starts {
		l.counts[at], l.levels[at].start = 0, n
	}
	l.starts = nil
	l.counts[level]++
	clear(l.counts[level+1:])
	if l.levels[level].format == "bullet" {
		return ""
	}
	mark := l.levels[level].text
	for i := range level + 1 {
		n := l.levels[i].start + max(l.counts[i], 1) - 1
		mark = strings.ReplaceAll(mark, "%"+strconv.Itoa(i+1), listNumber(l.levels[i].format, n))
	}
	if mark = strings.Join(strings.Fields(mark), " "); len(mark) > maxListMark { // as it is written
		return ""
	}
	return mark
}

// listNumber formats a number as Word does. Formats of other scripts are decimal.
func listNumber(format string, n int) string {
	switch lower := strings.HasPrefix(format, "lower"); {
	case format == "none":
		return ""
	case strings.HasSuffix(format, "Letter") && n > 0 && n <= 26*4:
		s := strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
		if lower {
			s = strings.ToLower(s)
		}
		return s
	case strings.HasSuffix(format, "Roman") && n > 0 && n < 4000:
		s := ""
		for i, v := range []int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1} {
			for ; n >= v; n -= v {
				s += []string{"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"}[i]
			}
		}
		if lower {
			s = strings.ToLower(s)
		}
		return s
	}
	return strconv.Itoa(n)
}
