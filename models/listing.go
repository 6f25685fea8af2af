package models

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Bounds of a repository's list of files.
const (
	maxPages   = 50
	maxEntries = 50_000
)

// remoteFile is a file of a revision in the hub's list, with one of two digests of its content.
type remoteFile struct {
	path   string
	size   int64
	sha256 string // of the content, hex; empty where the file is not in large file storage
	blob   string // git's SHA-1 of "blob SIZE\0" and the content, hex; where sha256 is empty
}

// digest names the content.
func (f remoteFile) digest() string { return f.sha256 + f.blob }

var sha256ID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// commit resolves a revision.
func (h *hub) commit(ctx context.Context, r Repo) (string, error) {
	var reply struct {
		SHA string `json:"sha"`
	}
	what := r.String()
	if _, err := h.json(ctx, h.url("api", "models", r.Owner, r.Name, "revision", r.revision()), what, &reply); err != nil {
		return "", err
	}
	if !commitID.MatchString(reply.SHA) {
		return "", fmt.Errorf("%w: %s: sha is %q, want a commit of 40 hex digits", ErrHub, what, clip(reply.SHA))
	}
	return reply.SHA, nil
}

// tree lists the files of a commit by path. A list with paths that [fs.ValidPath] rejects is
// refused.
func (h *hub) tree(ctx context.Context, r Repo, commit string) (map[string]remoteFile, error) {
	next := h.url("api", "models", r.Owner, r.Name, "tree", commit)
	next.RawQuery = "recursive=true"
	what := "files of " + r.String()
	files := map[string]remoteFile{}
	for page := 0; next != nil; page++ {
		if page == maxPages {
			return nil, fmt.Errorf("%w: %s: more than %d pages", ErrTooLarge, what, maxPages)
		}
		var entries []treeEntry
		header, err := h.json(ctx, next, what, &entries)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type != "file" {
				continue
			}
			f, err := e.file()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			files[f.path] = f
		}
		if len(files) > maxEntries {
			return nil, fmt.Errorf("%w: %s: more than %d", ErrTooLarge, what, maxEntries)
		}
		if next, err = h.nextPage(next, header); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// treeEntry is an element of the hub's reply.
type treeEntry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"` // of the pointer where there is lfs
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// file checks an entry.
func (e treeEntry) file() (remoteFile, error) {
	if !fs.ValidPath(e.Path) || e.Path == "." || strings.ContainsRune(e.Path, 0) {
		return remoteFile{}, fmt.Errorf("%w: the hub lists the path %q, which does not stay inside the repository", ErrRefused, clip(e.Path))
	}
	f := remoteFile{path: e.Path, size: e.Size, blob: e.OID}
	ok := commitID.MatchString(e.OID)
	if e.LFS != nil {
		f.size, f.sha256, f.blob = e.LFS.Size, strings.TrimPrefix(e.LFS.OID, "sha256:"), ""
		ok = sha256ID.MatchString(f.sha256)
	}
	if !ok || f.size < 0 {
		return remoteFile{}, fmt.Errorf("%w: %q: size %d, digest %q", ErrHub, clip(e.Path), f.size, clip(f.digest()))
	}
	return f, nil
}

var nextLink = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="?next"?`)

// nextPage reads the Link header; nil after the last page.
func (h *hub) nextPage(page *url.URL, header http.Header) (*url.URL, error) {
	m := nextLink.FindStringSubmatch(strings.Join(header.Values("Link"), ", "))
	if m == nil {
		return nil, nil
	}
	u, err := page.Parse(m[1])
	if err != nil || !h.own(u) {
		return nil, fmt.Errorf("%w: the next page of the hub's list is at %q", ErrRefused, clip(m[1]))
	}
	return u, nil
}

// clip shortens a hub's text for a message.
func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}
