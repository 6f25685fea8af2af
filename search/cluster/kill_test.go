//go:build unix

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
)

// nodeEnv makes the test program a node: it reads commands from its standard input and writes
// answers, each on a line.
const nodeEnv = "SEARCHD_TEST_CLUSTER_NODE"

func TestMain(m *testing.M) {
	if o := os.Getenv(nodeEnv); o != "" {
		runNode(o)
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // clusters mostly wait: for elections, and for nodes that are gone
		panic(err)
	}
	os.Exit(m.Run())
}

// nodeCommand asks a node process for something: put (if Revision is the stored one, where that is
// not nil), get, count (documents with
// Text), find, create, status, or lose, which deletes all logs.
type nodeCommand struct {
	N        int
	Do       string
	ID, Text string
	Revision *uint64
	Batch    int // of a put or a count: so many documents, ID with a number each
}

// writes returns what a put writes.
func (c nodeCommand) writes() (list []backend.Write) {
	for k := range c.Batch {
		list = append(list, testWrite(fmt.Sprintf("%s-%d", c.ID, k), c.Text))
	}
	if c.Batch == 0 {
		list = []backend.Write{testWrite(c.ID, c.Text)}
		list[0].IfRevision = c.Revision
	}
	return list
}

type nodeAnswer struct {
	N        int
	Err      string
	Invalid  bool // it is the test's fault
	Status   backend.Status
	Revision uint64
	Text     string
	Total    int
	Cluster  Status
}

// nodeOptions are the options of a node in another process.
type nodeOptions struct {
	Node   string
	Listen string
	Peers  []string

	Security Security
	StopCopy string // file that the first node makes that copies documents to a log; it copies no more

	run []string // the command; default: this program
}

// runNode is the program of a node.
func runNode(options string) {
	var given nodeOptions
	if err := json.Unmarshal([]byte(options), &given); err != nil {
		panic(err)
	}
	o := Options{Cluster: "test", Node: given.Node, Listen: given.Listen, Peers: given.Peers, Partitions: 4, Security: given.Security}
	if given.StopCopy != "" {
		copied = func(done int) {
			if done < 10 {
				return
			}
			if f, err := os.OpenFile(given.StopCopy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil { // the first node
				fmt.Fprint(f, o.Node)
				f.Close()
				select {}
			}
		}
	}
	o.Embedded.Alarm = func(text string) { fmt.Fprintln(os.Stderr, o.Node, text) }
	b, err := Open(context.Background(), os.Getenv(nodeEnv+"_DIR"), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := json.NewEncoder(os.Stdout)
	var mu sync.Mutex
	send := func(a nodeAnswer) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(a)
	}
	send(nodeAnswer{}) // ready
	in := json.NewDecoder(os.Stdin)
	for {
		var c nodeCommand
		if err := in.Decode(&c); err != nil { // the test is gone
			os.Exit(0)
		}
		go func() { send(perform(b, c)) }()
	}
}

// perform does what a command asks for.
func perform(b *Backend, c nodeCommand) (a nodeAnswer) {
	most := 8 * time.Second
	if c.Do == "create" {
		most = patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	a.N = c.N
	var err error
	switch c.Do {
	case "put":
		var out []backend.Outcome
		if out, err = b.Apply(ctx, backend.ApplyRequest{Collection: "docs", Writes: c.writes()}); err == nil {
			a.Status, a.Revision = out[0].Status, out[0].Revision
		}
	case "count":
		var ids []string
		for _, w := range c.writes() {
			ids = append(ids, w.ID)
		}
		want := testWrite("", c.Text).Fields
		err = backend.LookupPages(ctx, b, backend.LookupRequest{Collection: "docs", IDs: ids}, func(_ []string, docs []*backend.Document) error {
			for _, d := range docs {
				if d != nil && string(d.Fields) == string(want) {
					a.Total++
				}
			}
			return nil
		})
	case "get":
		var docs []*backend.Document
		if docs, err = b.Lookup(ctx, backend.LookupRequest{Collection: "docs", IDs: []string{c.ID}}); err == nil && docs[0] != nil {
			var fields struct{ Text string }
			err = json.Unmarshal(docs[0].Fields, &fields)
			a.Text, a.Revision = fields.Text, docs[0].Revision
		}
	case "find":
		var found backend.WordsResponse
		found, err = b.RetrieveWords(ctx, backend.WordsRequest{Collection: "docs", Words: backend.Words{Text: "common"}, Limit: 1})
		a.Total = found.Total
	case "create":
		err = b.Configure(ctx, backend.ConfigureRequest{Collection: "docs", Create: true, Config: backend.Config{Dimension: 2, Language: "en"}})
	case "lose":
		for p := range 4 {
			err = errors.Join(err, b.js.DeleteStream(ctx, b.streamName(b.collectionID(), p, 0)))
		}
	case "status":
		a.Cluster = b.Status(ctx)
	}
	if err != nil {
		a.Err, a.Invalid = err.Error(), errors.Is(err, backend.ErrInvalid)
	}
	return a
}

// process is a node in a process of its own.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	mu   sync.Mutex
	n    int
	wait map[int]chan nodeAnswer
	gone chan struct{}
}

// startProcess starts a node and waits until it is ready.
func startProcess(t *testing.T, dir string, o nodeOptions) *process {
	t.Helper()
	if o.run == nil {
		o.run = []string{os.Args[0]}
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{wait: map[int]chan nodeAnswer{}, gone: make(chan struct{})}
	p.cmd = exec.Command(o.run[0], o.run[1:]...)
	p.cmd.Env = append(os.Environ(), nodeEnv+"="+string(b), nodeEnv+"_DIR="+dir)
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait[0] = make(chan nodeAnswer, 1)
	ready := p.wait[0]
	go func() {
		defer close(p.gone)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var a nodeAnswer
			if json.Unmarshal(lines.Bytes(), &a) != nil {
				continue
			}
			p.mu.Lock()
			c := p.wait[a.N]
			delete(p.wait, a.N)
			p.mu.Unlock()
			if c != nil {
				c <- a
			}
		}
	}()
	select {
	case <-ready:
	case <-p.gone:
		t.Fatal("a node has ended")
	case <-time.After(patience):
		t.Fatalf("a node is not ready after %s", patience)
	}
	return p
}

// errGone is the error of a command to a node that was killed: its outcome is not known.
var errGone = errors.New("the node is gone")

// do sends a command and waits for the answer.
func (p *process) do(c nodeCommand) (nodeAnswer, error) {
	p.mu.Lock()
	p.n++
	c.N = p.n
	answer := make(chan nodeAnswer, 1)
	p.wait[c.N] = answer
	err := json.NewEncoder(p.in).Encode(c)
	p.mu.Unlock()
	if err != nil {
		return nodeAnswer{}, errGone
	}
	most := 20 * time.Second
	switch c.Do {
	case "create":
		most = patience
	case "find":
		most = time.Second // whoever searches asks another node then
	}
	select {
	case a := <-answer:
		if a.Err != "" {
			return a, errors.New(a.Err)
		}
		return a, nil
	case <-p.gone:
		return nodeAnswer{}, errGone
	case <-time.After(most):
		return nodeAnswer{}, errGone
	}
}

// register is the model of one document: writes that must find the revision they name, others, and
// reads. The revision of a text tells one write from another.
type registerInput struct {
	put   bool
	text  string
	given *string // the text that the write replaces; "" for none
}

type registerOutput struct {
	text    string
	unknown bool
	refused bool
}

var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in, out, now := input.(registerInput), output.(registerOutput), state.(string)
		switch {
		case !in.put:
			return out.unknown || out.text == now, now
		case out.refused:
			return in.given != nil && *in.given != now, now
		case in.given != nil && *in.given != now:
			return out.unknown, now
		}
		return true, in.text
	},
	Equal: func(a, b any) bool { return a == b },
}

// startProcesses starts a node for each peer, and makes the collection docs. A node that was killed
// is started again by start.
func startProcesses(t *testing.T, dir string, o nodeOptions) (nodes []*process, start func(i int) *process) {
	start = func(i int) *process {
		own := o
		own.Node, own.Listen = fmt.Sprint("n", i), o.Peers[i]
		p := startProcess(t, filepath.Join(dir, strconv.Itoa(i)), own)
		t.Cleanup(func() {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		})
		return p
	}
	nodes = make([]*process, len(o.Peers))
	var starting sync.WaitGroup
	for i := range nodes {
		starting.Go(func() { nodes[i] = start(i) })
	}
	starting.Wait()
	until(t, patience, func() error {
		_, err := nodes[0].do(nodeCommand{Do: "create"})
		if err != nil && strings.Contains(err.Error(), "exists") {
			return nil
		}
		return err
	})
	return nodes, start
}

// TestRepairerKilled deletes all logs, and kills the node that rebuilds one of them while it is at
// work: another one goes on, and nothing is lost.
func TestRepairerKilled(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	dir := t.TempDir()
	stop := filepath.Join(dir, "stop")
	nodes, start := startProcesses(t, dir, nodeOptions{Peers: freeAddresses(t, 3), StopCopy: stop})
	const documents = 120
	retry := func(i int, c nodeCommand) (a nodeAnswer) {
		until(t, patience, func() (err error) {
			a, err = nodes[i].do(c)
			return err
		})
		return a
	}
	for k := range documents {
		retry(k%3, nodeCommand{Do: "put", ID: fmt.Sprint("d", k), Text: "common"})
	}
	want := make([]nodeAnswer, documents)
	for k := range want {
		want[k] = retry(k%3, nodeCommand{Do: "get", ID: fmt.Sprint("d", k)})
	}
	if _, err := nodes[0].do(nodeCommand{Do: "lose"}); err != nil {
		t.Fatal(err)
	}
	killed := -1
	until(t, patience, func() error {
		name, err := os.ReadFile(stop)
		if err == nil {
			_, err = fmt.Sscanf(string(name), "n%d", &killed)
		}
		return err
	})
	if err := nodes[killed].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = nodes[killed].cmd.Wait()
	check := func(i int) {
		t.Helper()
		for k := range want {
			if got := retry(i, nodeCommand{Do: "get", ID: fmt.Sprint("d", k)}); got.Revision != want[k].Revision || got.Text != want[k].Text {
				t.Fatalf("through node %d, d%d is %+v, want %+v", i, k, got, want[k])
			}
		}
	}
	check((killed + 1) % 3)
	check((killed + 2) % 3)
	retry((killed+1)%3, nodeCommand{Do: "put", ID: "new", Text: "common"})
	nodes[killed] = start(killed)
	check(killed)
	until(t, patience, func() error {
		a, err := nodes[killed].do(nodeCommand{Do: "find"})
		if err == nil && a.Total != documents+1 {
			t.Fatalf("a search finds %d of %d", a.Total, documents+1)
		}
		return err
	})
}

// TestKills kills nodes at random, and freezes every third for a while, while writers and readers
// use the others: no acknowledged write is lost, the history of each document is linearizable, and
// searches miss nothing. CLUSTER_KILLS says how many nodes are hit, CLUSTER_SEED which, and
// CLUSTER_BATCH how many documents a writer writes at a time. With CLUSTER_REST=1 a fault waits
// until the node that was hit before serves again.
func TestKills(t *testing.T) {
	longtest.Skip(t)
	kills, seed := number(t, "CLUSTER_KILLS", 3), uint64(number(t, "CLUSTER_SEED", 1))
	batch, rest := max(1, number(t, "CLUSTER_BATCH", 1)), number(t, "CLUSTER_REST", 0) > 0
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	acknowledged, err := os.Create(filepath.Join(dir, "acknowledged")) // outside of the nodes
	if err != nil {
		t.Fatal(err)
	}
	defer acknowledged.Close()
	peers := freeAddresses(t, 3)
	nodes, start := startProcesses(t, dir, nodeOptions{Peers: peers})
	var mu sync.Mutex
	restart := func(i int) {
		p := start(i)
		mu.Lock()
		defer mu.Unlock()
		nodes[i] = p
	}
	node := func(r *rand.Rand) *process {
		mu.Lock()
		defer mu.Unlock()
		return nodes[r.IntN(3)]
	}

	done := make(chan struct{})
	var users sync.WaitGroup
	var log struct {
		sync.Mutex
		added      map[string]bool // ids of documents that are written once
		operations map[string][]porcupine.Operation
		failed     [2]time.Duration // the longest time in which writes, and searches, failed
	}
	log.added, log.operations = map[string]bool{}, map[string][]porcupine.Operation{}
	began := time.Now()
	var ok [2]struct {
		sync.Mutex
		last time.Time
	}
	worked := func(i int, err error) {
		ok[i].Lock()
		defer ok[i].Unlock()
		if now := time.Now(); err == nil {
			log.Lock()
			log.failed[i] = max(log.failed[i], now.Sub(ok[i].last))
			log.Unlock()
			ok[i].last = now
		}
	}
	ok[0].last, ok[1].last = began, began
	for u := range 6 {
		r := rand.New(rand.NewPCG(seed, uint64(u)+10))
		users.Go(func() { // adds documents
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprintf("u%d-%d", u, k)
				_, err := node(r).do(nodeCommand{Do: "put", ID: id, Text: "common " + id, Batch: batch})
				if worked(0, err); err == nil {
					fmt.Fprintln(acknowledged, id)
					log.Lock()
					log.added[id] = true
					log.Unlock()
				}
			}
		})
	}
	for u := range 4 {
		r := rand.New(rand.NewPCG(seed, uint64(u)+20))
		users.Go(func() { // changes and reads a few documents
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprint("shared", r.IntN(5))
				in, c := registerInput{}, nodeCommand{Do: "get", ID: id}
				called := time.Since(began)
				p := node(r)
				if k%2 == 1 {
					now, err := p.do(c)
					if err != nil {
						continue
					}
					called = time.Since(began)
					in = registerInput{put: true, text: fmt.Sprintf("%d of %d", k, u)}
					c = nodeCommand{Do: "put", ID: id, Text: in.text}
					if r.IntN(2) == 0 {
						in.given, c.Revision = &now.Text, &now.Revision
					}
				}
				a, err := p.do(c)
				out := registerOutput{text: a.Text, unknown: err != nil, refused: a.Status == backend.Conflict}
				op := porcupine.Operation{ClientId: u, Input: in, Output: out, Call: int64(called), Return: int64(time.Since(began))}
				if out.unknown {
					if !in.put {
						continue
					}
					op.Return = int64(time.Hour)
				}
				log.Lock()
				log.operations[id] = append(log.operations[id], op)
				log.Unlock()
				time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
			}
		})
	}
	users.Go(func() { // searches
		r := rand.New(rand.NewPCG(seed, 30))
		for {
			select {
			case <-done:
				return
			default:
			}
			log.Lock()
			least := batch * len(log.added)
			log.Unlock()
			a, err := node(r).do(nodeCommand{Do: "find"})
			if worked(1, err); err == nil && a.Total < least {
				t.Errorf("a search finds %d documents, %d were acknowledged before", a.Total, least)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	for k := range kills {
		for at := time.Now(); rest && time.Since(at) < patience; time.Sleep(100 * time.Millisecond) {
			a, err := nodes[k%3].do(nodeCommand{Do: "status"})
			if err == nil && !slices.ContainsFunc(a.Cluster.Partitions, func(p PartitionStatus) bool { return p.Leader == "" || len(p.Serving) < 2 }) {
				break
			}
		}
		time.Sleep(time.Duration(2000+r.IntN(3000)) * time.Millisecond)
		i := r.IntN(3)
		if k%3 == 2 {
			_ = nodes[i].cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(1000+r.IntN(9000)) * time.Millisecond)
			_ = nodes[i].cmd.Process.Signal(syscall.SIGCONT)
			t.Logf("fault %d: node %d was frozen", k+1, i)
			continue
		}
		_ = nodes[i].cmd.Process.Signal(syscall.SIGKILL)
		_ = nodes[i].cmd.Wait()
		time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond)
		restart(i)
		log.Lock()
		t.Logf("kill %d, of node %d: %d documents acknowledged; so far writes failed for up to %s, searches for up to %s", k+1, i, batch*len(log.added), log.failed[0].Round(time.Millisecond), log.failed[1].Round(time.Millisecond))
		log.Unlock()
	}
	time.Sleep(3 * time.Second)
	close(done)
	users.Wait()

	ids := slices.Sorted(maps.Keys(log.added))
	until(t, patience, func() error {
		for i, p := range nodes {
			a, err := p.do(nodeCommand{Do: "find"})
			if err != nil {
				return err
			}
			if a.Total < batch*len(ids) {
				return fmt.Errorf("node %d finds %d documents, acknowledged were %d", i, a.Total, batch*len(ids))
			}
		}
		return nil
	})
	for k, id := range ids {
		until(t, patience, func() error {
			a, err := nodes[k%3].do(nodeCommand{Do: "count", ID: id, Text: "common " + id, Batch: batch})
			if err == nil && a.Total != batch {
				t.Fatalf("%d documents %s were acknowledged, and there are %d", batch, id, a.Total)
			}
			return err
		})
	}
	checked := 0
	for id, operations := range log.operations {
		checked += len(operations)
		if got := porcupine.CheckOperationsTimeout(register, operations, patience); got != porcupine.Ok {
			t.Errorf("the history of %s, %d operations: %s", id, len(operations), got)
		}
	}
	t.Logf("%d kills, %d acknowledged documents, %d operations of shared documents; writes failed for up to %s, searches for up to %s",
		kills, batch*len(ids), checked, log.failed[0].Round(time.Millisecond), log.failed[1].Round(time.Millisecond))
}

// number returns a number of the environment.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n
}
