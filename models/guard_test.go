package models

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGuard(t *testing.T) {
	const nobody, private, loopback = 0, 1, 2
	for _, tt := range []struct {
		addr string
		who  int // which guards let it pass, besides all where always is set
		all  bool
	}{
		{"1.1.1.1", nobody, true}, {"13.224.0.1", nobody, true}, {"172.32.0.1", nobody, true}, {"2600:9000::1", nobody, true},
		{"::ffff:1.1.1.1", nobody, true}, {"64:ff9b::1.1.1.1", nobody, true}, {"2002:101:101::1", nobody, true},
		{"127.0.0.1", loopback, false}, {"127.9.9.9", loopback, false}, {"::1", loopback, false}, {"::ffff:127.0.0.1", loopback, false},
		{"10.0.0.1", private, false}, {"172.16.0.1", private, false}, {"192.168.1.1", private, false}, {"::ffff:10.0.0.1", private, false},
		{"64:ff9b::10.0.0.1", private, false}, {"2002:a00:1::1", private, false},
		{"169.254.169.254", nobody, false}, {"::ffff:169.254.169.254", nobody, false}, {"64:ff9b::169.254.169.254", nobody, false},
		{"2002:a9fe:a9fe::1", nobody, false}, {"fe80::1%eth0", nobody, false}, {"fd00:ec2::254", nobody, false}, {"fc00::1", nobody, false},
		{"0.0.0.0", nobody, false}, {"0.1.2.3", nobody, false}, {"::", nobody, false}, {"::127.0.0.1", nobody, false}, {"100.100.100.200", nobody, false},
		{"168.63.129.16", nobody, false}, {"192.0.0.192", nobody, false}, {"198.18.0.1", nobody, false}, {"224.0.0.1", nobody, false}, {"240.0.0.1", nobody, false},
		{"255.255.255.255", nobody, false}, {"ff02::1", nobody, false}, {"fec0::1", nobody, false}, {"64:ff9b:1::1", nobody, false}, {"2001::1", nobody, false},
	} {
		a := netip.MustParseAddr(tt.addr)
		for who, g := range []guard{{}, {private: true}, {loopback: true}} {
			want := tt.all || who != nobody && who == tt.who
			if err := g.check(a); (err == nil) != want || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%+v: check(%s) = %v, want it to pass: %v", g, tt.addr, err, want)
			}
		}
	}
	for _, address := range []string{"127.0.0.1:443", "[::ffff:127.0.0.1]:443", "[fe80::1%lo]:443", "localhost:443", ""} {
		if err := (guard{}).control("tcp", address, nil); !errors.Is(err, ErrRefused) {
			t.Errorf("control(%q) = %v, want ErrRefused", address, err)
		}
	}
}

// distantHub makes options for a hub of the name hub.test, outside of this machine as far as the
// rules go: the dialer leads hub.test to the server, and every other host through the guard.
func distantHub(t *testing.T, handler http.HandlerFunc) PullOptions {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return PullOptions{Hub: "https://hub.test", Token: "hf_secret", Backoff: time.Millisecond, transport: func(tr *http.Transport) {
		guarded := tr.DialContext
		tr.Proxy = nil
		tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "hub.test:443" {
				return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			}
			return guarded(ctx, network, address)
		}
	}}
}

// TestRedirectInside has a hub outside that leads to services inside.
func TestRedirectInside(t *testing.T) {
	reached := false
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, tt := range []struct {
		location string
		cdn      string // the operator has allowed the name; the address must be refused then
	}{
		{"https://127.0.0.1:" + port + "/", ""},
		{"https://127.0.0.1:" + port + "/", "127.0.0.1"},
		{"http://127.0.0.1/", "127.0.0.1"},
		{"https://localhost:" + port + "/", ""},
		{"https://localhost:" + port + "/", "localhost"}, // the name is resolved, then the address refused
		{"https://[::ffff:127.0.0.1]:" + port + "/", "::ffff:127.0.0.1"},
		{"https://[::1]:" + port + "/", "::1"},
		{"https://2130706433:" + port + "/", ""},
		{"https://169.254.169.254/latest/meta-data/", ""},
		{"https://169.254.169.254/latest/meta-data/", "169.254.169.254"},
		{"http://169.254.169.254/latest/meta-data/", "169.254.169.254"},
		{"https://[::ffff:169.254.169.254]/", "::ffff:169.254.169.254"},
		{"https://[fd00:ec2::254]/", "fd00:ec2::254"},
		{"https://10.0.0.1/", "10.0.0.1"},
		{"https://other.test/", ""},
		{"https://evil-cdn.test/", "cdn.test"},
		{"https://cdn.test.evil.test/", "cdn.test"},
		{"https://hub.test:8443/", ""},
		{"http://hub.test/", ""},
		{"https://user:password@hub.test/", ""},
		{"file:///etc/passwd", ""},
		{"//127.0.0.1:" + port + "/", ""},
	} {
		t.Run(tt.location+" "+tt.cdn, func(t *testing.T) {
			cache := useCache(t)
			asked := 0
			o := distantHub(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Location", tt.location)
				w.WriteHeader(http.StatusFound)
			})
			if tt.cdn != "" {
				o.CDN = []string{tt.cdn}
			}
			_, err := Pull(t.Context(), "owner/name", o)
			if !errors.Is(err, ErrRefused) {
				t.Errorf("error %v, want ErrRefused", err)
			}
			if strings.Contains(err.Error(), "hf_secret") || strings.Contains(err.Error(), "password") {
				t.Errorf("the error shows a secret: %v", err)
			}
			if asked != 1 || reached {
				t.Errorf("the hub was asked %d times, the service inside was reached: %v", asked, reached)
			}
			if files := below(t, cache); len(files) != 0 {
				t.Errorf("left over: %q", files)
			}
		})
	}
}

// TestDialInside has no redirect: the name of the hub itself leads inside.
func TestDialInside(t *testing.T) {
	useCache(t)
	o := distantHub(t, nil)
	for _, name := range []string{"https://169.254.169.254", "https://10.0.0.1", "https://[fd00:ec2::254]"} {
		o.Hub = name
		if _, err := Pull(t.Context(), "owner/name", o); !errors.Is(err, ErrRefused) {
			t.Errorf("hub %s: error %v, want ErrRefused", name, err)
		}
	}
}

func TestToken(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	o := h.options()
	o.Token = " hf_secret\n"
	pullOrFail(t, "owner/name", o)
	h.mu.Lock()
	defer h.mu.Unlock()
	hub := len(slices.DeleteFunc(slices.Clone(h.mu.log), func(s string) bool { return !strings.HasPrefix(s, "hub") }))
	if h.mu.leaked || h.mu.authorized != hub {
		t.Errorf("the token went to the second server: %v; to the hub in %d of %d requests, want all", h.mu.leaked, h.mu.authorized, hub)
	}
	o.Token = "hf\r\nX-Evil: 1"
	if _, err := Pull(t.Context(), "owner/name@v2", o); err == nil || strings.Contains(err.Error(), "Evil") {
		t.Errorf("a token of two lines: error %v", err)
	}
}

func TestHubURL(t *testing.T) {
	for hub, ok := range map[string]bool{
		"": true, "https://huggingface.co": true, "https://mirror.example/path/": true, "http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:80": true,
		"http://huggingface.co": false, "http://10.0.0.1": false, "http://localhost.example": false, "huggingface.co": false, "ftp://huggingface.co": false,
		"https://user@huggingface.co": false, "https://huggingface.co?x=1": false, "https://": false, "https://h\x00": false,
	} {
		if _, err := newHub(PullOptions{Hub: hub}); (err == nil) != ok {
			t.Errorf("newHub(%q): error %v, want one: %v", hub, err, !ok)
		}
	}
}

func TestAllow(t *testing.T) {
	for _, tt := range []struct {
		hub, url string
		cdn      []string
		ok       bool
	}{
		{"", "https://huggingface.co/a", nil, true},
		{"", "https://HuggingFace.co:443/a", nil, true},
		{"", "https://cdn-lfs.huggingface.co/a", nil, true},
		{"", "https://cas-bridge.xethub.hf.co/a", nil, true},
		{"", "https://evilhuggingface.co/a", nil, false},
		{"", "https://hf.co.evil.test/a", nil, false},
		{"", "http://cdn-lfs.huggingface.co/a", nil, false},
		{"https://mirror.test", "https://cdn-lfs.huggingface.co/a", nil, false},
		{"https://mirror.test", "https://cdn-lfs.huggingface.co/a", []string{"huggingface.co"}, true},
		{"https://mirror.test", "https://sub.mirror.test/a", nil, false},
		{"http://127.0.0.1:1", "http://localhost:2/a", nil, true},
		{"http://127.0.0.1:1", "https://huggingface.co/a", nil, false},
	} {
		h, err := newHub(PullOptions{Hub: tt.hub, CDN: tt.cdn})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.allow(u); (err == nil) != tt.ok {
			t.Errorf("hub %q, cdn %q: allow(%s) = %v, want it to pass: %v", tt.hub, tt.cdn, tt.url, err, tt.ok)
		}
	}
}

// TestNextPage has pages of the list on another host, and lists without end.
func TestNextPage(t *testing.T) {
	for link, want := range map[string]error{
		`<https://other.test/x>; rel="next"`: ErrRefused,
		`<http://127.0.0.1:1/x>; rel="next"`: ErrRefused,
		`<?again=1>; rel="next"`:             ErrTooLarge,
		`<x>; rel="prev"`:                    ErrLayout, // an empty list
	} {
		useCache(t)
		h := newTestHub(t, "bert-mean")
		h.fault(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/tree/") {
				w.Header().Set("Link", link)
				w.Write([]byte("[]"))
				return true
			}
			return false
		}, nil)
		if _, err := Pull(t.Context(), "owner/name", h.options()); !errors.Is(err, want) {
			t.Errorf("Link %q: error %v, want %v", link, err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "x": 0, "99999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:05 GMT": 0,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte(`../x`), "5", int64(3))
	f.Fuzz(func(t *testing.T, p []byte, oid string, size int64) {
		e := treeEntry{Type: "file", Path: string(p), Size: size, OID: oid}
		if file, err := e.file(); err == nil && (strings.HasPrefix(file.path, "/") || strings.Contains("/"+file.path+"/", "/../") || len(file.digest()) != 40 || file.size < 0) {
			t.Errorf("%+v passes", file)
		}
		if localPath(string(p)) && strings.ContainsAny(string(p), "\\:") {
			t.Errorf("localPath(%q)", p)
		}
	})
}
