package models

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrName is returned for a name that no repository of a hub can have.
var ErrName = errors.New("not the name of a repository")

// Repo names a repository of a hub and, perhaps, a revision of it.
type Repo struct {
	Owner, Name string
	Revision    string // branch, tag or commit; empty: main
}

var (
	repoPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`)
	revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,254}$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseRepo reads OWNER/NAME or OWNER/NAME@REVISION. A parsed name is safe as a relative path and
// inside a URL.
func ParseRepo(s string) (Repo, error) {
	id, rev, at := strings.Cut(s, "@")
	owner, name, slash := strings.Cut(id, "/")
	for _, part := range []string{owner, name} {
		if !slash || !repoPart.MatchString(part) || strings.Contains(part, "..") || strings.HasSuffix(part, ".") {
			return Repo{}, fmt.Errorf("%w: got %q, want OWNER/NAME or OWNER/NAME@REVISION, each of letters, digits, '.', '_' and '-'", ErrName, s)
		}
	}
	if at && (!revision.MatchString(rev) || strings.Contains(rev, "..") || strings.Contains(rev, "//") || strings.HasSuffix(rev, "/")) {
		return Repo{}, fmt.Errorf("%w: %q: revision %q, want a branch, a tag or a commit", ErrName, s, rev)
	}
	return Repo{Owner: owner, Name: name, Revision: rev}, nil
}

// ID is OWNER/NAME.
func (r Repo) ID() string { return r.Owner + "/" + r.Name }

// String is OWNER/NAME, with @REVISION where there is one.
func (r Repo) String() string {
	if r.Revision == "" {
		return r.ID()
	}
	return r.ID() + "@" + r.Revision
}

func (r Repo) revision() string {
	if r.Revision == "" {
		return "main"
	}
	return r.Revision
}
