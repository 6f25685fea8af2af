package ingest

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Ids of files are paths below a folder, the root. A file must have the same id whatever path names
// it, as in `ingest notes` and `ingest notes/2024`:
//
//  1. A path that was read before as a part of a folder, or is named together with that folder,
//     has it as its root.
//  2. A file that was read before by itself, or as a part of a folder inside the root, gets the id
//     below the root; the document of its old id is deleted.

// rootPaths are paths that have the same root.
type rootPaths struct {
	root  string // empty: each path is its own
	paths []string
}

// roots returns paths with their roots by rule 1, in order.
func (j *journal) roots(paths []string) (out []rootPaths, err error) {
	real := j.realRoots()
	for _, path := range paths {
		root := ""
		if path != "-" {
			if root, path, err = j.rootOf(path, real); err != nil {
				return nil, err
			}
			if root == "" {
				root = namedAbove(path, paths)
			}
		}
		if n := len(out); n > 0 && out[n-1].root == root {
			out[n-1].paths = append(out[n-1].paths, path)
		} else {
			out = append(out, rootPaths{root, []string{path}})
		}
	}
	return out, nil
}

// namedAbove returns the outermost folder of paths that a path is in; empty: none.
func namedAbove(path string, paths []string) (root string) {
	abs, err := filepath.Abs(path)
	for _, dir := range paths {
		above, e := filepath.Abs(dir)
		if sub, ok := inside(above, abs); err == nil && e == nil && ok && sub != "" && (root == "" || len(above) < len(root)) {
			root = above
		}
	}
	return root
}

// realRoots returns the roots in the journal with their paths without symbolic links.
func (j *journal) realRoots() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	real := map[string]string{}
	for k := range j.entries {
		if _, ok := real[k.root]; !ok {
			real[k.root] = realPath(k.root)
		}
	}
	return real
}

// realPath returns an absolute path without symbolic links, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// rootOf returns the outermost root that a path was read below before, and the path below it. An
// empty root: there is none.
func (j *journal) rootOf(given string, real map[string]string) (root, at string, err error) {
	abs, err := filepath.Abs(given)
	if err != nil {
		return "", "", err
	}
	subs := map[string]string{} // the path below each root that contains it
	for r, dir := range real {
		if sub, ok := inside(dir, realPath(abs)); ok && sub != "" {
			subs[r] = sub
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for k := range j.entries {
		sub, ok := subs[k.root]
		if ok && (k.path == sub || strings.HasPrefix(k.path, sub+"/")) && (root == "" || len(real[k.root]) < len(real[root])) {
			root = k.root
		}
	}
	if _, ok := inside(root, abs); root == "" || ok {
		return root, given, nil
	}
	return root, filepath.Join(root, filepath.FromSlash(subs[root])), nil // it was named by a symbolic link
}

// inside returns a path below a folder with forward slashes, empty for the folder itself; ok is
// false where it is not inside.
func inside(dir, path string) (sub string, ok bool) {
	sub, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(sub) {
		return "", false
	}
	if sub == "." {
		sub = ""
	}
	return filepath.ToSlash(sub), true
}

// scope is a folder or file whose missing documents are deleted.
type scope struct {
	root  string            // absolute
	sub   string            // below root, with forward slashes; empty: all of it
	file  bool              // sub is a file
	inner map[string]string // roots in the journal inside this one, and their paths below it
}

// newScope returns the scope of a path.
func (j *journal) newScope(root, path string, file bool) (s scope) {
	s = scope{root: root, file: file, inner: map[string]string{}}
	s.sub, _ = inside(root, path)
	dir := realPath(root)
	for r, real := range j.realRoots() {
		if sub, ok := inside(dir, real); ok && sub != "" {
			s.inner[r] = sub
		}
	}
	return s
}

// scopes returns the scopes of paths. A path that does not exist, and standard input, has none.
func (j *journal) scopes(paths []string, root string) (out []scope, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err != nil {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		in := root
		switch {
		case in == "" && info.IsDir():
			in = abs
		case in == "":
			in = filepath.Dir(abs)
		}
		out = append(out, j.newScope(in, abs, !info.IsDir()))
	}
	return out, nil
}

// contains reports whether a file is in the scope.
func (s scope) contains(k key) bool {
	name, ok := s.pathOf(k)
	return ok && (s.sub == "" || name == s.sub || !s.file && strings.HasPrefix(name, s.sub+"/"))
}

// pathOf returns the path of a file below the root of the scope.
func (s scope) pathOf(k key) (string, bool) {
	if k.root == s.root {
		return k.path, true
	}
	sub, ok := s.inner[k.root]
	return path.Join(sub, k.path), ok
}

// deleteSuperseded deletes the documents of files that this run has read below another root, by
// rule 2.
func (p *pipeline) deleteSuperseded(ctx context.Context, in []scope) error {
	keys, ids, example := map[key]bool{}, map[string]bool{}, ""
	for _, s := range in {
		if len(s.inner) == 0 {
			continue
		}
		for _, k := range p.journal.filter(func(f *fileEntry) bool { return f.Root != s.root && s.contains(f.key()) }) {
			name, _ := s.pathOf(k)
			if !p.journal.seen(key{s.root, name}) {
				continue
			}
			now, left, err := p.journal.ids(k)
			if err != nil {
				return err
			}
			for _, id := range append(now, left...) {
				ids[id] = true
			}
			keys[k], example = true, fmt.Sprintf("%s as %s", name, k.path)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := p.journal.keepShared(ids, keys); err != nil {
		return err
	}
	if len(ids) > 0 {
		p.notice(fmt.Sprintf("%s had another id, from a run over a part of the folder (%s): the documents of these ids are deleted", count(len(keys), "file"), example))
	}
	if err := p.remove(ctx, ids); err != nil || p.dryRun {
		return err
	}
	for k := range keys {
		if err := p.journal.drop(k); err != nil {
			return err
		}
	}
	return p.journal.flush()
}

// seen reports whether this run has found a file.
func (j *journal) seen(k key) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[k]
	return e != nil && e.seen
}
