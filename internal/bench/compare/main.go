// Command compare measures what a search costs in two programs: the processor time and the median
// latency of keyword, semantic and hybrid searches in one and the other, and their ratios.
//
//	go run ./internal/bench/compare OLD NEW DOCUMENTS.jsonl QUERIES.txt [DIR]
//
// OLD and NEW are searchd binaries. OLD brings the documents into a data folder below DIR, which is
// kept, and NEW opens a copy of it. QUERIES has one query per line. The programs answer the same
// queries, one at a time, in turns: neither sees a query twice, so that no cache answers.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rounds is how often the programs take turns in each mode.
const rounds = 5

var modes = []string{"keyword", "semantic", "hybrid"}

func main() {
	if n := len(os.Args); n < 5 || n > 6 {
		fmt.Fprintln(os.Stderr, "usage: compare OLD NEW DOCUMENTS.jsonl QUERIES.txt [DIR]")
		os.Exit(2)
	}
	dir := ""
	if len(os.Args) == 6 {
		dir = os.Args[5]
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(before, after, documents, queries, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "compare-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		cmd := exec.Command(before, "ingest", "--data", data, documents)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s ingest: %w", before, err)
		}
	}
	copied := filepath.Join(dir, "copy")
	if err := os.RemoveAll(copied); err != nil {
		return err
	}
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		return err
	}
	lines, err := os.ReadFile(queries)
	if err != nil {
		return err
	}
	asked := strings.Split(strings.TrimSpace(string(lines)), "\n")
	each := len(asked) / (rounds * len(modes))
	if each == 0 {
		return fmt.Errorf("%s: got %d queries, want at least %d", queries, len(asked), rounds*len(modes))
	}
	programs := []*program{{path: before}, {path: after}}
	for i, p := range programs {
		if err := p.start([]string{data, copied}[i]); err != nil {
			return err
		}
		defer p.stop()
		for _, mode := range modes { // what only a first search does
			if _, err := p.search(mode, "first search"); err != nil {
				return err
			}
		}
	}
	used := map[string][2]*cost{}
	for round := range rounds {
		for m, mode := range modes {
			if round == 0 {
				used[mode] = [2]*cost{{}, {}}
			}
			part := asked[(round*len(modes)+m)*each:][:each]
			for i := range programs {
				at := (i + round) % 2 // each begins as often as the other
				if err := programs[at].measure(mode, part, used[mode][at]); err != nil {
					return err
				}
			}
		}
	}
	fmt.Printf("| %d searches each | processor time | | | median latency | | |\n|---|---:|---:|---:|---:|---:|---:|\n", rounds*each)
	for _, mode := range modes {
		was, is := used[mode][0], used[mode][1]
		fmt.Printf("| %s | %.2f ms | %.2f ms | %.2f | %.2f ms | %.2f ms | %.2f |\n", mode,
			was.processor(), is.processor(), is.processor()/was.processor(), was.median(), is.median(), is.median()/was.median())
	}
	return nil
}

// cost is what searches took.
type cost struct {
	busy   time.Duration
	waited []time.Duration
}

func (c *cost) processor() float64 {
	return c.busy.Seconds() * 1000 / float64(len(c.waited))
}

func (c *cost) median() float64 {
	slices.Sort(c.waited)
	return c.waited[len(c.waited)/2].Seconds() * 1000
}

// program is a server.
type program struct {
	path, addr string
	cmd        *exec.Cmd
}

// start serves a data folder and waits until it can be searched.
func (p *program) start(data string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	l.Close()
	p.cmd = exec.Command(p.path, "serve", "--data", data, "--addr", p.addr)
	var log bytes.Buffer
	p.cmd.Stderr = &log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if res, err := http.Get("http://" + p.addr + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	p.stop()
	return fmt.Errorf("%s serve is not ready after two minutes:\n%s", p.path, log.String())
}

func (p *program) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// measure searches for each of queries.
func (p *program) measure(mode string, queries []string, c *cost) error {
	before, err := p.busy()
	if err != nil {
		return err
	}
	for _, q := range queries {
		took, err := p.search(mode, q)
		if err != nil {
			return err
		}
		c.waited = append(c.waited, took)
	}
	after, err := p.busy()
	c.busy += after - before
	return err
}

func (p *program) search(mode, q string) (time.Duration, error) {
	body, err := json.Marshal(map[string]any{"q": q, "mode": mode})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	res, err := http.Post("http://"+p.addr+"/v1/collections/docs/search", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %q in mode %s: %s: %s", p.path, q, mode, res.Status, answer)
	}
	return time.Since(began), err
}

// busy returns the processor time that the program has used, from /proc.
func (p *program) busy() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	const utime, tick = 11, 10 * time.Millisecond // behind the name, which is in brackets
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var sum time.Duration
	for _, f := range fields[utime : utime+2] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
