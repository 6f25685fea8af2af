package e2e

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/searchd/internal/porttest"
)

// expected is a text with the ids and the vector that Hugging Face gives.
type expected struct {
	Text      string
	IDs       []int32
	Embedding []float64
}

// fixtures are checkpoints with expected.json that encode texts: the bundled ones, and others where
// they are.
func fixtures(t *testing.T) (dirs []string) {
	t.Helper()
	for _, pattern := range []string{"../../encoder/testdata/*/expected.json", "../../../shared/fixtures/*/expected.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if !strings.Contains(f, "cross-") {
				dirs = append(dirs, filepath.Dir(f))
			}
		}
	}
	if len(dirs) == 0 {
		t.Fatal("no fixtures")
	}
	return dirs
}

// TestEmbedCommand compares `searchd embed --ids` with Hugging Face's ids and vectors.
func TestEmbedCommand(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want []expected
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			var in strings.Builder
			for _, w := range want {
				if err := json.NewEncoder(&in).Encode(map[string]string{"text": w.Text}); err != nil {
					t.Fatal(err)
				}
			}
			code, out, stderr := run(t, in.String(), "searchd", "embed", "--model", dir, "--ids")
			if code != 0 {
				t.Fatal(stderr)
			}
			sc := bufio.NewScanner(strings.NewReader(out))
			sc.Buffer(nil, 1<<20)
			for i, w := range want {
				var got expected
				if !sc.Scan() {
					t.Fatalf("only %d lines", i)
				}
				if err := json.Unmarshal(sc.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got.IDs) != fmt.Sprint(w.IDs) {
					t.Errorf("%q: ids %v, want %v", w.Text, got.IDs, w.IDs)
				}
				if d := largest(got.Embedding, w.Embedding); !(d <= 2e-5) {
					t.Errorf("%q: vectors differ by %g", w.Text, d)
				}
			}
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, "tokens/s") || !strings.HasPrefix(last, fmt.Sprintf("%d texts", len(want))) {
				t.Errorf("last line on standard error: %q", last)
			}
			// The raw rows are the same numbers.
			_, rows, _ := run(t, in.String(), "searchd", "embed", "--model", dir, "--format", "f32")
			if len(rows) != 4*len(want)*len(want[0].Embedding) {
				t.Fatalf("%d bytes of raw rows", len(rows))
			}
			first := float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(rows))))
			if math.Abs(first-want[0].Embedding[0]) > 2e-5 {
				t.Errorf("first raw number %v, want %v", first, want[0].Embedding[0])
			}
		})
	}
}

func largest(a, b []float64) (d float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// TestEvalCommand evaluates a set that is small enough to know the answer.
func TestEvalCommand(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"corpus.jsonl":   `{"_id":"a","title":"Cats","text":"A kitten sleeps on the sofa."}` + "\n" + `{"_id":"b","title":"","text":"Interest rates of the bank rose."}` + "\n",
		"queries.jsonl":  `{"_id":"q","text":"sleeping kitten"}` + "\n",
		"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\ta\t1\n",
		"all.tsv":        strings.Repeat("cat\tA kitten sleeps on the sofa.\nbank\tInterest rates of the bank rose.\n", 10),
		"sts.tsv":        "5\tA cat sleeps.\tA cat is sleeping.\n2\tA cat sleeps.\tA dog barks.\n0\tA cat sleeps.\tThe stock market fell.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"keyword", "semantic", "hybrid"} {
		out, _ := mustRun(t, "searchd", "eval", "--dataset", dir, "--mode", mode, "--json")
		var f map[string]any
		if err := json.Unmarshal([]byte(out), &f); err != nil {
			t.Fatal(err)
		}
		if f["ndcg@10"] != 1.0 || f["recall@100"] != 1.0 || f["mrr@10"] != 1.0 || f["queries"] != 1.0 || f["docs"] != 2.0 {
			t.Errorf("%s: %v", mode, f)
		}
	}
	out, _ := mustRun(t, "searchd", "eval", "--sts", filepath.Join(dir, "sts.tsv"), "--json")
	var s struct {
		Spearman, Pearson float64
		Pairs             int
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Pairs != 3 || math.Abs(s.Spearman-1) > 1e-9 {
		t.Errorf("eval --sts: %s %v", out, err)
	}
	for _, args := range [][]string{{"--classes", dir}, {"--clusters", filepath.Join(dir, "all.tsv")}} {
		out, _ := mustRun(t, "searchd", append([]string{"eval", "--json"}, args...)...)
		var f struct {
			Vectors        float64
			Bags           float64 `json:"bag_of_words"`
			Classes, Texts int
		}
		if err := json.Unmarshal([]byte(out), &f); err != nil || f.Vectors != 1 || f.Bags != 1 || f.Classes != 2 || f.Texts != 20 {
			t.Errorf("eval %v: %s %v", args, out, err)
		}
	}
}

// TestServeCommand ingests into a running server, asks it, and stops it: it must end by itself,
// with nothing lost.
func TestServeCommand(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	addr := porttest.Free(t)
	server := command(t, "searchd", "serve", "--data", data, "--addr", addr)
	var log strings.Builder
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for range 100 {
		if r, err := http.Get("http://" + addr + "/readyz"); err == nil {
			r.Body.Close()
			if ready = r.StatusCode == 200; ready {
				break
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !ready {
		t.Fatalf("the server does not get ready: %s", log.String())
	}
	if _, summary := mustRun(t, "ingest", "--server", "http://"+addr, notesDir); !strings.Contains(summary, "55 created") {
		t.Errorf("ingest: %s", summary)
	}
	out, _ := mustRun(t, "searchd", "query", "--server", "http://"+addr, "cash reserves for unexpected bills")
	if !strings.HasPrefix(out, " 1  How large should an emergency fund be?") || !strings.Contains(out, "\n    emergency-fund.md\n") {
		t.Errorf("query: %s", out)
	}
	// A second process must not touch the folder meanwhile.
	if code, _, stderr := run(t, "", "searchd", "check", "--data", data); code != 2 || !strings.Contains(stderr, fmt.Sprint(server.Process.Pid)) {
		t.Errorf("a second process: exit code %d, %s", code, stderr)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, log.String())
	}
	for _, said := range []string{"new data folder", "msg=stopping reason=\"terminated signal received\"", "msg=stopped"} {
		if strings.Count(log.String(), said) != 1 {
			t.Errorf("the server did not say %q: %s", said, log.String())
		}
	}
	if out, _ := mustRun(t, "searchd", "check", "--data", data, "--deep"); out != "0 differences\n" {
		t.Errorf("check: %s", out)
	}
}

// TestConfigCommand wants each setting with its origin, in the order flag, environment, file,
// default.
func TestConfigCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "searchd.conf")
	if err := os.WriteFile(file, []byte("# a comment\naddr = 127.0.0.1:1\ndata = from-file\nlog-format = json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "searchd", "config", "--config", file, "--data", "from-flag")
	cmd.Env = append(os.Environ(), "SEARCHD_ADDR=127.0.0.1:2", "SEARCHD_DATA=from-env")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`data "from-flag" flag`, `addr "127.0.0.1:2" environment`, `log-format "json" ` + file + ":4", `precision "auto" default`} {
		if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
			t.Errorf("config lacks %q:\n%s", want, out)
		}
	}
	if err := os.WriteFile(file, []byte("adr = x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "searchd", "config", "--config", file); code != 2 || !strings.Contains(stderr, `searchd.conf:1: unknown setting "adr"`) {
		t.Errorf("an unknown setting: exit code %d, %s", code, stderr)
	}
}

// TestBackupCommand backs up, restores, and wants the same answers; damaged backups and folders in
// use are refused.
func TestBackupCommand(t *testing.T) {
	dir := t.TempDir()
	data, file, restored := filepath.Join(dir, "data"), filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	mustRun(t, "ingest", "--data", data, notesDir)
	mustRun(t, "searchd", "backup", "--data", data, file)
	mustRun(t, "searchd", "restore", file, "--data", restored)
	ask := func(data string) string {
		out, _ := mustRun(t, "searchd", "query", "--data", data, "soccer referee decisions about attackers")
		return out[:strings.LastIndex(out, ",")] // without the time it took
	}
	if before, after := ask(data), ask(restored); before != after {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if out, _ := mustRun(t, "searchd", "check", "--data", restored, "--deep"); out != "0 differences\n" {
		t.Errorf("check: %s", out)
	}
	if code, _, stderr := run(t, "", "searchd", "backup", "--data", data, file); code != 2 || !strings.Contains(stderr, "exists") {
		t.Errorf("onto a file that is there: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "searchd", "restore", file, "--data", data); code != 2 || !strings.Contains(stderr, "holds a store already") {
		t.Errorf("onto a folder in use: exit code %d, %s", code, stderr)
	}
	if err := os.Truncate(file, 50000); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "searchd", "restore", file, "--data", filepath.Join(dir, "third")); code != 2 || !strings.Contains(stderr, "not a whole backup") {
		t.Errorf("a truncated backup: exit code %d, %s", code, stderr)
	}
}
