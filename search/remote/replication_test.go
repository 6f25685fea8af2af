package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"searchd/client"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/wire"
	"searchd/store"
)

// follow asks a shard as a replica of a server asks that.
func follow(t *testing.T, url, key string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.Options{Key: key, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestReplication makes a copy of a shard and follows it, with the client of replicas: both hold the same.
func TestReplication(t *testing.T) {
	node := openNode(t)
	server := httptest.NewServer(Handler(node, HandlerOptions{Key: "secret"}))
	t.Cleanup(server.Close)
	c := follow(t, server.URL, "secret")
	fill(t, node)
	body, id, err := c.Copy(t.Context(), "b")
	if err != nil || id != node.StoreID() {
		t.Fatalf("Copy: store %s, %v", id, err)
	}
	defer body.Close()
	dir := t.TempDir()
	if _, _, err := embedded.FetchCopy(t.Context(), body, dir, backend.Marker{Primary: id, URL: server.URL, Name: "b"}, func(text string) { t.Error(text) }); err != nil {
		t.Fatal(err)
	}
	if err := embedded.InstallCopy(dir); err != nil {
		t.Fatal(err)
	}
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	take := func() *wire.End {
		t.Helper()
		body, err := c.Changes(t.Context(), wire.Question{Follower: "b", Store: id, After: b.Stands()})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		end, err := wire.Read(body, func(n *store.News) error {
			_, _, err := b.Take(t.Context(), n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	if _, err := node.Apply(t.Context(), "docs", []backend.Write{{ID: "d1", Delete: true}, {ID: "more", Fields: []byte(`{"n":1}`)}}); err != nil {
		t.Fatal(err)
	}
	if err := node.Claim(t.Context(), claim(3)); err != nil {
		t.Fatal(err)
	}
	commits, _ := node.Commits()
	if end := take(); end.Behind != 0 || end.Commits != commits || !end.Named {
		t.Errorf("the end of the answer is %+v, want %d commits", end, commits)
	}
	if node.Followers() != 1 {
		t.Errorf("%d followers", node.Followers())
	}
	want, err := node.Collection(t.Context(), "docs")
	got, gotErr := b.Collection(t.Context(), "docs")
	if got.Origin = want.Origin; err != nil || gotErr != nil || got.Documents != want.Documents || got.Sequence != want.Sequence {
		t.Errorf("the copy has %+v, %v, want %+v, %v", got, gotErr, want, err)
	}
	followed := claim(3)
	followed.Follows = server.URL
	if is, err := b.Identity(t.Context()); err != nil || is != followed {
		t.Errorf("it is %+v, %v, want %+v", is, err, followed)
	}

	// A copy answers reads, and neither writes, claims nor followers.
	standby := dial(t, b)
	if _, err := standby.Collections(t.Context()); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := standby.Claim(t.Context(), claim(4)); !errors.Is(err, backend.ErrReplica) {
		t.Errorf("Claim: %v, want ErrReplica", err)
	}
	if _, err := standby.Apply(t.Context(), "docs", library()[:1]); !errors.Is(err, backend.ErrReplica) {
		t.Errorf("Apply: %v, want ErrReplica", err)
	}
	refusedAs(t, follow(t, standby.URL(), "secret"), wire.Question{Follower: "c", Store: b.StoreID(), After: map[uint32]uint64{}}, 409, "replica")
}

func refusedAs(t *testing.T, c *client.Client, q wire.Question, status int, code string) {
	t.Helper()
	body, err := c.Changes(t.Context(), q)
	if err == nil {
		body.Close()
	}
	var e *client.Error
	if !errors.As(err, &e) || e.Status != status || status != 401 && e.Code != code {
		t.Errorf("%+v: %v, want %d %s", q, err, status, code)
	}
}

// TestReplicationRefuses questions that nobody should ask.
func TestReplicationRefuses(t *testing.T) {
	node := openNode(t)
	stopping := make(chan struct{})
	h := Handler(node, HandlerOptions{Key: "secret", Stopping: stopping})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c := follow(t, server.URL, "secret")
	right := wire.Question{Follower: "b", Store: node.StoreID(), After: map[uint32]uint64{}}
	changed := func(change func(q *wire.Question)) wire.Question {
		q := right
		change(&q)
		return q
	}
	refusedAs(t, follow(t, server.URL, "another"), right, 401, "")
	refusedAs(t, c, changed(func(q *wire.Question) { q.Follower = "a b" }), 400, "invalid_request")
	refusedAs(t, c, changed(func(q *wire.Question) { q.Store = "another" }), 410, "replication_lost")
	fill(t, node)
	refusedAs(t, c, changed(func(q *wire.Question) { q.After = map[uint32]uint64{1: 1000} }), 410, "replication_lost")
	if _, _, err := c.Copy(t.Context(), ""); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a copy for nobody: %v", err)
	}
	for body, want := range map[string]int{"{": 400, "{}": 400, strings.Repeat(" ", maxQuestion+1): 413} {
		r := httptest.NewRequest(http.MethodPost, changesPath, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("a body of %d bytes: status %d, want %d", len(body), w.Code, want)
		}
	}

	// Who has everything waits until there is more, or the shard stops.
	n, err := node.News(t.Context(), "b", map[uint32]uint64{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var seq uint64
	for _, e := range n.Entries {
		seq = e.Seq
	}
	waiting := changed(func(q *wire.Question) { q.After, q.Version = map[uint32]uint64{1: seq}, n.Version })
	ask := func() chan error {
		done := make(chan error, 1)
		go func() {
			body, err := c.Changes(context.Background(), waiting)
			if err == nil {
				_, err = io.Copy(&bytes.Buffer{}, body)
				body.Close()
			}
			done <- err
		}()
		return done
	}
	done := ask()
	select {
	case err := <-done:
		t.Errorf("who has everything is answered at once: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := node.Apply(t.Context(), "docs", []backend.Write{{ID: "d1", Delete: true}}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after a write: %v", err)
	}
	waiting.After[1]++
	done = ask()
	time.Sleep(50 * time.Millisecond)
	close(stopping)
	var e *client.Error
	if err := <-done; !errors.As(err, &e) || e.Code != "shutting_down" {
		t.Errorf("when the shard stops: %v", err)
	}

	// There are not more of them than are answered at once.
	for range maxFollowing {
		h.(*handler).following <- struct{}{}
	}
	refusedAs(t, c, right, 503, "overloaded")
}
