package main

import (
	"bytes"
	"cmp"
	"context"
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
	"syscall"
	"time"
)

// start runs a server until the returned function is called, and waits until it is ready.
func start(ctx context.Context, dir, ready string, env []string, name string, args ...string) (stop func(), err error) {
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), log, log
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		log.Close()
	}
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("%s ended: %s", name, text[max(0, len(text)-2000):])
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if res, err := http.Get(ready); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return stop, nil
			}
		}
	}
	stop()
	return nil, fmt.Errorf("%s is not ready after two minutes", name)
}

// ports returns n free ports of loopback.
func ports(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, out[i], _ = net.SplitHostPort(l.Addr().String())
	}
	return out, nil
}

// web is the client of both servers.
var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// post sends JSON and decodes the answer.
func post(ctx context.Context, url string, body, answer any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err = io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s: %s: %.500s", url, res.Status, b)
	}
	return json.Unmarshal(b, answer)
}

// searchd is our server.
type searchd struct{ base string }

func (s *searchd) start(ctx context.Context, program, dir string) (stop func(), err error) {
	p, err := ports(1)
	if err != nil {
		return nil, err
	}
	s.base = "http://127.0.0.1:" + p[0]
	return start(ctx, dir, s.base+"/readyz", nil, program, "serve", "--data", filepath.Join(dir, "searchd"), "--addr", "127.0.0.1:"+p[0])
}

func (s *searchd) embed(ctx context.Context, texts []string, kind string) ([][]float32, error) {
	var all [][]float32
	for len(texts) > 0 {
		n := min(len(texts), 1024)
		var a struct {
			Data []struct{ Embedding []float32 }
		}
		if err := post(ctx, s.base+"/v1/embeddings", map[string]any{"input": texts[:n], "input_type": kind}, &a); err != nil {
			return nil, err
		}
		for _, d := range a.Data {
			all = append(all, d.Embedding)
		}
		texts = texts[n:]
	}
	return all, nil
}

func (s *searchd) fill(ctx context.Context, docs []document) error {
	var made any
	if err := post(ctx, s.base+"/v1/collections", map[string]any{"name": "docs"}, &made); err != nil {
		return err
	}
	for len(docs) > 0 {
		n := min(len(docs), 500)
		body := make([]map[string]string, n)
		for i, d := range docs[:n] {
			body[i] = map[string]string{"id": d.id, "text": d.text}
		}
		var a struct{ Failed int }
		if err := post(ctx, s.base+"/v1/collections/docs/documents", body, &a); err != nil || a.Failed > 0 {
			return fmt.Errorf("%d documents failed: %w", a.Failed, err)
		}
		docs = docs[n:]
	}
	res, err := web.Get(s.base + "/v1/collections/docs")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var c struct{ Documents, Passages int }
	if err := json.NewDecoder(res.Body).Decode(&c); err != nil || c.Documents != c.Passages {
		return fmt.Errorf("%d passages of %d documents, want as many: %w", c.Passages, c.Documents, err)
	}
	return nil
}

// hit is a hit of searchd's answer; its explanation is there if it was asked for.
type hit struct {
	ID      string
	Explain struct {
		Vector struct{ Cosine float64 }
	}
}

func (s *searchd) ask(ctx context.Context, body map[string]any) ([]hit, error) {
	var a struct {
		Hits     []hit
		Degraded bool
	}
	if err := post(ctx, s.base+"/v1/collections/docs/search", body, &a); err != nil {
		return nil, err
	}
	if a.Degraded {
		return nil, errors.New("searchd degraded a search")
	}
	return a.Hits, nil
}

func hitIDs(hs []hit) []string {
	ids := make([]string, len(hs))
	for i, h := range hs {
		ids[i] = h.ID
	}
	return ids
}

func (s *searchd) hybrid(ctx context.Context, q query) ([]string, error) {
	hs, err := s.ask(ctx, map[string]any{"q": q.text, "syntax": "plain", "alpha": alpha, "limit": hits, "highlight": false})
	return hitIDs(hs), err
}

// nearest puts what semantic search compared token by token, its first 50 hits, back into the order
// of their vectors.
func (s *searchd) nearest(ctx context.Context, q query) ([]string, error) {
	hs, err := s.ask(ctx, map[string]any{
		"q": q.text, "syntax": "plain", "mode": "semantic", "limit": 50, "explain": true, "passages": 0, "highlight": false, "min_similarity": -1,
	})
	slices.SortStableFunc(hs, func(a, b hit) int { return cmp.Compare(b.Explain.Vector.Cosine, a.Explain.Vector.Cosine) })
	return hitIDs(hs[:min(hits, len(hs))]), err
}

// weaviate is the other one.
type weaviate struct {
	base   string
	search string // its gRPC method
}

func (s *weaviate) start(ctx context.Context, program, dir string) (stop func(), err error) {
	p, err := ports(6)
	if err != nil {
		return nil, err
	}
	s.base, s.search = "http://127.0.0.1:"+p[0], "http://127.0.0.1:"+p[3]+"/weaviate.v1.Weaviate/Search"
	env := []string{
		"PERSISTENCE_DATA_PATH=" + filepath.Join(dir, "weaviate"), "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "DEFAULT_VECTORIZER_MODULE=none",
		"DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE=true", "CLUSTER_HOSTNAME=node1", "CLUSTER_ADVERTISE_ADDR=127.0.0.1", "LOG_LEVEL=warning",
		"CLUSTER_GOSSIP_BIND_PORT=" + p[1], "CLUSTER_DATA_BIND_PORT=" + p[2], "GRPC_PORT=" + p[3], "RAFT_PORT=" + p[4], "RAFT_INTERNAL_RPC_PORT=" + p[5],
		"RAFT_BOOTSTRAP_EXPECT=1",
	}
	return start(ctx, dir, s.base+"/v1/.well-known/ready", env, program, "--scheme", "http", "--host", "127.0.0.1", "--port", p[0])
}

func (s *weaviate) fill(ctx context.Context, docs []document) error {
	var made any
	none := false
	class := map[string]any{
		"class": "Doc", "vectorizer": "none", "vectorIndexConfig": map[string]any{"distance": "cosine"},
		"properties": []map[string]any{
			{"name": "docid", "dataType": []string{"text"}, "indexFilterable": none, "indexSearchable": none},
			{"name": "text", "dataType": []string{"text"}, "indexFilterable": none},
		},
	}
	if err := post(ctx, s.base+"/v1/schema", class, &made); err != nil {
		return err
	}
	for len(docs) > 0 {
		n := min(len(docs), 500)
		objects := make([]map[string]any, n)
		for i, d := range docs[:n] {
			objects[i] = map[string]any{"class": "Doc", "properties": map[string]string{"docid": d.id, "text": d.text}, "vector": d.vector}
		}
		var results []struct {
			Result struct{ Status string }
		}
		if err := post(ctx, s.base+"/v1/batch/objects", map[string]any{"objects": objects}, &results); err != nil {
			return err
		}
		for _, r := range results {
			if r.Result.Status != "SUCCESS" {
				return fmt.Errorf("weaviate: an object has the status %q", r.Result.Status)
			}
		}
		docs = docs[n:]
	}
	return nil
}

// ask searches by gRPC, the quickest of Weaviate's ways.
func (s *weaviate) ask(ctx context.Context, request []byte) ([]string, error) {
	reply, err := call(ctx, s.search, request)
	if err != nil {
		return nil, err
	}
	return idsOf(reply)
}

func (s *weaviate) hybrid(ctx context.Context, q query) ([]string, error) {
	return s.ask(ctx, request(requestHybrid, hybridSearch(q)))
}

func (s *weaviate) nearest(ctx context.Context, q query) ([]string, error) {
	return s.ask(ctx, request(requestNear, message(nil, nearVector, floats(q.vector))))
}
