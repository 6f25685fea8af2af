package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"searchd/search/backend"
)

func claim(epoch uint64) backend.Identity {
	return backend.Identity{Cluster: "c", Index: 1, Of: 3, Epoch: epoch}
}

// TestFence asks a shard by older and newer claims and by other places.
func TestFence(t *testing.T) {
	node := openNode(t)
	h := Handler(node, HandlerOptions{Key: "secret"})
	early, first, second := dialHandler(t, h), dialHandler(t, h), dialHandler(t, h)
	fill(t, early)
	if err := first.Claim(t.Context(), claim(1)); err != nil {
		t.Fatal(err)
	}
	write := func(s *Shard) error {
		_, err := s.Apply(t.Context(), "docs", library()[:1])
		return err
	}
	changing := map[string]func(s *Shard) error{
		"Apply":     write,
		"Create":    func(s *Shard) error { return s.Create(t.Context(), "more", config) },
		"Update":    func(s *Shard) error { return s.Update(t.Context(), "docs", config) },
		"Drop":      func(s *Shard) error { return s.Drop(t.Context(), "none") },
		"SetValues": func(s *Shard) error { return s.SetValues(t.Context(), map[string][]byte{"x/y": {1}}) },
		"Hold": func(s *Shard) error {
			release, err := s.Hold(t.Context(), "docs", backend.Position{1})
			if err == nil {
				release()
			}
			return err
		},
	}
	refused := func(name string, s *Shard) {
		t.Helper()
		for method, change := range changing {
			if err := change(s); !errors.Is(err, backend.ErrClaimed) {
				t.Errorf("%s, %s: %v, want ErrClaimed", name, method, err)
			}
		}
		if _, err := s.Collection(t.Context(), "docs"); err != nil {
			t.Errorf("%s, a read: %v", name, err)
		}
	}
	refused("who has not claimed it", early)
	if err := write(first); err != nil {
		t.Errorf("who has: %v", err)
	}
	if err := second.Claim(t.Context(), claim(2)); err != nil {
		t.Fatal(err)
	}
	refused("who claimed it before", first)
	if err := write(second); err != nil {
		t.Errorf("who claimed it last: %v", err)
	}
	if err := first.Claim(t.Context(), claim(2)); !errors.Is(err, backend.ErrClaimed) {
		t.Errorf("the same claim again: %v, want ErrClaimed", err)
	}
	refused("whose claim was refused", first)
	late := dialHandler(t, h)
	refused("who came after it", late)

	moved := claim(3)
	moved.Moved = "http://there"
	if err := late.Claim(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	refused("whose documents have moved", second)
	for what, err := range map[string]error{"a write": write(second), "a claim": second.Claim(t.Context(), claim(4))} {
		if !errors.Is(err, backend.ErrMoved) || !strings.Contains(err.Error(), "http://there") || !strings.Contains(err.Error(), "start the server in front of it again") {
			t.Errorf("%s where the documents have moved: %v, want ErrMoved and where to", what, err)
		}
	}
	refused("whose claim was refused", second)
	back := claim(4)
	back.Back = true
	if err := second.Claim(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	if err := write(second); err != nil {
		t.Errorf("who took it back: %v", err)
	}
	refused("who had moved them", late)

	older := dial(t, openNode(t))
	older.place.Store(second.place.Load()) // as if its folder had been replaced
	if _, err := older.Collections(t.Context()); !errors.Is(err, backend.ErrPlacement) {
		t.Errorf("a read of a folder of no cluster: %v, want ErrPlacement", err)
	}
	if err := write(older); !errors.Is(err, backend.ErrPlacement) {
		t.Errorf("a write to a folder of no cluster: %v, want ErrPlacement", err)
	}
	for _, id := range []backend.Identity{{Cluster: "d", Index: 1, Of: 3, Epoch: 2}, {Cluster: "c", Index: 0, Of: 3, Epoch: 2}, {Cluster: "c", Index: 1, Of: 2, Epoch: 2}} {
		second.place.Store(&id)
		if _, err := second.Collections(t.Context()); !errors.Is(err, backend.ErrPlacement) {
			t.Errorf("%+v: %v, want ErrPlacement", id, err)
		}
		if _, err := second.Identity(t.Context()); err != nil {
			t.Errorf("%+v, what it is: %v", id, err)
		}
	}
	ahead := claim(7)
	second.place.Store(&ahead)
	if err := write(second); !errors.Is(err, backend.ErrPlacement) || !strings.Contains(err.Error(), "older") {
		t.Errorf("a write of a claim that the folder has not seen: %v, want ErrPlacement", err)
	}
	if _, err := second.Collections(t.Context()); !errors.Is(err, backend.ErrPlacement) {
		t.Errorf("a read of who has a claim that the folder has not seen: %v, want ErrPlacement", err)
	}
}

// identified is a node that says something else of itself.
type identified struct {
	Node
	id backend.Identity
}

func (n *identified) Identity(context.Context) (backend.Identity, error) { return n.id, nil }

// TestPutInPlace: a folder that was put in the place of a shard is none of those who claimed what was there, whatever its epoch says.
func TestPutInPlace(t *testing.T) {
	node := &identified{openNode(t), claim(4)}
	node.id.Unclaimed = true
	h := Handler(node, HandlerOptions{Key: "secret"})
	before, looking := dialHandler(t, h), dialHandler(t, h)
	for _, epoch := range []uint64{2, 4, 6} {
		id := claim(epoch)
		before.place.Store(&id)
		if _, err := before.Collections(t.Context()); !errors.Is(err, backend.ErrPlacement) {
			t.Errorf("a read by who has claim %d: %v, want ErrPlacement", epoch, err)
		}
		if err := before.Drop(t.Context(), "docs"); !errors.Is(err, backend.ErrPlacement) {
			t.Errorf("a write by who has claim %d: %v, want ErrPlacement", epoch, err)
		}
	}
	if _, err := looking.Collections(t.Context()); err != nil {
		t.Errorf("a read by who has claimed nothing: %v", err)
	}
	if err := looking.Drop(t.Context(), "docs"); !errors.Is(err, backend.ErrClaimed) {
		t.Errorf("a write by who has claimed nothing: %v, want ErrClaimed", err)
	}
}

// TestExpect: who reads what somebody else has claimed reads that, or what is claimed later, and nothing older or put in its place; and writes nothing later.
func TestExpect(t *testing.T) {
	node := &identified{openNode(t), claim(4)}
	reader := dialHandler(t, Handler(node, HandlerOptions{Key: "secret"}))
	reader.Expect(claim(4))
	if _, err := reader.Collections(t.Context()); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		epoch     uint64
		unclaimed bool
		want      error
	}{{4, false, nil}, {6, false, nil}, {3, false, backend.ErrPlacement}, {4, true, backend.ErrPlacement}, {6, true, backend.ErrPlacement}} {
		node.id.Epoch, node.id.Unclaimed = tt.epoch, tt.unclaimed
		fresh := dialHandler(t, Handler(node, HandlerOptions{Key: "secret"}))
		fresh.Expect(claim(4))
		if _, err := fresh.Collections(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("a read where the last claim is %d, not claimed since it was put there: %v: %v, want %v", tt.epoch, tt.unclaimed, err, tt.want)
		}
		if err := fresh.Drop(t.Context(), "docs"); tt.epoch != 4 && !errors.Is(err, backend.ErrClaimed) && !errors.Is(err, backend.ErrPlacement) {
			t.Errorf("a write where the last claim is %d: %v", tt.epoch, err)
		}
	}
}

// TestFenceOfStandby: a standby is read, also where it has become another shard meanwhile, and not written to.
func TestFenceOfStandby(t *testing.T) {
	node := &identified{openNode(t), backend.Identity{Follows: "http://a"}}
	s := dialHandler(t, Handler(node, HandlerOptions{Key: "secret"}))
	if _, err := s.Collections(t.Context()); err != nil {
		t.Errorf("a read before what it follows was claimed: %v", err)
	}
	node.id = claim(2)
	node.id.Follows = "http://a"
	s.place.Store(&node.id)
	if _, err := s.Collections(t.Context()); err != nil {
		t.Errorf("a read after that: %v", err)
	}
	for name, err := range map[string]error{
		"Create": s.Create(t.Context(), "docs", config), "Drop": s.Drop(t.Context(), "docs"), "SetValues": s.SetValues(t.Context(), nil),
	} {
		if !errors.Is(err, backend.ErrReplica) || !strings.Contains(err.Error(), "http://a") {
			t.Errorf("%s: %v, want ErrReplica", name, err)
		}
	}
}

// slowNode writes until it is let go.
type slowNode struct {
	Node
	begun, end chan struct{}
}

func (n *slowNode) Drop(context.Context, string) error {
	close(n.begun)
	<-n.end
	return nil
}

// TestReadsBesideClaim: while a claim waits for a write reads are answered, and by who has claimed the shard before, too.
func TestReadsBesideClaim(t *testing.T) {
	node := &slowNode{openNode(t), make(chan struct{}), make(chan struct{})}
	h := Handler(node, HandlerOptions{Key: "secret"})
	first, second := dialHandler(t, h), dialHandler(t, h)
	if err := first.Claim(t.Context(), claim(1)); err != nil {
		t.Fatal(err)
	}
	var under sync.WaitGroup
	under.Go(func() {
		if err := first.Drop(context.Background(), "docs"); err != nil {
			t.Error(err)
		}
	})
	<-node.begun
	claimed := make(chan struct{})
	under.Go(func() {
		defer close(claimed)
		if err := second.Claim(context.Background(), claim(2)); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(50 * time.Millisecond) // the claim has come by then
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := first.Collections(ctx); err != nil {
			t.Errorf("a read: %v", err)
		}
		cancel()
		if t.Failed() {
			break
		}
	}
	select {
	case <-claimed:
		t.Error("the claim did not wait for the write")
	default:
	}
	close(node.end)
	under.Wait()
	if _, err := first.Collections(t.Context()); err != nil {
		t.Errorf("a read after it: %v", err)
	}
	if err := second.SetValues(t.Context(), map[string][]byte{"x/y": {1}}); err != nil {
		t.Errorf("a write of the claim: %v", err)
	}
}

// TestPlaces writes and reads headers.
func TestPlaces(t *testing.T) {
	for _, id := range []backend.Identity{{}, claim(1 << 63), {Cluster: "a \"b\"\r\nX: é\x00\xff", Index: 255, Of: 256, Epoch: 1}} {
		header := placeOf(id)
		if got, err := parsePlace(header); err != nil || got != id || strings.ContainsAny(header, "\r\n\x00") {
			t.Errorf("%+v came back as %+v from %q, %v", id, got, header, err)
		}
	}
	for _, header := range []string{"1", "1 2 3", "1 2 3 c", "x 2 3 \"c\"", "1 2 -3 \"c\"", "1 2 3 \"c", "1 2 99999999999999999999 \"c\""} {
		if _, err := parsePlace(header); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", header, err)
		}
	}
}

// watchedNode notes what is done to it and when it is claimed.
type watchedNode struct {
	Node
	mu    sync.Mutex
	epoch uint64
	late  []string // writes that ran after a newer claim
}

// id is the claim that a test's write is of, by the collection that it names.
func (w *watchedNode) Drop(_ context.Context, name string) error {
	var epoch uint64
	fmt.Sscan(name, &epoch)
	for range 3 { // it lasts a while
		w.mu.Lock()
		if epoch != w.epoch {
			w.late = append(w.late, fmt.Sprintf("a write of claim %d while %d is the last", epoch, w.epoch))
		}
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (w *watchedNode) Claim(ctx context.Context, id backend.Identity) error {
	if err := w.Node.Claim(ctx, id); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch = id.Epoch
	return nil
}

// TestClaimsAndWrites lets many claim a shard and write to it at once: no write is carried out, or goes on, after a newer claim.
func TestClaimsAndWrites(t *testing.T) {
	node := &watchedNode{Node: openNode(t)}
	h := Handler(node, HandlerOptions{Key: "secret"})
	var wg sync.WaitGroup
	var mu sync.Mutex
	carried := 0
	for worker := range uint64(4) {
		s := dialHandler(t, h)
		wg.Go(func() {
			for round := range uint64(8) {
				epoch := 1 + 4*round + worker
				if err := s.Claim(context.Background(), claim(epoch)); errors.Is(err, backend.ErrClaimed) {
					continue // a newer one was first
				} else if err != nil {
					t.Error(err)
					return
				}
				for range 20 {
					err := s.Drop(context.Background(), fmt.Sprint(epoch))
					if errors.Is(err, backend.ErrClaimed) {
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					carried++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for _, what := range node.late {
		t.Error(what)
	}
	if carried == 0 {
		t.Error("no write was carried out")
	}
}

// holding counts who holds its log.
type holding struct {
	Node
	mu    sync.Mutex
	held  string // the last position, empty where nobody holds
	holds int
}

func (h *holding) Hold(_ context.Context, _ string, after backend.Position) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = fmt.Sprint(after)
	h.holds++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = ""
	}, nil
}

func (h *holding) now() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// TestLeases holds, renews, takes over and forgets.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &holding{}
		l := leases{node: node}
		take := func(holder string, after uint64) {
			t.Helper()
			if err := l.hold(t.Context(), hold{"docs", backend.Position{after}, holder}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what, held string) {
			t.Helper()
			synctest.Wait()
			if got := node.now(); got != held {
				t.Errorf("%s: held is %q, want %q", what, got, held)
			}
		}
		take("a", 5)
		want("held", "[5]")
		time.Sleep(holdTime - time.Second)
		take("a", 5)
		time.Sleep(holdTime - time.Second)
		want("renewed", "[5]")
		time.Sleep(2 * time.Second)
		want("not heard of any more", "")
		take("a", 5)
		before := l.mu.byName["docs"]
		take("b", 6)
		l.end("docs", before) // its time was up at the same moment
		want("the end of who was there before", "[6]")
		l.letGo(held{"docs", "a"})
		want("let go by who was there before", "[6]")
		time.Sleep(holdTime / 2)
		l.letGo(held{"docs", "b"})
		want("let go", "")
		take("c", 7)
		time.Sleep(holdTime - time.Second)
		want("the time of the one before is no matter", "[7]")
		l.letGo(held{"docs", "c"})
		l.letGo(held{"docs", "c"})
		l.letGo(held{"none", "c"})
		for _, holder := range []string{"", strings.Repeat("x", maxHolder+1)} {
			if err := l.hold(t.Context(), hold{"docs", nil, holder}); !errors.Is(err, backend.ErrInvalid) {
				t.Errorf("holder %.10q: %v, want ErrInvalid", holder, err)
			}
		}
		if len(l.mu.byName) != 0 {
			t.Errorf("%d leases are left", len(l.mu.byName))
		}
	})
}

// TestHold holds a log through HTTP, and lets go of it.
func TestHold(t *testing.T) {
	node := &holding{Node: openNode(t)}
	s := dial(t, node)
	release, err := s.Hold(t.Context(), "docs", backend.Position{4})
	if err != nil || node.now() != "[4]" {
		t.Fatalf("Hold: %v, held is %q", err, node.now())
	}
	release()
	release()
	for began := time.Now(); node.now() != ""; time.Sleep(time.Millisecond) {
		if time.Since(began) > testTime {
			t.Fatal("it is held still")
		}
	}
	if _, err := s.Hold(t.Context(), "docs", backend.Position{9}); err != nil {
		t.Fatal(err)
	}
	s.Close() // a front that is gone: the lease ends by itself
	if node.now() != "[9]" {
		t.Errorf("held is %q after Close", node.now())
	}
}

// TestCloseWhileReleasing: Close does not wait for a shard that does not answer what is let go.
func TestCloseWhileReleasing(t *testing.T) {
	h := Handler(&holding{Node: openNode(t)}, HandlerOptions{Key: "secret"})
	asked, end := make(chan struct{}), make(chan struct{})
	s := dialHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/release") {
			close(asked)
			<-end
		}
		h.ServeHTTP(w, r)
	}))
	defer close(end)
	release, err := s.Hold(t.Context(), "docs", backend.Position{4})
	if err != nil {
		t.Fatal(err)
	}
	release()
	<-asked
	if began := time.Now(); s.Close() != nil || time.Since(began) > 5*time.Second {
		t.Errorf("Close took %v", time.Since(began))
	}
}

// answerOf reads what a handler answered with.
func answerOf(t *testing.T, body []byte) (f fault) {
	t.Helper()
	if err := json.Unmarshal(body, &f); err != nil {
		t.Errorf("answer %.200q: %v", body, err)
	}
	return f
}
