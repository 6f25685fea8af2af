package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the width of a comment line, with tabs of 4 columns.
const maxColumns = 100

// preformatted is a comment line that cannot be wrapped: a directive, or an indented example.
var preformatted = regexp.MustCompile(`^//(\S|\t| {3})`)

func commentWidth(f *file) (out []string) {
	if f.generated() {
		return nil
	}
	lines := strings.Split(string(f.src), "\n")
	for _, group := range f.ast.Comments {
		if f.test() && strings.HasPrefix(group.Text(), "Output:") {
			continue
		}
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//") || preformatted.MatchString(c.Text) || strings.Contains(c.Text, "://") {
				continue
			}
			p := f.fset.Position(c.Pos())
			before := lines[p.Line-1][:p.Column-1]
			if strings.Trim(before, "\t ") != "" {
				continue // behind code
			}
			if n := 3*strings.Count(before, "\t") + utf8.RuneCountInString(before+c.Text); n > maxColumns {
				out = append(out, fmt.Sprintf("%sa comment of %d columns, the limit is %d", f.at(c.Pos()), n, maxColumns))
			}
		}
	}
	return out
}

// docNames requires the comment of an exported declaration to begin with its name.
func docNames(f *file) (out []string) {
	if f.test() || f.generated() {
		return nil
	}
	check := func(doc *ast.CommentGroup, id *ast.Ident) {
		if doc == nil || !id.IsExported() {
			return
		}
		words := strings.Fields(doc.Text())
		for len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
			words = words[1:]
		}
		if len(words) > 0 && strings.TrimRight(words[0], ",.:;'s") != strings.TrimRight(id.Name, "s") && words[0] != "Deprecated:" {
			out = append(out, fmt.Sprintf("%sthe comment of %s begins with %q: begin it with the name", f.at(id.Pos()), id.Name, words[0]))
		}
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !hidden(d) {
				check(d.Doc, d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					doc := s.Doc
					if doc == nil && len(d.Specs) == 1 {
						doc = d.Doc
					}
					check(doc, s.Name)
				}
			}
		}
	}
	return out
}

const (
	maxPackageLines = 8000 // without tests and generated files
	maxMethods      = 40   // exported, of one type
)

// sizes reports packages and types that have grown beyond what a reader can hold.
func sizes(files []*file) (out []string) {
	lines := map[string]int{}
	methods := map[string]int{}
	for _, f := range files {
		if f.test() || f.generated() {
			continue
		}
		lines[f.pkg()] += strings.Count(string(f.src), "\n")
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() {
				continue
			}
			typ := fn.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				methods[f.pkg()+"."+id.Name]++
			}
		}
	}
	for pkg, n := range lines {
		if n > maxPackageLines {
			out = append(out, fmt.Sprintf("%s: %d lines, the limit of a package is %d", pkg, n, maxPackageLines))
		}
	}
	for typ, n := range methods {
		if n > maxMethods {
			out = append(out, fmt.Sprintf("%s: %d exported methods, the limit is %d", typ, n, maxMethods))
		}
	}
	return out
}

func TestCommentWidth(t *testing.T) { each(t, commentWidth) }
func TestDocNames(t *testing.T)     { each(t, docNames) }

func TestSizes(t *testing.T) {
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range sizes(files) {
		t.Error(v)
	}
}

func TestCommentRulesCanFail(t *testing.T) {
	wide := "// " + strings.Repeat("word ", 20) + "end\n"
	for _, tt := range []struct {
		name string
		rule func(*file) []string
		src  string
		want int
	}{
		{"wide", commentWidth, "package a\n\n" + wide, 1},
		{"wide with a tab", commentWidth, "package a\nfunc f() {\n\t// " + strings.Repeat("x", 95) + "\n}\n", 1},
		{"narrow", commentWidth, "package a\n\n// word\n", 0},
		{"behind code", commentWidth, "package a\nvar x = 1 " + wide, 0},
		{"example", commentWidth, "package a\n\n//\t" + strings.Repeat("x", 120) + "\n", 0},
		{"other name", docNames, "package a\n\n// Returns x.\nfunc X() {}\n", 1},
		{"other name of a type", docNames, "package a\n\n// This is x.\ntype X int\n", 1},
		{"name", docNames, "package a\n\n// X is x.\nfunc X() {}\n", 0},
		{"article", docNames, "package a\n\n// An X is x.\ntype X int\n", 0},
		{"unexported", docNames, "package a\n\n// Returns x.\nfunc x() {}\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) { violations(t, tt.rule, "a/a.go", tt.src, tt.want) })
	}
	var methods strings.Builder
	methods.WriteString("package a\n" + strings.Repeat("\n", maxPackageLines))
	for i := range maxMethods + 1 {
		fmt.Fprintf(&methods, "func (x *X) M%d() {}\n", i)
	}
	if got := sizes([]*file{mustParse(t, "a/a.go", methods.String())}); len(got) != 2 {
		t.Errorf("sizes = %q, want 2", got)
	}
}
