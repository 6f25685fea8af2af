package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxLines is the length of a Go file at which its author should have asked what its one noun is.
const maxLines = 500

func fileLength(f *file) []string {
	n := bytes.Count(f.src, []byte("\n"))
	if f.test() || f.generated() || n <= maxLines {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d lines, the limit is %d: a file is one noun; cut it where a second one begins", f.path, n, maxLines)}
}

// emptyNames say nothing about what is inside.
var emptyNames = map[string]bool{
	"util": true, "utils": true, "common": true, "types": true, "helper": true, "helpers": true, "misc": true, "base": true, "shared": true,
}

func names(f *file) (out []string) {
	stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
	for _, name := range append(strings.Split(f.pkg(), "/"), stem) {
		if emptyNames[name] {
			out = append(out, fmt.Sprintf("%s: the name %q says nothing: name files and packages after what they hold", f.path, name))
		}
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && !f.generated() && getter.MatchString(fn.Name.Name) && !hidden(fn) {
			out = append(out, fmt.Sprintf("%s%s: no Get in names: the noun alone says it", f.at(fn.Pos()), fn.Name.Name))
		}
	}
	return out
}

// hidden reports whether fn is a method of an unexported type. Such a method is there for an
// interface, which may be someone else's.
func hidden(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return false
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && !id.IsExported()
}

var getter = regexp.MustCompile(`^Get[A-Z]`)

// leftover are words for work not done. A version ships with what it does, not with what it meant
// to do.
var leftover = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

func leftovers(f *file) (out []string) {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if word := leftover.FindString(c.Text); word != "" {
				out = append(out, fmt.Sprintf("%s%s in a comment: do it, or say what is and why", f.at(c.Pos()), word))
			}
		}
	}
	return out
}

// machinePath is the beginning of a path that exists on one machine only.
var machinePath = regexp.MustCompile(`^(/(home|root|work|tmp|Users|mnt)(/|$)|[A-Z]:\\)`)

func machinePaths(f *file) (out []string) {
	if f.test() {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && machinePath.MatchString(s) {
			out = append(out, fmt.Sprintf("%s%q: no absolute paths: take a flag, os.TempDir or t.TempDir", f.at(lit.Pos()), s))
		}
		return true
	})
	return out
}

// calls reports calls that do not belong where they stand.
func calls(f *file) (out []string) {
	library := !f.test() && f.room() != "cmd" && f.ast.Name.Name != "main"
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "println" || id.Name == "print") {
			out = append(out, f.at(call.Pos())+id.Name+": nothing writes to the standard error behind its caller's back")
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, _ := sel.X.(*ast.Ident)
		if on == nil {
			return true
		}
		switch name := on.Name + "." + sel.Sel.Name; {
		case f.test() && sel.Sel.Name == "SkipNow", f.test() && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf") && !hasReason(call) && (on.Name == "t" || on.Name == "b" || on.Name == "f"):
			out = append(out, f.at(call.Pos())+name+": a skipped test says why, and what it needs to run")
		case !library:
		case name == "fmt.Print", name == "fmt.Println", name == "fmt.Printf":
			out = append(out, f.at(call.Pos())+name+": libraries do not print; write to an io.Writer that the caller gives")
		case name == "os.Exit", name == "os.Chdir":
			out = append(out, f.at(call.Pos())+name+": the process belongs to cmd; return an error")
		}
		return true
	})
	return out
}

// hasReason reports whether the first argument of a Skip is more than an empty string.
func hasReason(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	return !ok || len(lit.Value) > len(`""`)
}

// callLong are the packages whose structs may hold a context: that of the call to which a
// transaction of the store, a waiting write or a text that is being generated belongs, and in
// search/task one that ends with the program.
var callLong = map[string]bool{"store": true, "search/task": true, "generate": true}

func storedContext(f *file) (out []string) {
	if callLong[f.pkg()] {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok || f.test() {
			return true
		}
		for _, field := range s.Fields.List {
			sel, ok := field.Type.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if on, ok := sel.X.(*ast.Ident); ok && on.Name == "context" && sel.Sel.Name == "Context" {
				out = append(out, f.at(field.Pos())+"a context in a struct: pass it as the first parameter, so that each call can see how long it may take")
			}
		}
		return true
	})
	return out
}

func TestFileLength(t *testing.T)    { each(t, fileLength) }
func TestNames(t *testing.T)         { each(t, names) }
func TestLeftovers(t *testing.T)     { each(t, leftovers) }
func TestMachinePaths(t *testing.T)  { each(t, machinePaths) }
func TestCalls(t *testing.T)         { each(t, calls) }
func TestStoredContext(t *testing.T) { each(t, storedContext) }

// packageComments returns the packages without a comment, given all files.
func packageComments(files []*file) (out []string) {
	type state struct{ code, comment bool }
	packages := make(map[string]state)
	for _, f := range files {
		if f.test() {
			continue
		}
		s := packages[f.pkg()]
		s.code = true
		if doc := f.ast.Doc.Text(); f.ast.Name.Name == "main" && len(doc) > 20 || strings.HasPrefix(doc, "Package "+f.ast.Name.Name+" ") {
			s.comment = true
		}
		packages[f.pkg()] = s
	}
	for pkg, s := range packages {
		if s.code && !s.comment {
			out = append(out, fmt.Sprintf("%s: no package comment: say what the package is for (\"Package %s ...\"), and what it is not for", pkg, path.Base(pkg)))
		}
	}
	return out
}

func TestPackageComments(t *testing.T) {
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range packageComments(files) {
		t.Error(v)
	}
}

func TestRulesCanFail(t *testing.T) {
	long := "package p\n" + strings.Repeat("\n", maxLines)
	for _, tt := range []struct {
		name string
		rule func(*file) []string
		path string
		src  string
		want int
	}{
		{"long", fileLength, "a/b.go", long, 1},
		{"long test", fileLength, "a/b_test.go", long, 0},
		{"long generated", fileLength, "a/b.go", "// Code generated by x. DO NOT EDIT.\n\n" + long, 0},
		{"short", fileLength, "a/b.go", "package p\n", 0},
		{"util package", names, "internal/util/a.go", "package util\n", 1},
		{"types file", names, "a/types.go", "package a\n", 1},
		{"test of types", names, "a/types_test.go", "package a\n", 1},
		{"getter", names, "a/a.go", "package a\nfunc GetX() {}\n", 1},
		{"getter method", names, "a/a.go", "package a\nfunc (x *X) GetX() {}\n", 1},
		{"getter of an interface", names, "a/a.go", "package a\nfunc (x *x) GetX() {}\n", 0},
		{"no getter", names, "a/a.go", "package a\nfunc Getaway() {}\nfunc Get() {}\n", 0},
		{"todo", leftovers, "a/a.go", "package a\n\n// TODO: later\n", 1},
		{"todo in a string", leftovers, "a/a.go", "package a\n\nvar s = \"TODO\"\n", 0},
		{"home", machinePaths, "a/a.go", "package a\n\nvar s = \"/home/me/x\"\n", 1},
		{"tmp", machinePaths, "a/a.go", "package a\n\nvar s = `/tmp`\n", 1},
		{"tmp in a test", machinePaths, "a/a_test.go", "package a\n\nvar s = `/tmp`\n", 0},
		{"route", machinePaths, "a/a.go", "package a\n\nvar s = \"/v1/tmp\" + \"/homepage\"\n", 0},
		{"skip", calls, "a/a_test.go", "package a\nfunc x(t T) { t.Skip() }\n", 1},
		{"skip with nothing", calls, "a/a_test.go", "package a\nfunc x(t T) { t.Skip(\"\"); t.Skipf(\"\"); t.SkipNow() }\n", 3},
		{"skip with reason", calls, "a/a_test.go", "package a\nfunc x(t T) { t.Skip(\"no data\"); t.Skip(err) }\n", 0},
		{"print", calls, "a/a.go", "package a\nfunc x() { fmt.Println(); print() }\n", 2},
		{"print in cmd", calls, "cmd/x/a.go", "package main\nfunc x() { fmt.Println() }\n", 0},
		{"exit of a program", calls, "internal/a/a.go", "package main\nfunc x() { os.Exit(1) }\n", 0},
		{"exit", calls, "a/a.go", "package a\nfunc x() { os.Exit(1) }\n", 1},
		{"context", storedContext, "a/a.go", "package a\ntype x struct { ctx context.Context }\n", 1},
		{"context parameter", storedContext, "a/a.go", "package a\nfunc x(ctx context.Context) {}\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) { violations(t, tt.rule, tt.path, tt.src, tt.want) })
	}
	files := []*file{
		mustParse(t, "a/a.go", "package a\n"), mustParse(t, "a/b.go", "// Package a is one.\npackage a\n"),
		mustParse(t, "b/a.go", "package b\n"), mustParse(t, "c/a_test.go", "package c\n"),
		mustParse(t, "cmd/d/main.go", "// Command d does things for people.\npackage main\n"),
	}
	if got := packageComments(files); len(got) != 1 || !strings.HasPrefix(got[0], "b: ") {
		t.Errorf("packageComments = %q, want b", got)
	}
}
