package web

import (
	"golang.org/x/net/html/atom"

	"example.com/searchd/extract/content"
)

// roleTags are the elements that ARIA roles stand for.
var roleTags = map[string]atom.Atom{
	"row": atom.Tr, "cell": atom.Td, "gridcell": atom.Td, "columnheader": atom.Th, "rowheader": atom.Th, "table": atom.Table, "grid": atom.Table,
	"list": atom.Ul, "listitem": atom.Li,
}

var headings = []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}

// roleElement is an open element that its role makes another.
type roleElement struct {
	tag, as atom.Atom
	depth   int // of elements of that tag, itself included
}

// maxRoles is the depth of elements with roles.
const maxRoles = 64

// asRole returns the element that an element without a meaning of its own is by its role, else the
// element itself.
func (w *writer) asRole(tag atom.Atom, a *tagAttrs) atom.Atom {
	if as := w.role(tag, a); as != 0 {
		if as == atom.Table {
			w.table = table{data: w.table.data, seen: w.table.seen, grid: content.NewGrid(w.out), open: true}
		}
		w.roles = append(w.roles, roleElement{tag: tag, as: as, depth: 1})
		return as
	}
	for i := len(w.roles) - 1; i >= 0; i-- {
		if w.roles[i].tag == tag {
			w.roles[i].depth++
			break
		}
	}
	return tag
}

// role returns the element that an element is by its role; 0 if it is none.
func (w *writer) role(tag atom.Atom, a *tagAttrs) atom.Atom {
	switch {
	case a.role == "", len(w.roles) == maxRoles, tag != atom.Div && tag != atom.Span && tag != atom.P && tag != atom.Section:
		return 0
	case a.role == "heading" && a.level > 0:
		return headings[min(a.level, 6)-1]
	case a.role == "heading":
		return atom.H2
	case roleTags[a.role] == atom.Table && w.table.open:
		return 0
	}
	return roleTags[a.role]
}

// endRole returns the element that an end tag closes.
func (w *writer) endRole(tag atom.Atom) atom.Atom {
	for i := len(w.roles) - 1; i >= 0; i-- {
		e := &w.roles[i]
		if e.tag != tag {
			continue
		}
		if e.depth--; e.depth == 0 {
			tag = e.as
			w.roles = w.roles[:i]
		}
		break
	}
	return tag
}
