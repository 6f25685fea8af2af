// Package objectstore keeps large objects by name, in a folder or in a bucket of an S3-compatible
// storage. An object is visible only once it is complete. The package knows nothing of what is in
// the objects.
package objectstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of a [Place].
var (
	ErrNotFound = errors.New("not found")
	ErrURL      = errors.New("not a place for backups") // of [At] and [Split]
)

// Object is a complete object.
type Object struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
}

// Place is a folder, or a prefix of a bucket. Safe for concurrent use.
type Place interface {
	// Put makes an object of the bytes that fill writes; size is about how many. If fill or ctx
	// ends with an error, nothing of the object remains.
	Put(ctx context.Context, name string, size int64, fill func(io.Writer) error) error
	// Open reads an object. The caller closes it. It returns [ErrNotFound].
	Open(ctx context.Context, name string) (io.ReadCloser, Object, error)
	// Stat describes an object. It returns [ErrNotFound].
	Stat(ctx context.Context, name string) (Object, error)
	// List returns the objects that are directly here, by name.
	List(ctx context.Context) ([]Object, error)
	// Remove removes an object.
	Remove(ctx context.Context, name string) error
	// RemoveUnfinished removes what killed processes have left of the objects whose names match.
	RemoveUnfinished(ctx context.Context, match func(name string) bool) error
	// URL names the place, or with a name an object in it.
	URL(name string) string
}

const scheme = "s3://"

// IsURL reports whether text names a bucket or something in it, rather than a file.
func IsURL(text string) bool {
	return len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

// CheckPath returns an error for a URL of another kind than [IsURL] reports.
func CheckPath(text string) error {
	if before, _, ok := strings.Cut(text, "://"); ok && !IsURL(text) {
		return fmt.Errorf("%w: %q begins with %q, allowed: %sBUCKET/KEY, or a path", ErrURL, withoutPassword(text), before+"://", scheme)
	}
	return nil
}

// At returns the place that text names: s3://BUCKET/PREFIX, or a folder. Credentials, region and
// endpoint of a bucket come from the environment. Nothing is asked yet.
func At(text string) (Place, error) {
	if IsURL(text) {
		bucket, prefix, err := parse(text)
		if err != nil {
			return nil, err
		}
		return openBucket(bucket, strings.TrimSuffix(prefix, "/"))
	}
	if err := CheckPath(text); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, fmt.Errorf("%w: got \"\", allowed: %sBUCKET/PREFIX, or a folder", ErrURL, scheme)
	}
	return folder{text}, nil
}

// Split splits the URL of an object into those of its place and its name, which is empty if the URL
// ends with a slash or names a bucket only.
func Split(text string) (place, name string, err error) {
	bucket, key, err := parse(text)
	if err != nil {
		return "", "", err
	}
	dir, name := path.Split(key)
	return scheme + bucket + "/" + dir, name, nil
}

// maxKey is S3's limit on the bytes of a key.
const maxKey = 1024

// parse returns the bucket and the key of a URL.
func parse(text string) (bucket, key string, err error) {
	bad := func(why string) (string, string, error) {
		return "", "", fmt.Errorf("%w: %q: %s; allowed: %sBUCKET/PREFIX", ErrURL, withoutPassword(text), why, scheme)
	}
	bucket, key, _ = strings.Cut(text[len(scheme):], "/")
	switch {
	case strings.Contains(bucket, "@"):
		return bad("credentials belong into the environment")
	case !validBucket(bucket):
		return bad("a bucket has 3 to 63 lower-case letters, digits, hyphens and dots")
	case len(key) > maxKey-128:
		return bad(fmt.Sprintf("the part after the bucket is longer than %d bytes", maxKey-128))
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("the part after the bucket has control characters or is not UTF-8")
	case strings.ContainsAny(key, "?#"):
		return bad("the part after the bucket has a ? or #")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if key != "" && (part == "" || part == "." || part == "..") {
			return bad("a part between slashes is empty, . or ..")
		}
	}
	return bucket, key, nil
}

func validBucket(name string) bool {
	if len(name) < 3 || len(name) > 63 || strings.Contains(name, "..") {
		return false
	}
	for i, r := range name {
		inner := i > 0 && i < len(name)-1
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !(inner && (r == '-' || r == '.')) {
			return false
		}
	}
	return true
}

// withoutPassword returns a URL without what may be credentials in it.
func withoutPassword(text string) string {
	before, rest, _ := strings.Cut(text, "://")
	authority, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = "xxxxx@" + authority[i+1:]
	}
	path, _, _ = strings.Cut(path, "?")
	if slash {
		path = "/" + path
	}
	return before + "://" + authority + path
}

// cleanUpTime is how long removing an object that cannot be used may take.
const cleanUpTime = 30 * time.Second

// Write makes an object as Put does, reads it again and compares its size and SHA-256 with what was
// written. If they differ, or cannot be compared, the object is removed.
func Write(ctx context.Context, p Place, name string, size int64, fill func(io.Writer) error) (Object, error) {
	wrote := summer{h: sha256.New()}
	err := p.Put(ctx, name, size, func(w io.Writer) error { return fill(io.MultiWriter(w, &wrote)) })
	if err != nil {
		return Object{}, err
	}
	o, err := compare(ctx, p, name, wrote)
	if err != nil {
		err = fmt.Errorf("%s was written and cannot be verified: %w", p.URL(name), err)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
		defer cancel()
		if e := p.Remove(ctx, name); e != nil && !errors.Is(e, ErrNotFound) {
			err = fmt.Errorf("%w; it is still there: %w", err, e)
		}
	}
	return o, err
}

// compare reads an object and compares it with what was written.
func compare(ctx context.Context, p Place, name string, wrote summer) (Object, error) {
	r, o, err := p.Open(ctx, name)
	if err != nil {
		return o, err
	}
	defer r.Close()
	read := summer{h: sha256.New()}
	if _, err := io.Copy(&read, io.LimitReader(r, wrote.n+1)); err != nil {
		return o, err
	}
	if read.n != wrote.n {
		return o, fmt.Errorf("it has not the %d bytes that were written", wrote.n)
	}
	if string(read.h.Sum(nil)) != string(wrote.h.Sum(nil)) {
		return o, errors.New("its SHA-256 is not that of what was written")
	}
	return o, nil
}

// summer counts and hashes what is written to it.
type summer struct {
	h hash.Hash
	n int64
}

func (s *summer) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return s.h.Write(p)
}

// checkName returns an error for a name that is not one in a place.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 128 || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%q is not a name: allowed are 1 to 128 bytes without slashes", name)
	}
	return nil
}

// parseEndpoint returns the host of the endpoint of a storage and whether it is to be reached over
// TLS.
func parseEndpoint(variable, text string) (host string, tls bool, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false, fmt.Errorf("%s is not a URL", variable) // the error of Parse has the text
	}
	switch {
	case u.User != nil:
		return "", false, fmt.Errorf("%s has credentials: they belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", variable)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "", strings.Trim(u.Path, "/") != "":
		return "", false, fmt.Errorf("%s: got %q, allowed: https://HOST:PORT, or http://HOST:PORT without encryption", variable, withoutPassword(text))
	}
	return u.Host, u.Scheme == "https", nil
}
