package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// opKind is a kind of operation on one document.
type opKind uint8

const (
	opGet     opKind = iota // by id
	opFind                  // by a search with a filter
	opPut                   // whatever is stored
	opCreate                // If-None-Match: *
	opReplace               // If-Match, with the revision of old
	opRemove
)

// operation is an operation on the document of a key. A document holds its value, which no other
// write of a history has; 0 stands for no document.
type operation struct {
	kind     opKind
	key      int
	old, new int
}

// answer is what the server answered. An operation without an answer may have had its effect or
// not, and may have it later.
type answer struct {
	unknown bool
	value   int  // of opGet and opFind
	done    bool // of opCreate, opReplace and opRemove: the condition held, or there was a document
}

// register is the model of a document: what each operation may answer and which value it leaves.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, op := range history {
			byKey[op.Input.(operation).key] = append(byKey[op.Input.(operation).key], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return 0 },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(int), in.(operation), out.(answer)
		holds := map[opKind]bool{opPut: true, opCreate: s == 0, opReplace: s == i.old && s != 0, opRemove: s != 0}[i.kind]
		switch {
		case i.kind == opGet || i.kind == opFind:
			return o.value == s, s
		case !o.unknown && o.done != holds:
			return false, s
		case holds:
			return true, i.new
		}
		return true, s
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// historyClient sends operations and records them.
type historyClient struct {
	id     int
	url    string
	http   *http.Client
	values *atomic.Int64     // the last value that any client has written
	seen   map[int]seenValue // by key, what the client saw last
	ops    []porcupine.Operation
	start  time.Time
	rand   *rand.Rand
}

type seenValue struct{ value, revision int }

// storedDocument is what the server returns of one.
type storedDocument struct {
	ID       string `json:"id"`
	Revision int    `json:"revision"`
	Document struct {
		Value int `json:"value"`
	} `json:"document"`
}

func (c *historyClient) record(i operation, o answer, call int64) {
	op := porcupine.Operation{ClientId: c.id, Input: i, Output: o, Call: call, Return: time.Since(c.start).Nanoseconds()}
	if o.unknown {
		op.Return = math.MaxInt64
	}
	c.ops = append(c.ops, op)
}

// unreached is the status of a request for which there was no server.
const unreached = -1

// do sends a request and decodes its answer into out. It returns 0 where there was none, and
// unreached where the request was not sent either.
func (c *historyClient) do(method, path, body string, out any, header ...string) (status int) {
	req, err := http.NewRequest(method, c.url+path, bytes.NewBufferString(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if len(header) > 0 {
		req.Header.Set(header[0], header[1])
	}
	res, err := c.http.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return unreached
	}
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || out != nil && res.StatusCode < 300 && json.Unmarshal(b, out) != nil {
		return 0
	}
	return res.StatusCode
}

const documents = "/v1/collections/docs/documents"

func body(key, value int) string {
	return fmt.Sprintf(`{"id":"k%d","text":"a note","key":%d,"value":%d}`, key, key, value)
}

// step does one operation on one of the keys from first on. It returns false where the server was
// not ready for it.
func (c *historyClient) step(first, keys int) bool {
	i := operation{kind: opKind(c.rand.IntN(int(opRemove) + 1)), key: first + c.rand.IntN(keys)}
	path := documents + "/k" + strconv.Itoa(i.key)
	seen := c.seen[i.key]
	if i.kind >= opPut && i.kind < opRemove {
		i.new = int(c.values.Add(1))
	}
	if i.kind == opReplace {
		if i.old = seen.value; i.old == 0 {
			i.kind = opCreate
		}
	}
	if i.kind == opPut && c.rand.IntN(4) == 0 {
		return c.batch(i, first, keys)
	}
	var d storedDocument
	var o answer
	var status int
	call := time.Since(c.start).Nanoseconds()
	switch i.kind {
	case opGet:
		status = c.do("GET", path, "", &d)
		o.value = d.Document.Value
	case opFind:
		var found struct{ Hits []storedDocument }
		status = c.do("POST", "/v1/collections/docs/search", fmt.Sprintf(`{"q":"","filter":"key = %d"}`, i.key), &found)
		if len(found.Hits) > 0 {
			d = found.Hits[0]
		}
		o.value = d.Document.Value
	case opPut:
		status = c.do("PUT", path, body(i.key, i.new), &d)
	case opCreate:
		status = c.do("PUT", path, body(i.key, i.new), &d, "If-None-Match", "*")
	case opReplace:
		status = c.do("PUT", path, body(i.key, i.new), &d, "If-Match", fmt.Sprintf("%q", strconv.Itoa(seen.revision)))
	case opRemove:
		status = c.do("DELETE", path, "", nil)
	}
	reads := i.kind == opGet || i.kind == opFind
	switch {
	case status == 429 || status == 503 || status == unreached || reads && (status == 0 || status == 500):
		return false // nothing was done, or nothing was learnt
	case status == 0 || status == 500:
		o.unknown = true
		delete(c.seen, i.key)
	case status < 300:
		o.done = true
		c.seen[i.key] = seenValue{i.new, d.Revision}
		if i.kind == opGet {
			c.seen[i.key] = seenValue{o.value, d.Revision}
		} else if i.kind == opFind {
			c.seen[i.key] = seen
		}
	case status != 404 && status != 412:
		panic(fmt.Sprintf("%+v: status %d", i, status))
	}
	c.record(i, o, call)
	return status != 0
}

// batch puts the documents of three keys in one request, the first as i says.
func (c *historyClient) batch(i operation, first, keys int) bool {
	ins, list := []operation{i}, body(i.key, i.new)
	for n := 1; n < 3; n++ {
		next := operation{kind: opPut, key: first + (i.key-first+n)%keys, new: int(c.values.Add(1))}
		ins, list = append(ins, next), list+","+body(next.key, next.new)
	}
	call := time.Since(c.start).Nanoseconds()
	status := c.do("POST", documents, "["+list+"]", nil)
	if status == 429 || status == 503 || status == unreached {
		return false
	}
	for _, in := range ins {
		delete(c.seen, in.key)
		c.record(in, answer{unknown: status != 200, done: true}, call)
	}
	return status != 0
}

// TestHistory lets eight clients write, read, search and delete few documents while the server is
// killed again and again, and wants a history in which each document is a register: every
// acknowledged write is seen by what begins after it, every failed condition did not hold, and
// nothing is seen that was not written. HISTORY_OPERATIONS sets the number of operations;
// HISTORY_SEED repeats the choices of a run, not its timing.
func TestHistory(t *testing.T) {
	total, seed := int64(1000), time.Now().UnixNano()
	for name, v := range map[string]*int64{"HISTORY_OPERATIONS": &total, "HISTORY_SEED": &seed} {
		if s := os.Getenv(name); s != "" {
			var err error
			if *v, err = strconv.ParseInt(s, 10, 64); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	const clients, keys, perKey = 8, 10, 200 // a key has so many operations, because checking a long history takes long
	n := newNode(t, t.TempDir(), "history")
	n.start()
	if c := (&historyClient{url: n.url(), http: http.DefaultClient}); c.do("PUT", "/v1/collections/docs", "{}", nil) >= 300 {
		t.Fatal("the collection was not created")
	}
	start := time.Now()
	var done, values atomic.Int64
	all := make([]*historyClient, clients)
	var wait sync.WaitGroup
	for i := range all {
		c := &historyClient{id: i, url: n.url(), http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}, values: &values,
			seen: map[int]seenValue{}, start: start, rand: rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		all[i] = c
		wait.Go(func() {
			for done.Load() < total {
				if c.step(int(done.Load())/(keys*perKey)*keys, keys) {
					done.Add(1)
				} else {
					time.Sleep(20 * time.Millisecond) // the server is being started again
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { wait.Wait(); close(finished) }()
	kills, r := 0, rand.New(rand.NewPCG(uint64(seed), clients))
	for running := true; running; {
		select {
		case <-finished:
			running = false
		case <-time.After(time.Duration(300+r.IntN(1200)) * time.Millisecond):
			kills++
			_ = n.cmd.Process.Kill()
			_ = n.cmd.Wait()
			n.start()
		}
	}
	var history []porcupine.Operation
	unknown := 0
	for _, c := range all {
		history = append(history, c.ops...)
		for _, op := range c.ops {
			if op.Output.(answer).unknown {
				unknown++
			}
		}
	}
	t.Logf("%d operations, %d of them without an answer, %d kills, seed %d", len(history), unknown, kills, seed)
	switch porcupine.CheckOperationsTimeout(register, history, 5*time.Minute) {
	case porcupine.Illegal:
		t.Error("the history is not linearizable")
	case porcupine.Unknown:
		t.Error("the history could not be checked in five minutes")
	}
}
