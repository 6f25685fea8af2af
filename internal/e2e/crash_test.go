package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// vocabulary for documents that are made up.
var vocabulary = strings.Fields(`river mountain engine bread music garden winter letter bridge doctor planet market window
	silver forest teacher harbor kitchen summer police basket mirror island camera orange travel camel pepper salad
	tunnel rocket violin carpet dragon pencil guitar farmer castle desert hammer jacket kettle ladder magnet needle
	oyster parrot quartz rabbit saddle temple umbrella valley walnut yellow zipper anchor beetle candle donkey`)

// writeCorpus writes n documents of 100 words as JSON lines.
func writeCorpus(t testing.TB, path string, n int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		words := make([]string, 100)
		for j := range words {
			words[j] = vocabulary[r.IntN(len(vocabulary))]
		}
		words[50] = fmt.Sprintf("unique%d", i)
		fmt.Fprintf(w, "{\"_id\":\"d%05d\",\"text\":%q}\n", i, strings.Join(words, " ")+".")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestKillDuringIngest kills the ingest at random moments, starts it again, and wants every
// document, once, and no difference between the store and its indexes. E2E_FULL=1 does it with
// 10,000 documents.
func TestKillDuringIngest(t *testing.T) {
	n, kills := 600, 3
	if os.Getenv("E2E_FULL") != "" {
		n, kills = 10000, 8
	}
	dir := t.TempDir()
	corpus, data := filepath.Join(dir, "corpus.jsonl"), filepath.Join(dir, "data")
	writeCorpus(t, corpus, n)
	span := 2 * time.Second // shorter where the ingest is
	for i := 0; i < kills; i++ {
		cmd := command(t, "ingest", "--data", data, corpus)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(span/8 + rand.N(span))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			if span /= 2; span < time.Millisecond {
				t.Fatal("the ingest ends before it can be killed")
			}
			if err := os.RemoveAll(data); err != nil {
				t.Fatal(err)
			}
			i = -1 // with an ingest that has all to do
			continue
		}
		if _, err := os.Stat(filepath.Join(data, "searchd.db")); err != nil {
			continue // killed before there was a store
		}
		if out, _ := mustRun(t, "searchd", "check", "--data", data, "--deep"); !strings.HasSuffix(out, "0 differences\n") {
			t.Fatalf("after kill %d: %s", i, out)
		}
	}
	_, summary := mustRun(t, "ingest", "--data", data, corpus)
	t.Log(summary)
	if out, _ := mustRun(t, "searchd", "check", "--data", data, "--deep"); out != "0 differences\n" {
		t.Fatalf("in the end: %s", out)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		out, _ := mustRun(t, "searchd", "query", "--data", data, "--mode", "keyword", "--json", fmt.Sprintf("unique%d", i))
		var r struct {
			Hits []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 1 || r.Hits[0].ID != fmt.Sprintf("d%05d", i) {
			t.Errorf("document %d: found %+v", i, r.Hits)
		}
	}
	// A second run has nothing to do.
	if _, summary := mustRun(t, "ingest", "--data", data, corpus); !strings.Contains(summary, fmt.Sprintf("%d unchanged", n)) {
		t.Errorf("a second run: %s", summary)
	}
}
