package office

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"example.com/searchd/extract/content"
)

// maxMembers is the number of members of the largest document.
const maxMembers = 10000

// archive reads a ZIP archive of XML and builds the text of the document.
type archive struct {
	x       *content.File
	members map[string]*zip.File // by name in lower case
	left    int64                // bytes that may still be unpacked
	start   time.Time
	out     content.Builder
	err     error // of the first part of the text that cannot be read; further ones are not read
}

// openArchive opens a document, and reports the error if it cannot.
func openArchive(x *content.File, b []byte) (*archive, error) {
	if bytes.HasPrefix(b, []byte(oleMagic[:4])) {
		return nil, x.Reject("an encrypted document, or one of an old program under another name; save it as %s without a password", x.Format)
	}
	if bytes.Count(b, []byte("PK\x01\x02")) > maxMembers { // each costs memory when the archive is opened
		return nil, x.Reject("a ZIP archive of more than %d members, not %s", maxMembers, x.Noun)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, x.Reject("not %s: %v", x.Noun, err)
	}
	r := &archive{x: x, members: map[string]*zip.File{}, left: x.MaxFile, start: time.Now()}
	for _, f := range z.File {
		if name := strings.ToLower(f.Name); r.members[name] == nil {
			r.members[name] = f
		}
	}
	return r, nil
}

// openXML opens an Office Open XML document. It returns the name of its main part, usual if the
// archive has no other.
func openXML(x *content.File, b []byte, usual string) (*archive, string, error) {
	r, err := openArchive(x, b)
	if err != nil {
		return nil, "", err
	}
	main := usual
	for e := range r.tree("_rels/.rels").all("Relationship") {
		if strings.HasSuffix(e.attr("Type"), "/officeDocument") {
			main = partName("", e.attr("Target"))
		}
	}
	if r.members[main] == nil {
		return nil, "", x.Reject("a ZIP archive without the text of %s", x.Noun)
	}
	return r, main, nil
}

// partName returns the lower-case name of the member that a part in dir refers to.
func partName(dir, target string) string {
	if !strings.HasPrefix(target, "/") {
		target = path.Join(dir, target)
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean(target), "/"))
}

// content returns the text with the first title that is not empty.
func (r *archive) content(titles ...string) (content.Content, error) {
	c := content.Content{Text: r.out.String(), Blocks: r.out.Blocks(), Fields: map[string]any{}}
	for _, title := range titles {
		if c.Title == "" {
			c.Title = title
		}
	}
	if r.err != nil {
		if err := r.x.Truncated(r.err, c.Text); err != nil {
			return content.Content{}, err
		}
	}
	return c, nil
}

var (
	errUnpacked = errors.New("it unpacks to more than the limit for one file")
	errNoMember = errors.New("it lacks its part")
)

func (r *archive) member(name string) ([]byte, error) {
	f := r.members[strings.ToLower(name)]
	if f == nil {
		return nil, fmt.Errorf("%w %.100q", errNoMember, name)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: r.left}
	b, err := io.ReadAll(content.Stoppable{R: limited, Ended: func() error { return r.x.Check(r.start) }})
	if r.left = limited.N; r.left == 0 {
		return nil, errUnpacked
	}
	return b, err
}

// scan hands the tokens of a member to visit, and ignores errors: the member holds no text.
func (r *archive) scan(name string, visit func(xml.Token)) {
	_ = r.tokens(name, func(t xml.Token) error { visit(t); return nil })
}

func (r *archive) read(name string, visit func(xml.Token)) {
	if r.err == nil {
		r.err = r.tokens(name, func(t xml.Token) error {
			visit(t)
			return r.x.TooLong(r.out.Len())
		})
	}
}

// tokens hands the tokens of a member to visit; a missing member has none.
func (r *archive) tokens(name string, visit func(xml.Token) error) error {
	f := r.members[strings.ToLower(name)]
	if f == nil {
		return nil
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: r.left}
	defer func() { r.left = limited.N }()
	err = r.decode(limited, func(t xml.Token) error {
		if limited.N == 0 {
			return errUnpacked
		}
		return visit(t)
	})
	if limited.N == 0 {
		return errUnpacked
	}
	return err
}

// elements calls functions for the elements and texts of a part. Formulas are texts.
type elements struct {
	skip   map[string]bool // elements that are ignored with all that is in them
	prefix bool            // names have their prefixes
	start  func(name string, e xml.StartElement)
	end    func(name string)
	text   func(s string)
	math   func(s string) // a formula; nil: there are none

	skipping string      // the element of skip whose end is awaited
	depth    int         // of elements of that name
	formula  treeBuilder // of the formula that is open
	inMath   int         // depth of elements in it; 0: none is open
	behind   bool        // a formula is right before
}

func (e *elements) name(n xml.Name) string {
	if e.prefix {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func (e *elements) token(t xml.Token) {
	if e.inMath > 0 {
		e.formula.token(t)
		switch t.(type) {
		case xml.StartElement:
			e.inMath++
		case xml.EndElement:
			if e.inMath--; e.inMath == 0 {
				e.math(formula(e.formula.root().nodes[0]))
				e.behind = true
			}
		}
		return
	}
	switch t := t.(type) {
	case xml.StartElement:
		name := e.name(t.Name)
		if e.skipping == "" && e.skip[name] {
			e.skipping = name
		}
		switch {
		case e.skipping == name:
			e.depth++
		case e.skipping != "":
		case e.math != nil && t.Name.Local == "oMath" && t.Name.Space != "":
			if e.behind { // they are apart, too
				e.math(" ")
			}
			e.formula, e.inMath = treeBuilder{}, 1
			e.formula.token(t)
		default:
			e.behind = e.behind && t.Name.Local != "p"
			e.start(name, t)
		}
	case xml.EndElement:
		name := e.name(t.Name)
		if e.skipping == name {
			if e.depth--; e.depth == 0 {
				e.skipping = ""
			}
		} else if e.skipping == "" {
			e.end(name)
		}
	case xml.CharData:
		if e.skipping == "" {
			e.behind = e.behind && len(bytes.TrimSpace(t)) == 0
			e.text(string(t))
		}
	}
}

// xmlEscape matches the characters that Excel and PowerPoint write as numbers: _x000D_.
var xmlEscape = regexp.MustCompile(`(?:_x[0-9A-Fa-f]{4}_)+`)

// unescapeXML decodes _xHHHH_; control characters other than line ends become spaces.
func unescapeXML(s string) string {
	return xmlEscape.ReplaceAllStringFunc(s, func(run string) string {
		units := make([]uint16, 0, len(run)/7)
		for ; run != ""; run = run[7:] {
			n, _ := strconv.ParseUint(run[2:6], 16, 16) // the expression lets nothing else through
			switch {
			case n == '\r' || n == '\v':
				n = '\n'
			case n < ' ' && n != '\n' && n != '\t':
				n = ' '
			}
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units))
	})
}

// titleIn returns the title in the properties of a document.
func (r *archive) titleIn(member string) string {
	return content.OneLine(r.tree(member).textOf("title"))
}

// relation is a reference from one part of an Office Open XML document to another.
type relation struct{ kind, target string }

func (r *archive) relations(member string) map[string]relation {
	all := map[string]relation{}
	dir, base := path.Split(member)
	for e := range r.tree(path.Join(dir, "_rels", base+".rels")).all("Relationship") {
		if len(all) < maxMembers {
			all[e.attr("Id")] = relation{path.Base(e.attr("Type")), partName(dir, e.attr("Target"))}
		}
	}
	return all
}

// parts returns the references of those kinds, in the order of kinds and of their names.
func (r *archive) parts(member string, kinds ...string) []relation {
	var all []relation
	for _, p := range slices.SortedFunc(maps.Values(r.relations(member)), func(a, b relation) int {
		return cmp.Or(
			slices.Index(kinds, a.kind)-slices.Index(kinds, b.kind),
			len(a.target)-len(b.target), // chart10 behind chart9
			strings.Compare(a.target, b.target))
	}) {
		if slices.Contains(kinds, p.kind) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// entry is an element that refers to a part, such as a slide or a sheet.
type entry struct{ name, part string }

// listed returns the elements of that name in main with the parts that they refer to.
func (r *archive) listed(member string, main *node, element string) (all []entry) {
	parts := r.relations(member)
	for e := range main.all(element) {
		for _, a := range e.attrs {
			if part := parts[a.Value].target; a.Name.Local == "id" && a.Name.Space != "" && part != "" && len(all) < maxMembers {
				all = append(all, entry{e.attr("name"), part})
			}
		}
	}
	return all
}
