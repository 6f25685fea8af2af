package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/searchd/client"
	beir "example.com/searchd/internal/eval"
)

// TestClusterLikeOne compares three nodes, with 8 partitions and 2 replicas, with one server: words
// find the same documents with the same scores, to the last bit, hybrid search is as good, and
// costs at most half as much CPU again. CLUSTER_DATASETS names folders in BEIR's layout, with
// commas between, of which 20,000 documents are taken; the data folders stay in CLUSTER_WORK, if
// that is set.
func TestClusterLikeOne(t *testing.T) {
	if os.Getenv("CLUSTER_DATASETS") == "" {
		t.Skip("CLUSTER_DATASETS names no folders")
	}
	work := os.Getenv("CLUSTER_WORK")
	if work == "" {
		work = t.TempDir()
	}
	const most = 20_000
	type question struct {
		text     string
		relevant beir.Judgments
	}
	var questions []question
	documents := 0
	corpus, err := os.Create(filepath.Join(work, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	out := json.NewEncoder(corpus)
	for _, dir := range strings.Split(os.Getenv("CLUSTER_DATASETS"), ",") {
		c, err := beir.ReadCollection(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range c.Documents[:min(len(c.Documents), most-documents)] {
			if err := out.Encode(map[string]string{"id": filepath.Base(dir) + "/" + d.ID, "title": d.Title, "text": d.Text}); err != nil {
				t.Fatal(err)
			}
			documents++
		}
		for _, q := range c.Queries {
			relevant := beir.Judgments{}
			for id, grade := range c.Qrels[q.ID] {
				relevant[filepath.Base(dir)+"/"+id] = grade
			}
			questions = append(questions, question{q.Text, relevant})
		}
	}
	if documents < most {
		t.Fatalf("%d documents, want %d", documents, most)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
	questions = questions[:min(len(questions), 300)]

	one := filepath.Join(work, "one")
	if code, _, stderr := run(t, "", "searchd", "ingest", "--data", one, "--collection", "docs", corpus.Name()); code != 0 {
		t.Fatal(stderr)
	}
	var addrs []string
	for range 7 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	start := func(data, addr string, args ...string) *exec.Cmd {
		cmd := command(t, "searchd", append([]string{"serve", "--data", data, "--addr", addr}, args...)...)
		log, err := os.Create(data + ".log")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		if cmd.Stderr = log; cmd.Start() != nil {
			t.Fatal("a server does not start")
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	single := []*exec.Cmd{start(one, addrs[0])}
	var nodes []*exec.Cmd
	for i := range 3 {
		nodes = append(nodes, start(filepath.Join(work, fmt.Sprint("node", i)), addrs[1+i], "--cluster", "test", "--node-addr", addrs[4+i], "--peers", strings.Join(addrs[4:], ",")))
	}
	for _, addr := range addrs[:4] {
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
			code, _, stderr := run(t, "", "searchd", "health", "--addr", addr)
			if code == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(addr, " is not ready: ", stderr)
			}
		}
	}
	if code, _, stderr := run(t, "", "searchd", "migrate", "--from", "http://"+addrs[0], "--to", "http://"+addrs[1]); code != 0 {
		t.Fatal(stderr)
	}
	var servers [4]*client.Client
	for i := range servers {
		if servers[i], err = client.New(addrs[i], client.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	search := func(i int, text, mode string) (scores []float64, ids []string) {
		found, err := servers[i].Search(t.Context(), "docs", client.Query{Q: text, Syntax: "plain", Mode: mode, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			scores, ids = append(scores, h.Score), append(ids, h.ID)
		}
		return scores, ids
	}
	other := 0
	for k, q := range questions {
		want, wantIDs := search(0, q.text, "keyword")
		got, gotIDs := search(1+k%3, q.text, "keyword")
		if !slices.Equal(got, want) || !slices.Equal(ordered(gotIDs, got), ordered(wantIDs, want)) {
			if other++; other <= 3 {
				t.Errorf("%q finds\n%q with %v, one server\n%q with %v", q.text, gotIDs, got, wantIDs, want)
			}
		}
	}
	t.Logf("keyword: %d of %d queries have other hits or scores", other, len(questions))

	var quality, seconds [2]float64
	for warm := range 2 { // the first round fills caches
		quality, seconds = [2]float64{}, [2]float64{}
		for from := 0; from < len(questions); from += 50 { // in turns
			for side, processes := range [][]*exec.Cmd{single, nodes} {
				before := cpu(t, processes)
				for k, q := range questions[from:min(from+50, len(questions))] {
					text := q.text
					if warm == 1 {
						text += " ." // another query for the caches, the same for the model and the index
					}
					_, ids := search([]int{0, 1 + k%3}[side], text, "hybrid")
					quality[side] += beir.NDCG(ids, q.relevant, 10) / float64(len(questions))
				}
				seconds[side] += cpu(t, processes) - before
			}
		}
	}
	idle := cpu(t, nodes)
	time.Sleep(5 * time.Second)
	idle = (cpu(t, nodes) - idle) / 5
	t.Logf("hybrid: nDCG@10 %.4f, of one server %.4f; CPU %.1f ms a query, of one server %.1f: %.2f times; idle nodes use %.3f s a second",
		quality[1], quality[0], 1000*seconds[1]/float64(len(questions)), 1000*seconds[0]/float64(len(questions)), seconds[1]/seconds[0], idle)
	if d := quality[1] - quality[0]; d < -.003 || d > .003 {
		t.Errorf("nDCG@10 differs by %.4f, at most .003 is allowed", d)
	}
	if seconds[1] > 1.5*seconds[0] {
		t.Errorf("a hybrid query costs %.2f times the CPU of one server, at most 1.5 is allowed", seconds[1]/seconds[0])
	}
}

// ordered returns ids in an order that does not depend on that of equal scores, without those that
// share the last one: others with the same score may be on the next page.
func ordered(ids []string, scores []float64) (list []string) {
	for i, id := range ids {
		if len(ids) < 10 || scores[i] != scores[len(scores)-1] {
			list = append(list, fmt.Sprint(scores[i], " ", id))
		}
	}
	slices.Sort(list)
	return list
}

// cpu returns the seconds of CPU that processes have used.
func cpu(t *testing.T, processes []*exec.Cmd) (seconds float64) {
	t.Helper()
	for _, p := range processes {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			t.Fatal("the CPU time of a process: ", err)
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		for _, f := range fields[11:13] { // utime and stime, in hundredths
			ticks, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			seconds += ticks / 100
		}
	}
	return seconds
}
