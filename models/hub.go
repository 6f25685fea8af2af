package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DefaultHub is the default of PullOptions.Hub.
const DefaultHub = "https://huggingface.co"

// Errors of a pull.
var (
	ErrRefused  = errors.New("refused for safety")                          // a host, an address or a path that must not be used
	ErrAccess   = errors.New("the hub gives no access")                     // 401 and 403
	ErrMismatch = errors.New("the content is not what the hub's list says") // digest or size
	ErrTooLarge = errors.New("larger than allowed")                         // a file, a list or the whole
	ErrHub      = errors.New("the hub does not answer as expected")         // status, JSON
	ErrLayout   = errors.New("the repository is not a usable checkpoint")   // files that are missing
)

// Bounds of the requests to a hub.
const (
	maxRedirects  = 5
	maxAttempts   = 5
	maxBackoff    = 30 * time.Second
	maxRetryAfter = 5 * time.Minute
	maxReplyBytes = 16 << 20 // one page of a list
)

// hub speaks the protocol of the Hugging Face hub. It is safe for concurrent use.
type hub struct {
	base     *url.URL
	loopback bool
	cdn      []string // suffixes of host names that the hub may redirect to
	token    string
	client   *http.Client
	backoff  time.Duration // first wait between attempts
	stall    time.Duration // how long a transfer may wait for data
	retrying func(error)   // called before each wait; never nil
}

func newHub(o PullOptions) (*hub, error) {
	raw := o.Hub
	if raw == "" {
		raw = DefaultHub
	}
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("hub %q: want https://HOST, without user, query or fragment", raw)
	}
	h := &hub{base: u, loopback: isLoopback(u.Hostname()), cdn: slices.Clone(o.CDN), token: strings.TrimSpace(o.Token),
		backoff: o.Backoff, stall: o.Stall, retrying: func(error) {}}
	if u.Scheme == "http" && !h.loopback {
		return nil, fmt.Errorf("%w: hub %q: http is for loopback addresses only, want https", ErrRefused, raw)
	}
	for _, c := range h.token {
		if c <= ' ' || c > '~' { // the token itself is not shown
			return nil, errors.New("token: it holds a character that no token has")
		}
	}
	if within(u.Hostname(), "huggingface.co") || within(u.Hostname(), "hf.co") {
		h.cdn = append(h.cdn, "huggingface.co", "hf.co")
	}
	if h.backoff <= 0 {
		h.backoff = time.Second
	}
	if h.stall <= 0 {
		h.stall = time.Minute
	}
	t := guard{loopback: h.loopback, private: o.AllowPrivate}.transport(u)
	if o.transport != nil {
		o.transport(t)
	}
	h.client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h, nil
}

// within reports whether host is domain or below it.
func within(host, domain string) bool {
	host, domain = strings.ToLower(host), strings.ToLower(strings.TrimPrefix(domain, "."))
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// allow checks one URL of a chain of redirects.
func (h *hub) allow(u *url.URL) error {
	host := u.Hostname()
	local := h.loopback && isLoopback(host)
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && local), u.User != nil, host == "":
		return fmt.Errorf("%w: the hub leads to %s, want https without a user", ErrRefused, safeURL(u))
	case h.own(u), local, slices.ContainsFunc(h.cdn, func(domain string) bool { return within(host, domain) }):
		return nil
	}
	return fmt.Errorf("%w: the hub %s leads to the host %q, which is neither itself nor allowed (--cdn)", ErrRefused, h.base.Host, host)
}

// own reports whether u has the scheme, host and port of the hub; the token is sent nowhere else.
func (h *hub) own(u *url.URL) bool {
	return u.Scheme == h.base.Scheme && hostPort(u) == hostPort(h.base)
}

// safeURL is u without its query, which in a redirect is a key to the file.
func safeURL(u *url.URL) string {
	return fmt.Sprintf("%q", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// url joins path segments, which it escapes, to the hub's URL; slashes inside a segment are escaped
// too.
func (h *hub) url(segments ...string) *url.URL {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	u, err := url.Parse(h.base.String() + "/" + strings.Join(escaped, "/"))
	if err != nil { // escaped segments behind a URL that has been parsed
		panic(err)
	}
	return u
}

// resolve is the URL of a file of a commit; slashes in its path stay.
func (h *hub) resolve(r Repo, commit, file string) *url.URL {
	return h.url(append([]string{r.Owner, r.Name, "resolve", commit}, strings.Split(file, "/")...)...)
}

// reply is the last response of a chain of redirects.
type reply struct {
	*http.Response
	linkedETag string // X-Linked-Etag of the hub: the digest of the file that it redirects to
}

// send requests target and follows redirects, each of which is checked. The caller closes the body.
func (h *hub) send(ctx context.Context, target *url.URL, header http.Header) (*reply, error) {
	linked := ""
	for range maxRedirects + 1 {
		if err := h.allow(target); err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header = header.Clone()
		req.Header.Set("User-Agent", "searchd")
		req.Header.Set("Accept-Encoding", "identity") // ranges and sizes are those of the file
		if h.token != "" && h.own(target) {
			req.Header.Set("Authorization", "Bearer "+h.token)
		}
		resp, err := h.client.Do(req)
		if err != nil {
			return nil, networkError(target, err)
		}
		if h.own(target) && linked == "" {
			linked = strings.Trim(strings.TrimPrefix(resp.Header.Get("X-Linked-Etag"), "W/"), `"`)
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return &reply{resp, linked}, nil
		}
		resp.Body.Close()
		next, err := target.Parse(location)
		if err != nil {
			return nil, fmt.Errorf("%w: %s redirects to %q", ErrHub, safeURL(target), location)
		}
		target = next
	}
	return nil, fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
}

// temporary marks an error after which another attempt may succeed.
type temporary struct {
	err   error
	after time.Duration // what the server asks to wait
}

func (t *temporary) Error() string { return t.err.Error() }
func (t *temporary) Unwrap() error { return t.err }

// networkError removes the URL with its query from the error and decides whether to try again.
func networkError(target *url.URL, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	err = fmt.Errorf("%s: %w", target.Host, err)
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrRefused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &dns) && dns.IsNotFound, errors.Is(err, syscall.ECONNREFUSED):
		return err
	case errors.As(err, &op), errors.As(err, &dns), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &temporary{err: err}
	}
	return err // certificates, malformed answers
}

// statusError closes a response that is no success and returns its error.
func (h *hub) statusError(r *reply, what string) error {
	defer r.Body.Close()
	note := r.Header.Get("X-Error-Message")
	if note != "" {
		note = fmt.Sprintf(" (the hub says %q)", note[:min(len(note), 200)])
	}
	err := fmt.Errorf("%s: %s%s", what, r.Status, note)
	hint := "; set HF_TOKEN to a token that may read it"
	if h.token != "" {
		hint = "; the token that was given may not read it"
	}
	switch r.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: %w: there is no such repository, or it is private%s", ErrAccess, err, hint)
	case http.StatusForbidden:
		return fmt.Errorf("%w: %w: it is private, or its conditions must be accepted on its page first%s", ErrAccess, err, hint)
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w: there is no such repository, revision or file", ErrNotFound, err)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &temporary{err: fmt.Errorf("%w: %w", ErrHub, err), after: retryAfter(r.Header.Get("Retry-After"), time.Now())}
	}
	return fmt.Errorf("%w: %w", ErrHub, err)
}

// retryAfter reads seconds or a date; 0 if it is neither.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// retry calls try until it succeeds, fails permanently, or has failed maxAttempts times without
// progress. try returns how far it got.
func (h *hub) retry(ctx context.Context, try func() (reached int64, err error)) error {
	const further = 1 << 20 // least progress that counts: a server that sends byte by byte must not keep the pull alive for ever
	var best int64
	for attempt := 1; ; attempt++ {
		reached, err := try()
		var t *temporary
		if err == nil || !errors.As(err, &t) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if reached >= best+further {
			best, attempt = reached, 1
		}
		if attempt == maxAttempts {
			return fmt.Errorf("%w (tried %d times)", err, attempt)
		}
		if t.after > maxRetryAfter {
			return fmt.Errorf("%w (asks to wait %v)", err, t.after)
		}
		h.retrying(err)
		if err := sleep(ctx, max(min(h.backoff<<(attempt-1), maxBackoff), t.after)); err != nil {
			return err
		}
	}
}

// json decodes the answer to target into v and returns the header.
func (h *hub) json(ctx context.Context, target *url.URL, what string, v any) (header http.Header, err error) {
	err = h.retry(ctx, func() (_ int64, err error) {
		ctx, watch := watchdog(ctx, h.stall)
		defer watch.stop()
		defer func() { err = watch.explain(ctx, err) }()
		r, err := h.send(ctx, target, http.Header{"Accept": {"application/json"}})
		if err != nil {
			return 0, err
		}
		if r.StatusCode != http.StatusOK {
			return 0, h.statusError(r, what)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(io.LimitReader(watch.reader(r.Body), maxReplyBytes+1))
		if err != nil {
			return 0, &temporary{err: fmt.Errorf("%s: %w", what, err)}
		}
		if len(b) > maxReplyBytes {
			return 0, fmt.Errorf("%w: %s: the answer is longer than %d bytes", ErrTooLarge, what, maxReplyBytes)
		}
		if err := json.Unmarshal(b, v); err != nil {
			return 0, fmt.Errorf("%w: %s: %v", ErrHub, what, err)
		}
		header = r.Header
		return 0, nil
	})
	return header, err
}
