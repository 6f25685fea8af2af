package notes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/searchd/extract/content"
)

// canvasNode is a card of an Obsidian canvas (jsoncanvas.org), or a group, a frame around cards.
type canvasNode struct {
	Type                string
	Text                string  // Markdown
	File, Subpath       string  // of a note or a picture that is shown
	URL, Label          string  // of a link, a group
	X, Y, Width, Height float64 // of the upper left corner
	inside              []*canvasNode
}

type canvasEdge struct{ Label string }

const maxCards = 10_000

// Canvas reads the texts of a canvas, row by row and group by group, then the labels of its arrows.
func Canvas(x *content.File, b []byte) (content.Content, error) {
	x.Decoder.Strict = true // JSON is UTF-8
	s, err := x.Text(0, b)
	if err != nil {
		return content.Content{}, err
	}
	nodes, labels, err := canvasParts(x, s)
	if err != nil {
		if ended := x.Ended(); ended != nil {
			return content.Content{}, ended
		}
		return content.Content{}, x.Reject("not a canvas that can be read: %v", err)
	}
	if len(nodes) > maxCards {
		nodes = nodes[:maxCards]
		if err := x.Warnf(0, "the canvas has more than %d cards; the rest is left out", maxCards); err != nil {
			return content.Content{}, err
		}
	}
	w := markdownWriter{}
	if err := cards(x, &w, grouped(nodes), time.Now()); err != nil {
		return content.Content{}, err
	}
	w.out.Block()
	for _, label := range labels {
		w.out.Item("- ")
		w.out.Inline(label)
	}
	return content.Content{Text: strings.ReplaceAll(w.out.String(), "\x00", "\ufffd")}, nil
}

// canvasParts reads up to maxCards cards and one more, and as many labels.
func canvasParts(x *content.File, s string) (nodes []*canvasNode, labels []string, err error) {
	r := notebookReader{x: x, d: json.NewDecoder(strings.NewReader(s))}
	err = r.object(map[string]func() error{
		"nodes": func() error {
			n := &canvasNode{}
			if len(nodes) > maxCards {
				return r.d.Decode(&passed{})
			}
			nodes = append(nodes, n)
			return r.d.Decode(n)
		},
		"edges": func() error {
			e := canvasEdge{}
			err := r.d.Decode(&e)
			if e.Label != "" && len(labels) < maxCards {
				labels = append(labels, e.Label)
			}
			return err
		},
	})
	return nodes, labels, r.end(err)
}

func cards(x *content.File, w *markdownWriter, nodes []*canvasNode, start time.Time) error {
	for _, n := range inRows(nodes) {
		w.out.Block()
		switch n.Type {
		case "text":
			if err := writeMarkdown(x, w, content.Newlines(n.Text), start); err != nil {
				return err
			}
		case "file":
			w.out.Inline(shownLink(strings.TrimSuffix(path.Base(n.File), ".md")+n.Subpath, false))
		case "link":
			w.out.Inline(n.URL)
		case "group":
			w.out.Inline(n.Label)
		}
		if err := cards(x, w, n.inside, start); err != nil {
			return err
		}
	}
	return nil
}

// Limits on groups and on their depth.
const (
	maxCanvasGroups = 1000
	maxCanvasDepth  = 20
)

// grouped puts each node into the smallest group around its centre, and returns those in none.
func grouped(nodes []*canvasNode) (top []*canvasNode) {
	area := func(n *canvasNode) float64 { return n.Width * n.Height }
	var groups []*canvasNode // smallest first
	for _, n := range nodes {
		if n.Type == "group" && len(groups) < maxCanvasGroups {
			groups = append(groups, n)
		}
	}
	slices.SortStableFunc(groups, func(a, b *canvasNode) int { return cmp.Compare(area(a), area(b)) })
	depth := map[*canvasNode]int{}
	for i := len(groups) - 1; i >= 0; i-- { // the large ones first, whose depth is then known
		put(groups[i], groups[i+1:], depth, &top)
	}
	for _, n := range nodes {
		if n.Type != "group" {
			put(n, groups, depth, &top)
		} else if !slices.Contains(groups, n) {
			top = append(top, n)
		}
	}
	return top
}

// put adds n to the first group around its centre, else to top.
func put(n *canvasNode, groups []*canvasNode, depth map[*canvasNode]int, top *[]*canvasNode) {
	x, y := n.X+n.Width/2, n.Y+n.Height/2
	for _, g := range groups {
		if depth[g] < maxCanvasDepth && g.X <= x && x <= g.X+g.Width && g.Y <= y && y <= g.Y+g.Height {
			depth[n] = depth[g] + 1
			g.inside = append(g.inside, n)
			return
		}
	}
	*top = append(*top, n)
}

// inRows returns nodes row by row, from left to right. A row has the nodes that begin above the
// middle of its topmost one.
func inRows(nodes []*canvasNode) []*canvasNode {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b *canvasNode) int { return cmp.Compare(a.Y, b.Y) })
	for rest := nodes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Y < rest[0].Y+rest[0].Height/2 {
			n++
		}
		slices.SortStableFunc(rest[:n], func(a, b *canvasNode) int { return cmp.Compare(a.X, b.X) })
		rest = rest[n:]
	}
	return nodes
}

// object reads an object, and calls the function of a member for each element of its list.
func (r *notebookReader) object(lists map[string]func() error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	for r.d.More() {
		name, err := r.d.Token()
		if err == nil {
			if each := lists[fmt.Sprint(name)]; each != nil {
				err = r.list(each)
			} else {
				err = r.d.Decode(&passed{})
			}
		}
		if err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// end returns err, or an error for data behind the value.
func (r *notebookReader) end(err error) error {
	if err != nil {
		return err
	}
	switch _, err = r.d.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more behind its end")
	}
	return err
}
