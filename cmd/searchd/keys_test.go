package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api"
	"example.com/searchd/api/apitest"
	"example.com/searchd/search/embedded"
)

// command runs searchd with arguments and returns what it wrote to standard output.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return strings.TrimSpace(out.String()), err
}

// mustCommand is command where it must succeed.
func mustCommand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runCommand(t, args...)
	if err != nil {
		t.Fatalf("searchd %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func TestKeysOfAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := runCommand(t, "keys", "list", "--data", dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("list without a folder: %v", err)
	}
	if _, err := runCommand(t, "keys", "create", "--data", dir, "--scopes", "all"); err == nil || !strings.Contains(err.Error(), "name: got") {
		t.Errorf("create without a name: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a key that is refused made a folder")
	}
	for i, want := range []bool{true, false} {
		_, said, err := execute(t, "", "keys", "create", "--data", dir, "--scopes", "search", "--name", "first")
		if told := strings.Contains(said, "new data folder "+dir); err != nil || told != want {
			t.Errorf("key %d: told %q, %v; that the folder is new: want %t", i, said, err, want)
		}
		id := strings.Fields(strings.Split(mustCommand(t, "keys", "list", "--data", dir), "\n")[1])[0]
		mustCommand(t, "keys", "revoke", "--data", dir, id)
	}
	testKeys(t, "--data", dir)
}

// TestKeysOfAnybody prints keys whose names a terminal would obey.
func TestKeysOfAnybody(t *testing.T) {
	var out strings.Builder
	if err := printKeys(&out, []access.Key{{ID: "a", Spec: access.Spec{Name: "\x1b[2J\u202ex", Collections: []string{"b\nc\td"}}}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || strings.ContainsAny(out.String(), "\x1b\u202e\t") || !strings.Contains(lines[1], "b c d") {
		t.Errorf("printed %q", out.String())
	}
}

// rootKey returns an empty keyring and a key of it that may do everything.
func rootKey(t *testing.T) (ring *access.Keyring, root string) {
	t.Helper()
	ring, err := access.Open(&apitest.Vault{}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, root, err = ring.Create(t.Context(), access.Spec{Name: "root", Scopes: access.All}); err != nil {
		t.Fatal(err)
	}
	return ring, root
}

func TestKeysOfAServer(t *testing.T) {
	ring, root := rootKey(t)
	engine := apitest.New(t)
	srv := serverOf(t, api.Options{Engine: engine, Inference: engine.Inference(), Keys: ring})
	if _, err := runCommand(t, "keys", "list", "--server", srv); err == nil || !strings.Contains(err.Error(), "missing_api_key") {
		t.Errorf("list without a key: %v", err)
	}
	testKeys(t, "--server", srv, "--key", root)
	mustCommand(t, "keys", "create", "--server", srv, "--key", root, "--name", "made", "--scopes", "search")
	maker, err := ring.Check(root)
	if err != nil {
		t.Fatal(err)
	}
	if table := mustCommand(t, "keys", "list", "--server", srv, "--key", root); !strings.Contains(table, "MADE BY") || strings.Count(table, maker.ID) != 2 {
		t.Errorf("table:\n%s\nwant %s and what it made", table, maker.ID)
	}
}

// testKeys makes, lists and revokes a key at a place.
func testKeys(t *testing.T, place ...string) {
	t.Helper()
	with := func(args ...string) []string { return append(append([]string{"keys"}, args...), place...) }
	token := mustCommand(t, with("create", "--name", "laptop", "--scopes", "search,documents:read", "--collections", "docs,team-*", "--expires", "90d", "--rate", "2.5")...)
	if !strings.HasPrefix(token, "sd_") || strings.ContainsAny(token, " \n") {
		t.Fatalf("create printed %q", token)
	}
	find := func() *access.Key {
		var keys []access.Key
		if err := json.Unmarshal([]byte(mustCommand(t, with("list", "--json")...)), &keys); err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if k.Name == "laptop" {
				return &k
			}
		}
		return nil
	}
	k := find()
	if k == nil {
		t.Fatal("list lacks the key")
	}
	if k.Scopes != access.Search|access.DocumentsRead || strings.Join(k.Collections, " ") != "docs team-*" || k.Rate != 2.5 || k.Expires == nil || time.Until(*k.Expires) < 89*24*time.Hour {
		t.Errorf("list: %+v", k)
	}
	if table := mustCommand(t, with("list")...); !strings.Contains(table, k.ID) || !strings.Contains(table, "docs,team-*") || strings.Contains(table, token) {
		t.Errorf("table:\n%s", table)
	}
	for want, args := range map[string][]string{
		"name":     {"--scopes", "search"},
		"scopes":   {"--name", "x"},
		"fly":      {"--name", "x", "--scopes", "fly"},
		"tomorrow": {"--name", "x", "--scopes", "search", "--expires", "tomorrow"},
		"a b":      {"--name", "x", "--scopes", "search", "--collections", "a b"},
	} {
		if _, err := runCommand(t, with(append([]string{"create"}, args...)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("create %q: %v, want an error with %q", args, err, want)
		}
	}
	mustCommand(t, with("revoke", k.ID)...)
	if find() != nil {
		t.Error("list still has the revoked key")
	}
	if _, err := runCommand(t, with("revoke", k.ID)...); err == nil || !strings.Contains(err.Error(), k.ID) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestExpiryOfAKey(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "", "1h30m": "2030-01-01T13:30:00Z", "2d": "2030-01-03T12:00:00Z", "2031-02-03": "2031-02-03T00:00:00Z", "2031-02-03T04:05:06Z": "2031-02-03T04:05:06Z",
	} {
		got, err := parseExpiry(text, now)
		if err != nil || (got == nil) != (want == "") || got != nil && got.Format(time.RFC3339) != want {
			t.Errorf("parseExpiry(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"0d", "-1h", "soon", "d", "2031-13-01"} {
		if _, err := parseExpiry(text, now); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("parseExpiry(%q): %v", text, err)
		}
	}
}

func TestWhenServeStarts(t *testing.T) {
	loopback, everywhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4zero, Port: 1}
	with := func(s access.Spec) *apitest.Vault {
		v := &apitest.Vault{}
		ring, err := access.Open(v, access.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ring.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return v
	}
	soon := time.Now().Add(1100 * time.Millisecond)
	expired := with(access.Spec{Name: "a", Scopes: access.All, Expires: &soon})
	time.Sleep(time.Until(soon))
	for name, tt := range map[string]struct {
		vault   *apitest.Vault
		addr    net.Addr
		flags   guardFlags
		admin   string
		refused string // what the error names; empty: it starts
		guarded bool
	}{
		"loopback":                    {&apitest.Vault{}, loopback, guardFlags{}, "", "", false},
		"all pages":                   {&apitest.Vault{}, loopback, guardFlags{origins: []string{"*"}}, "", "--cors-origin", false},
		"all pages with a key":        {with(access.Spec{Name: "a", Scopes: access.All}), loopback, guardFlags{origins: []string{"*"}}, "", "", true},
		"loopback that needs a key":   {&apitest.Vault{}, loopback, guardFlags{requireKey: true}, "", "--require-key", true},
		"everywhere":                  {&apitest.Vault{}, everywhere, guardFlags{}, "", "--insecure", false},
		"everywhere, insecure":        {&apitest.Vault{}, everywhere, guardFlags{insecure: true}, "", "", false},
		"a key":                       {with(access.Spec{Name: "a", Scopes: access.All}), everywhere, guardFlags{}, "", "", true},
		"a key and insecure":          {with(access.Spec{Name: "a", Scopes: access.All}), everywhere, guardFlags{insecure: true}, "", "", true},
		"a key on loopback":           {with(access.Spec{Name: "a", Scopes: access.All}), loopback, guardFlags{}, "", "", true},
		"an expired key":              {expired, loopback, guardFlags{}, "", "no API key that has not expired", true},
		"admin key":                   {&apitest.Vault{}, everywhere, guardFlags{}, "0123456789abcdef", "", true},
		"admin key that is too short": {&apitest.Vault{}, loopback, guardFlags{}, "0123", adminKeyEnv, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(adminKeyEnv, tt.admin)
			ring, err := tt.flags.keys(tt.vault, tt.addr)
			if (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Fatalf("error %v, want one with %q", err, tt.refused)
			}
			if err == nil && ring.Guarded() != tt.guarded {
				t.Errorf("guarded = %v, want %v", ring.Guarded(), tt.guarded)
			}
		})
	}
}

// TestKeysToken: what the command and the Go client sign is what the keyring reads.
func TestKeysToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	key := mustCommand(t, "keys", "create", "--data", dir, "--scopes", "search,documents:read", "--name", "website")
	token := mustCommand(t, "keys", "token", "--key", key, "--filter", "tenant = 'a'", "--collections", "docs,shop-*", "--expires", "2h")
	vault, err := embedded.OpenVault(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer vault.Close()
	ring, err := access.Open(vault, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ring.Check(token)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := got.Tenant.Filter("shop-1")
	if !ok || f.Text != "tenant = 'a'" || got.Scopes != access.Search || got.MayUse("other") || time.Until(got.Tenant.Expires) < time.Hour {
		t.Errorf("%+v, %+v", got, f)
	}
	for flag, args := range map[string][]string{
		"--filter":  {"--key", key, "--filter", "tenant ="},
		"--filter:": {"--key", key, "--filter", ""}, // of a variable that is not set: it would open everything
		"--expires": {"--key", key, "--expires", "yesterday"},
		"--key":     {"--key", "not a key at all"},
	} {
		if _, err := runCommand(t, append([]string{"keys", "token"}, args...)...); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
