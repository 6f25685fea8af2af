//go:build linux

// Command scale measures a collection of many documents, end to end: the program ingest brings a
// file of them into a new data folder, searchd serves it and is asked, and searchd check reads it
// all. It prints a Markdown table. Linux only, as it reads /proc.
//
//	make build && go run ./internal/bench/scale --dir DIR --documents 1000000
//
// Documents have 60 words, a title, a language, a year, a price, a date and tags, 503 bytes as
// JSON, and no two are the same; see writer. What DIR has already is kept: a second run measures
// the server alone. Delete it after a run that was interrupted, and to measure another number of
// documents.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	bin, dir, model, words string
	documents, queries     int
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder with ingest and searchd")
	flag.StringVar(&o.dir, "dir", "", "folder for documents and data, kept")
	flag.StringVar(&o.model, "model", "embedded", "checkpoint")
	flag.StringVar(&o.words, "words", "testdata/notes", "folder with the texts of which the words are taken")
	flag.IntVar(&o.documents, "documents", 1_000_000, "documents")
	flag.IntVar(&o.queries, "queries", 50, "searches of each kind")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.dir == "" || o.documents < 1 || o.queries < 1 {
		return errors.New("--dir must name a folder, and --documents and --queries be at least 1")
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	w, err := newWriter(o.words)
	if err != nil {
		return err
	}
	docs, data := filepath.Join(o.dir, "docs.jsonl"), filepath.Join(o.dir, "data")
	if _, err := os.Stat(docs); errors.Is(err, fs.ErrNotExist) {
		if err := w.write(docs, o.documents); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "| | |\n|---|---|")
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		c := exec.CommandContext(ctx, filepath.Join(o.bin, "ingest"), "--data", data, "--model", o.model, docs)
		if err := measure(out, "ingest", o.documents, c); err != nil {
			return err
		}
	}
	for _, p := range []string{docs, data + "/searchd.db", data + "/indexes/*/graph.hnsw", data + "/indexes/*/keyword/*"} {
		size, err := sizes(p)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %.0f MB |\n", strings.TrimPrefix(p, o.dir+"/"), float64(size)/1e6)
	}
	if err := serve(ctx, o, w, data, out); err != nil {
		return err
	}
	return measure(out, "searchd check --deep", o.documents, exec.CommandContext(ctx, filepath.Join(o.bin, "searchd"), "check", "--deep", "--data", data))
}

// sizes adds up the bytes of the files that match pattern.
func sizes(pattern string) (n int64, err error) {
	files, err := filepath.Glob(pattern)
	for _, f := range files {
		s, e := os.Stat(f)
		if e != nil {
			return 0, e
		}
		n += s.Size()
	}
	return n, err
}

// measure runs a program and tells what it took.
func measure(out io.Writer, name string, documents int, c *exec.Cmd) error {
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	start := time.Now()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	wall, spent := time.Since(start), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
	peak := float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1000
	_, err := fmt.Fprintf(out, "| %s | %.0f s, %.0f documents/s, %.0f s of processor time, at most %.0f MB |\n",
		name, wall.Seconds(), float64(documents)/wall.Seconds(), spent.Seconds(), peak)
	return err
}

// serve starts the server, asks it searches of each kind and stops it.
func serve(ctx context.Context, o options, w *writer, data string, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	l.Close()
	log, err := os.Create(filepath.Join(o.dir, "serve.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(filepath.Join(o.bin, "searchd"), "serve", "--data", data, "--addr", addr)
	c.Stdout, c.Stderr = log, log
	start := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	defer func() {
		c.Process.Signal(syscall.SIGTERM)
		<-ended
	}()
	for ready := false; !ready; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return fmt.Errorf("the server ended; see %s", log.Name())
		case <-time.After(20 * time.Millisecond):
		}
		if res, err := http.Get("http://" + addr + "/readyz"); err == nil {
			res.Body.Close()
			ready = res.StatusCode == http.StatusOK
		}
	}
	wall := time.Since(start)
	spent, all, own, err := use(c.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| ready after | %.1f s, %.1f s of processor time, %d MB, of which %d MB are not mapped files |\n", wall.Seconds(), spent.Seconds(), all/1e6, own/1e6)
	for _, s := range searches {
		if err := ask(ctx, c.Process.Pid, addr, w.queries(o.queries), s, out); err != nil {
			return err
		}
	}
	if err := recall(ctx, addr, out); err != nil {
		return err
	}
	_, all, own, err = use(c.Process.Pid)
	fmt.Fprintf(out, "| memory after these | %d MB, of which %d MB are not mapped files |\n", all/1e6, own/1e6)
	return err
}

// recall tells what the server finds of the nearest neighbors of some stored vectors, by its own
// metrics.
func recall(ctx context.Context, addr string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, `searchd_index_sampled_recall{collection="docs"} `); ok {
			fmt.Fprintf(out, "| recall@10 of stored vectors | %s |\n", strings.TrimSpace(value))
		}
	}
	return err
}

// kind is a kind of searches.
type kind struct {
	name, body string
	words      int // of the query: 3, 0, -1 for a misspelled one, -2 for a phrase of two
}

var searches = []kind{
	{"keyword, three words", `"mode": "keyword"`, 3},
	{"semantic", `"mode": "semantic"`, 3},
	{"hybrid", `"mode": "hybrid"`, 3},
	{"hybrid, one in eight passes the filter", `"filter": "lang = 'de'"`, 3},
	{"hybrid, half pass the filter", `"filter": "price < 5000"`, 3},
	{"hybrid, three facets", `"facets": ["lang", "year", "tags"]`, 3},
	{"no words, three facets, no hits", `"facets": ["lang", "year", "tags"], "limit": 0`, 0},
	{"no words, sorted by price", `"sort": ["price"]`, 0},
	{"no words, sorted by price, offset 9,900", `"sort": ["price"], "offset": 9900, "window": 10000`, 0},
	{"a misspelled word", `"mode": "keyword"`, -1},
	{"a phrase of two words", `"mode": "keyword"`, -2},
}

// ask asks a kind of searches one after another, and tells the median and the largest time of an
// answer and the processor time of each.
func ask(ctx context.Context, pid int, addr string, queries []string, s kind, out io.Writer) error {
	before, _, _, err := use(pid)
	if err != nil {
		return err
	}
	var took []time.Duration
	for _, q := range queries {
		switch words := strings.Fields(q); s.words {
		case 0:
			q = ""
		case -1:
			q = words[0][1:] + words[0][:1]
		case -2:
			q = `"` + words[0] + " " + words[1] + `"`
		}
		quoted, _ := json.Marshal(q)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/collections/docs/search",
			bytes.NewReader(fmt.Appendf(nil, `{"q": %s, %s}`, quoted, s.body)))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		start := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		took = append(took, time.Since(start))
		var a struct{ Degraded bool }
		if err == nil && (res.StatusCode != http.StatusOK || json.Unmarshal(b, &a) != nil || a.Degraded) {
			err = fmt.Errorf("%s %.300s", res.Status, b)
		}
		if err != nil {
			return fmt.Errorf("%s: %q: %w", s.name, q, err)
		}
	}
	after, _, _, err := use(pid)
	slices.Sort(took)
	fmt.Fprintf(out, "| %s | %.1f ms, at most %.0f, %.1f of processor time |\n", s.name, ms(took[len(took)/2]), ms(took[len(took)-1]), ms(after-before)/float64(len(took)))
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// use returns the processor time of a process, its resident bytes, and those of them that are no
// pages of files.
func use(pid int) (spent time.Duration, all, own int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	var user, system int64 // in hundredths of a second
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, 0, 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		var n int64
		switch name, rest, _ := strings.Cut(line, ":"); name {
		case "VmRSS":
			fmt.Sscan(rest, &n)
			all = n << 10
		case "RssAnon":
			fmt.Sscan(rest, &n)
			own = n << 10
		}
	}
	return time.Duration(user+system) * 10 * time.Millisecond, all, own, err
}
