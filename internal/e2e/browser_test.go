package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page is a browser tab, with what went wrong in it.
type page struct {
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string
}

// errNoBrowser says that there is none in PATH.
var errNoBrowser = errors.New("no chromium, chromium-browser or google-chrome in PATH")

// browser starts the browser of all tests, once; endBrowser ends it if it was started.
var browser = sync.OnceValues(func() (context.Context, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.NoFirstRun, chromedp.WindowSize(1440, 1000),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
		alloc, _ := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, _ := chromedp.NewContext(alloc)
		endBrowser = func() error { return chromedp.Cancel(ctx) }
		return ctx, chromedp.Do(ctx)
	}
	return nil, errNoBrowser
})

var endBrowser = func() error { return nil }

// open opens a tab with a profile of its own, which is empty. Without a browser the test is
// skipped, but fails where E2E_REQUIRE=1.
func open(t *testing.T, base string) *page {
	t.Helper()
	all, err := browser()
	if errors.Is(err, errNoBrowser) && os.Getenv("E2E_REQUIRE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(all, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &page{ctx: ctx, base: base}
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(5*time.Minute, cancel)
	t.Cleanup(func() { timeout.Stop() })
	for _, enable := range []func() error{
		func() error {
			_, err := chromedp.Run(ctx, protocol(network.Enable, network.EnableParams{}))
			return err
		},
		func() error { _, err := chromedp.Run(ctx, protocol(log.Enable, cdp.Empty{})); return err },
		func() error { _, err := chromedp.Run(ctx, protocol(runtime.Enable, cdp.Empty{})); return err },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
		}
	}
	if slow {
		if _, err := chromedp.Run(ctx, protocol(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 6})); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// slow says that the servers of these tests answer late and the browser's processor is slow, which
// shows tests that expect things to happen at once.
//
//	E2E_SLOW=1 go test ./internal/e2e -run Page
var slow = os.Getenv("E2E_SLOW") == "1"

// lateListener delays what is sent on its connections by up to half a second.
type lateListener struct{ net.Listener }

func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return lateConn{c}, nil
}

type lateConn struct{ net.Conn }

func (c lateConn) Write(b []byte) (int, error) {
	time.Sleep(rand.N(500 * time.Millisecond))
	return c.Conn.Write(b)
}

// protocol is an action that sends one command of the browser's protocol.
func protocol[P, R any](c cdp.Command[P, R], params P) chromedp.Action[R] {
	return func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) }
}

// watch notes errors on the console, exceptions, and requests to anywhere but the server.
func (p *page) watch(ev any) {
	problem := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			problem = fmt.Sprintf("console %s: %s", e.Type, e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.base+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			problem = "request to " + e.Request.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		p.problems = append(p.problems, problem)
		p.mu.Unlock()
	}
}

func (p *page) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		t.Fatalf("%v\nproblems: %s", err, p.problems)
	}
}

// eval evaluates a JavaScript expression.
func eval[T any](t *testing.T, p *page, js string) T {
	t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatalf("%s: %v\nproblems: %s", js, err, p.problems)
	}
	return v
}

// js runs statements.
func (p *page) js(t *testing.T, statements string) {
	t.Helper()
	eval[bool](t, p, "(() => { "+statements+"; return true; })()")
}

// key presses a letter as a keyboard does: the text is part of the key press, and goes nowhere when
// the page handles that.
func (p *page) key(t *testing.T, letter string) {
	t.Helper()
	for _, e := range []input.DispatchKeyEventParams{{Type: input.DispatchKeyEventTypeKeyDown, Key: letter, Text: letter}, {Type: input.DispatchKeyEventTypeKeyUp, Key: letter}} {
		if _, err := chromedp.Run(p.ctx, protocol(input.DispatchKeyEvent, e)); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for a JavaScript expression to become true.
func (p *page) until(t *testing.T, js string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		yes, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](js))
		if err != nil && !strings.Contains(err.Error(), "target navigated or closed") { // asked while another page is coming
			t.Fatalf("%s: %v\nproblems: %s", js, err, p.problems)
		}
		if yes {
			return
		}
	}
	t.Fatalf("never true: %s\nproblems: %s\nresults: %s", js, p.problems, eval[string](t, p, "document.querySelector('main').innerText"))
}

func (p *page) clean(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		t.Error(problem)
	}
	p.problems = nil
}

// expect wants nothing but failed requests of a status in the log, at least one.
func (p *page) expect(t *testing.T, status string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := false
	for _, problem := range p.problems {
		if !strings.Contains(problem, "the server responded with a status of "+status) {
			t.Error(problem)
			continue
		}
		seen = true
	}
	if !seen {
		t.Errorf("no request failed with %s", status)
	}
	p.problems = nil
}

// shoot writes a picture into the folder that E2E_SHOTS names.
func (p *page) shoot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("E2E_SHOTS")
	if dir == "" {
		return
	}
	time.Sleep(250 * time.Millisecond) // motion ends
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// look sets the size of the window and the colour scheme.
func (p *page) look(t *testing.T, width, height int64, scheme string) {
	t.Helper()
	var opts []chromedp.EmulateViewportOption
	if width < 600 {
		opts = append(opts, chromedp.EmulateMobile)
	}
	p.do(t, chromedp.EmulateViewport(width, height, opts...))
	_, err := chromedp.Run(p.ctx, protocol(emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
	if err != nil {
		t.Fatal(err)
	}
}
