package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"searchd/access"
	"searchd/internal/porttest"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/remote"
)

// claimed makes a folder that is the second of three shards.
func claimed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Claim(t.Context(), backend.Identity{Cluster: "thecluster", Index: 1, Of: 3, Epoch: 4}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestShardFolderIsNoOther: what would take the folder of a shard for a whole one is refused by name.
func TestShardFolderIsNoOther(t *testing.T) {
	dir := claimed(t)
	for _, args := range []string{
		"serve --addr 127.0.0.1:0 --data " + dir,
		"keys create --name a --scopes all --data " + dir,
		"reembed --model embedded --data " + dir,
		"query --data " + dir + " words",
		"mcp --data " + dir,
	} {
		if _, err := command(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), "2 of 3 of the cluster thecluster") || !strings.Contains(err.Error(), "`searchd shard`") {
			t.Errorf("%s: %v, want what the folder is and what serves it", args, err)
		}
	}
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	for _, args := range []string{
		"check --deep --data " + dir, "compact --data " + dir, "backup --data " + dir + " " + backup, "restore " + backup + " --data " + restored, "check --data " + restored,
	} {
		mustCommand(t, strings.Fields(args)...)
	}
	if _, err := command(t, "serve", "--addr", "127.0.0.1:0", "--data", restored); err == nil || !strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("serve of a restored shard: %v", err)
	}
}

// TestShardRefuses what cannot be a shard, and what would be open to the world.
func TestShardRefuses(t *testing.T) {
	ordinary, keys := t.TempDir(), t.TempDir()
	b, err := embedded.Open(ordinary, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	mustCommand(t, "keys", "create", "--data", keys, "--name", "a", "--scopes", access.ScopeNames()[0])
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                      "--data DIR",
		"--addr 127.0.0.1:0 --data " + ordinary: "searchd spread --from " + ordinary,
		"--addr 127.0.0.1:0 --data " + keys:     "searchd spread --from " + keys,
		"--addr 0.0.0.0:0 --data new":           "--key-file",
		"--addr 127.0.0.1:0 --data new --key-file " + short:                 "5 bytes",
		"--addr 127.0.0.1:0 --data new --drain-grace -1s":                   "--drain-grace: got -1s",
		"--addr 127.0.0.1:0 --data new --tls-cert a":                        "name both or none",
		"--addr 127.0.0.1:0 --data new --debug-addr 0.0.0.0:0":              "--debug-addr",
		"--addr 127.0.0.1:0 --data new --log-format xml":                    "--log-format",
		"--addr 127.0.0.1:0 --data new --key-file " + ordinary + "/nothing": "--key-file",
	} {
		if _, err := command(t, append([]string{"shard"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("shard %s: %v, want %q", args, err, want)
		}
	}
	if _, err := os.Stat("new"); err == nil {
		t.Error("the data folder was made before all was checked")
	}
}

// TestShardServes: probes answer everybody, metrics those who have the key, and the end of the context ends it.
func TestShardServes(t *testing.T) {
	const key = "a key of sixteen bytes or more"
	t.Setenv(shardKeyEnv, key)
	addr := porttest.Free(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	f := shardFlags{data: claimed(t), addr: addr, logFormat: "text"}
	go func() { done <- f.serve(ctx) }()
	get := func(path, key string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if status, _ := get("/metrics", key); status == 200 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("it does not serve")
		}
	}
	get("/shard/v1/made-up", key)
	for given, want := range map[string]int{"": 401, "another key, as long": 401, key: 200} {
		if status, _ := get("/metrics", given); status != want {
			t.Errorf("/metrics with key %q: status %d, want %d", given, status, want)
		}
	}
	_, text := get("/metrics", key)
	for _, want := range []string{"searchd_shard_index 1", "searchd_shard_epoch 4", "searchd_store_bytes ", "searchd_store_read_only 0", `searchd_shard_request_duration_seconds_count{method="other"`} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(text, "made-up") {
		t.Error("a name that the sender made up became a label")
	}
	if _, err := command(t, "shard", "--addr", "127.0.0.1:0", "--data", f.data); err == nil || !strings.Contains(err.Error(), "one program at a time") {
		t.Errorf("a second one: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestShardMetrics: a method becomes a label once it has succeeded, and a name that the sender made up never does.
func TestShardMetrics(t *testing.T) {
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	log, err := logger("text")
	if err != nil {
		t.Fatal(err)
	}
	status := 400
	h := newShardMetrics(b, nil, "", log).over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	count := func(label string) bool {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Contains(rec.Body.String(), `duration_seconds_count{method="`+label+`",`)
	}
	post := func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/shard/v1/words", nil)) }
	if post(); count("words") || !count("other") {
		t.Error("a method that has not succeeded is a label")
	}
	status = 200
	if post(); !count("words") {
		t.Error("a method that has succeeded is no label")
	}
}

// TestShardWhileOpening answers probes before there is anything to serve.
func TestShardWhileOpening(t *testing.T) {
	log, err := logger("text")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newShardServer(l, nil, nil, log)
	defer s.srv.Close()
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/shard/v1/hello": 503, "/metrics": 503} {
		res, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != want || want == 503 && !strings.Contains(string(body), "opening the data folder") {
			t.Errorf("%s: status %d: %s, want %d", path, res.StatusCode, body, want)
		}
	}
	if _, stderr, err := execute(t, "", "health", "--addr", l.Addr().String()); err == nil || !strings.Contains(stderr, "opening the data folder") {
		t.Errorf("health: %v: %s", err, stderr)
	}
}

// TestShardsFlags gives serve values that cannot be, before anything is opened.
func TestShardsFlags(t *testing.T) {
	many := "http://h/0"
	for i := range backend.MaxShards {
		many += ",http://h/x" + strings.Repeat("x", i)
	}
	for args, want := range map[string]string{
		"--shards http://a,http://a/":                 "--shards: http://a is named twice",
		"--shards http://a,":                          "a URL is empty",
		"--shards http://a --follow http://b":         "--shards and --follow",
		"--shard-key-file x":                          "go with --shards",
		"--shards " + many:                            "at most 256",
		"--shards http://127.0.0.1:1 --shard-ca none": "--shard-ca",
	} {
		if _, err := command(t, append([]string{"serve", "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("serve %.60s: %v, want %q", args, err, want)
		}
	}
}

// TestBackupOfAShard takes what the shard sends, if it is a whole backup.
func TestBackupOfAShard(t *testing.T) {
	const key = "a key of sixteen bytes or more"
	t.Setenv(shardKeyEnv, key)
	whole := filepath.Join(t.TempDir(), "whole")
	mustCommand(t, "backup", "--data", claimed(t), whole)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	node, err := embedded.Open(claimed(t), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	sent, shard := b, remote.Handler(node, remote.HandlerOptions{Key: key})
	url := serveTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/shard/v1/backup" {
			shard.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Searchd-Shard", "1")
		_, _ = w.Write(sent)
	})
	to := filepath.Join(t.TempDir(), "backup")
	mustCommand(t, "backup", "--shard", url, to)
	if got, err := os.ReadFile(to); err != nil || string(got) != string(b) {
		t.Errorf("%d bytes, %v, want the %d that were sent", len(got), err, len(b))
	}
	sent = b[:len(b)/2]
	if _, err := command(t, "backup", "--shard", url, to+"2"); err == nil || !strings.Contains(err.Error(), "not a whole backup") {
		t.Errorf("half a backup: %v", err)
	}
	t.Setenv(shardKeyEnv, "")
	if _, err := command(t, "backup", "--shard", url, to+"3"); err == nil || !strings.Contains(err.Error(), "the key is missing or wrong") {
		t.Errorf("without the key: %v", err)
	}
	if _, err := command(t, "backup", "--shard", url, "--server", url, to+"4"); err == nil || !strings.Contains(err.Error(), "name one") {
		t.Errorf("of both: %v", err)
	}
	for _, n := range []string{"2", "3", "4"} {
		if _, err := os.Stat(to + n); err == nil {
			t.Errorf("there is a file %s", n)
		}
	}
}

// TestSpreadRefuses what would copy something else than was meant.
func TestSpreadRefuses(t *testing.T) {
	shard, empty := claimed(t), t.TempDir()
	ordinary := t.TempDir()
	b, err := embedded.Open(ordinary, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	keys := t.TempDir()
	mustCommand(t, "keys", "create", "--data", keys, "--name", "a", "--scopes", access.ScopeNames()[0])
	url := newServedShard(t, t.TempDir()).url
	filled := newServedShard(t, t.TempDir())
	if err := filled.b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	other := filled.url
	n := func(i string) string { return filepath.Join(empty, "new"+i) }
	for args, want := range map[string]string{
		"--from " + ordinary:                            "--to DIR",
		"--from " + ordinary + " --back":                "have not moved",
		"--from " + ordinary + " --back --to " + n("9"): "--from alone",
		"--from " + ordinary + " --back --more":         "--from alone",
		"--back":                                        "--from alone",
		"--from " + ordinary + " --to http://127.0.0.1:1/ --to http://127.0.0.1:1": "named twice",
		"--from " + ordinary + " --to http://127.0.0.1:1":                          "shard unavailable",
		"--from " + ordinary + " --to " + n("4") + " --shard-ca x":                 "go with URLs",
		"--from http://127.0.0.1:1 --to " + n("5") + " --shard-key-file " + n("6"): "--shard-key-file",
		"--from " + ordinary + " --to " + n("7") + "," + keys:                      "holds 0 collections and 1 names, keys or tasks",
		"--from " + url + " --to " + n("8"):                                        "is no shard of a cluster",
		"--from " + ordinary + " --to " + url + "," + other:                        "holds 1 collections",
		"--from " + empty + " --to " + n("1"):                                      "is no data folder",
		"--from " + ordinary + " --to " + ordinary + "/":                           "named twice",
		"--from " + ordinary + "," + shard + " --to " + n("2"):                     "not all of these are shards",
		"--from " + ordinary + " --to " + shard:                                    "name a new folder",
		"--from " + ordinary + " --to " + n("3") + "," + n("3") + "/":              "named twice",
	} {
		if _, err := command(t, append([]string{"spread"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("spread %s: %v, want %q", args, err, want)
		}
	}
	if id, err := filled.b.Identity(t.Context()); err != nil || id.Cluster != "" {
		t.Errorf("what is not filled was claimed: %+v, %v", id, err)
	}
}

func serveTest(t *testing.T, h http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
