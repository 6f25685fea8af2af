package access

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a vault in memory.
type memory struct {
	sync.Mutex
	values map[string][]byte
	writes int
	fail   error
}

func (m *memory) Values(prefix string) (map[string][]byte, error) {
	m.Lock()
	defer m.Unlock()
	return maps.Clone(m.values), m.fail
}

func (m *memory) SetValues(_ context.Context, values map[string][]byte) error {
	m.Lock()
	defer m.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.writes++
	for key, value := range values {
		if value == nil {
			delete(m.values, key)
		} else {
			m.values[key] = value
		}
	}
	return nil
}

func ring(t *testing.T, v *memory, o Options) *Keyring {
	t.Helper()
	if v.values == nil {
		v.values = map[string][]byte{}
	}
	k, err := Open(v, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func create(t *testing.T, k *Keyring, s Spec) (Key, string) {
	t.Helper()
	key, token, err := k.Create(t.Context(), s)
	if err != nil {
		t.Fatalf("Create(%+v): %v", s, err)
	}
	return key, token
}

func TestKeyLivesInTheVault(t *testing.T) {
	v := &memory{}
	k := ring(t, v, Options{})
	if k.Guarded() || k.Usable() {
		t.Fatal("an empty keyring is guarded or usable")
	}
	key, token := create(t, k, Spec{Name: "reader", Scopes: Search | DocumentsRead, Collections: []string{"team-*"}})
	for name, value := range v.values {
		if strings.Contains(string(value), token) || strings.Contains(string(value), strings.Split(token, "_")[2]) {
			t.Errorf("value %s holds the token: %s", name, value)
		}
	}
	again := ring(t, v, Options{})
	for name, k := range map[string]*Keyring{"the same": k, "opened again": again} {
		got, err := k.Check(token)
		if err != nil || got.ID != key.ID || got.Scopes != key.Scopes || !got.MayUse("team-a") || got.MayUse("docs") {
			t.Errorf("%s: Check = %+v, %v", name, got, err)
		}
		for _, wrong := range []string{"", "sd_", token[:len(token)-1], token + "a", "sd_" + key.ID + "_", strings.Replace(token, key.ID, "aaaaaaaaaaaa", 1)} {
			if _, err := k.Check(wrong); !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: Check(%q) = %v, want ErrUnknown", name, wrong, err)
			}
		}
	}
	if err := again.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Check(token); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoked: Check = %v, want ErrUnknown", err)
	}
	if len(v.values) != 0 {
		t.Errorf("revoked: the vault holds %v", v.values)
	}
	if !again.Guarded() {
		t.Error("revoking the last key opened the server")
	}
	if err := again.Revoke(t.Context(), key.ID); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoked twice: %v, want ErrUnknown", err)
	}
}

func TestExpiry(t *testing.T) {
	v := &memory{}
	k := ring(t, v, Options{})
	now := time.Now()
	k.now = func() time.Time { return now }
	at := now.Add(time.Hour)
	_, token := create(t, k, Spec{Name: "short", Scopes: Search, Expires: &at})
	if _, err := k.Check(token); err != nil {
		t.Errorf("before: %v", err)
	}
	now = at
	if _, err := k.Check(token); !errors.Is(err, ErrExpired) {
		t.Errorf("after: %v, want ErrExpired", err)
	}
	if k.Usable() || !k.Guarded() {
		t.Error("a keyring whose only key has expired must be guarded and of no use")
	}
}

func TestAdmin(t *testing.T) {
	if _, err := Open(&memory{}, Options{Admin: "too short"}); !errors.Is(err, ErrShort) {
		t.Errorf("Open with a short admin key: %v", err)
	}
	const token = "an admin key of some length"
	k := ring(t, &memory{}, Options{Admin: token})
	key, err := k.Check(token)
	if err != nil || !key.Scopes.Has(All) || !key.MayUse("anything") || !k.Guarded() || !k.Usable() {
		t.Errorf("Check = %+v, %v; guarded %v", key, err, k.Guarded())
	}
	if _, err := k.Check(token + "."); !errors.Is(err, ErrUnknown) {
		t.Errorf("another: %v", err)
	}
	if len(k.Keys()) != 0 {
		t.Errorf("Keys = %v", k.Keys())
	}
}

func TestLastUse(t *testing.T) {
	v := &memory{}
	k := ring(t, v, Options{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	k.now = func() time.Time { return now }
	key, token := create(t, k, Spec{Name: "used", Scopes: Search})
	for range 100 {
		if _, err := k.Check(token); err != nil {
			t.Fatal(err)
		}
		if err := k.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if v.writes != 2 {
		t.Errorf("%d writes for one key in one hour, want 2: made and used", v.writes)
	}
	again := ring(t, v, Options{})
	got, err := again.Key(key.ID)
	want := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	if err != nil || got.LastUsed == nil || !got.LastUsed.Equal(want) {
		t.Errorf("last used %v, %v; want %v", got.LastUsed, err, want)
	}
	now = now.Add(time.Hour)
	k.Check(token)
	if k.Flush(t.Context()); v.writes != 3 {
		t.Errorf("%d writes after another hour, want 3", v.writes)
	}
}

func TestWrongSpecs(t *testing.T) {
	past := time.Now().Add(-time.Second)
	k := ring(t, &memory{}, Options{})
	for field, s := range map[string]Spec{
		"name":           {Scopes: Search},
		"scopes":         {Name: "a"},
		"collections[1]": {Name: "a", Scopes: Search, Collections: []string{"ok", "no/slash"}},
		"collections":    {Name: "a", Scopes: Search, Collections: make([]string, 65)},
		"expires":        {Name: "a", Scopes: Search, Expires: &past},
		"rate_limit":     {Name: "a", Scopes: Search, Rate: -1},
		"rate_burst":     {Name: "a", Scopes: Search, Burst: -1},
	} {
		var fe *FieldError
		if _, _, err := k.Create(t.Context(), s); !errors.As(err, &fe) || fe.Field != field || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if k.Guarded() {
		t.Error("guarded without a key")
	}
}

func TestAVaultThatFails(t *testing.T) {
	broken := errors.New("disk on fire")
	v := &memory{values: map[string][]byte{}}
	k := ring(t, v, Options{})
	key, token := create(t, k, Spec{Name: "a", Scopes: Search})
	v.fail = broken
	if _, err := Open(v, Options{}); !errors.Is(err, broken) {
		t.Errorf("Open: %v", err)
	}
	if _, _, err := k.Create(t.Context(), Spec{Name: "b", Scopes: Search}); !errors.Is(err, broken) || len(k.Keys()) != 1 {
		t.Errorf("Create: %v, %d keys", err, len(k.Keys()))
	}
	if err := k.Revoke(t.Context(), key.ID); !errors.Is(err, broken) {
		t.Errorf("Revoke: %v", err)
	}
	if _, err := k.Check(token); err != nil {
		t.Errorf("a key that could not be revoked: %v", err)
	}
	v.fail = nil
	for _, bad := range []string{``, `{}`, `{"id":"x","hash":"00"}`, `{"id":"x","scopes":["fly"]}`} {
		v.values["key/x"] = []byte(bad)
		if _, err := Open(v, Options{}); err == nil {
			t.Errorf("Open with the value %q: no error", bad)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"docs", "docs", true}, {"docs", "docs2", false}, {"*", "anything", true}, {"*", "", true},
		{"team-*", "team-", true}, {"team-*", "team-a", true}, {"team-*", "my-team-a", false},
		{"*-a", "team-a", true}, {"*-a", "team-ab", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "acb", false}, {"a*b*b", "ab", false}, {"**", "x", true},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// TestWithin compares within with all names up to four letters: what a covered pattern matches, the
// outer one matches too.
func TestWithin(t *testing.T) {
	var patterns, texts []string
	var grow func(s, letters string, out *[]string)
	grow = func(s, letters string, out *[]string) {
		*out = append(*out, s)
		if len(s) < 4 {
			for _, c := range letters {
				grow(s+string(c), letters, out)
			}
		}
	}
	grow("", "ab*", &patterns)
	grow("", "ab", &texts)
	covered := 0
	for _, outer := range patterns {
		for _, inner := range patterns {
			if !within(inner, []string{outer}) {
				continue
			}
			covered++
			for _, s := range texts {
				if matches(inner, s) && !matches(outer, s) {
					t.Fatalf("%q is within %q, but only the former matches %q", inner, outer, s)
				}
			}
		}
	}
	if covered < len(patterns)*2 {
		t.Errorf("only %d pairs of %d patterns are covered", covered, len(patterns))
	}
}

func TestCovers(t *testing.T) {
	soon, late := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	k := Key{Spec: Spec{Scopes: Search | KeysAdmin, Collections: []string{"team-*"}, Expires: &soon}}
	for name, tt := range map[string]struct {
		s    Spec
		want bool
	}{
		"less":            {Spec{Scopes: Search, Collections: []string{"team-a*"}, Expires: &soon}, true},
		"another scope":   {Spec{Scopes: Search | DocumentsRead, Collections: []string{"team-a"}, Expires: &soon}, false},
		"all collections": {Spec{Scopes: Search, Collections: []string{"*"}, Expires: &soon}, false},
		"one too many":    {Spec{Scopes: Search, Collections: []string{"team-a", "docs"}, Expires: &soon}, false},
		"later":           {Spec{Scopes: Search, Collections: []string{"team-a"}, Expires: &late}, false},
		"never":           {Spec{Scopes: Search, Collections: []string{"team-a"}}, false},
	} {
		if err := k.Covers(tt.s); (err == nil) != tt.want || err != nil && !errors.Is(err, ErrExceeds) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimit: what a key with a rate makes has no more of it, and what names nothing has the same.
func TestLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		k, asked, want Spec
		covered        bool
	}{
		"nothing named":            {Spec{Rate: 5, Burst: 20}, Spec{}, Spec{Rate: 5, Burst: 20}, true},
		"burst alone":              {Spec{Rate: 5, Burst: 20}, Spec{Burst: 10}, Spec{Rate: 5, Burst: 10}, true},
		"less":                     {Spec{Rate: 5, Burst: 20}, Spec{Rate: 2}, Spec{Rate: 2}, true},
		"the same":                 {Spec{Rate: 5}, Spec{Rate: 5, Burst: 5}, Spec{Rate: 5, Burst: 5}, true},
		"more":                     {Spec{Rate: 0.001}, Spec{Rate: 1e6}, Spec{Rate: 1e6}, false},
		"larger burst":             {Spec{Rate: 5}, Spec{Rate: 1, Burst: 6}, Spec{Rate: 1, Burst: 6}, false},
		"a second of less is more": {Spec{Rate: 5, Burst: 1}, Spec{Rate: 4}, Spec{Rate: 4, Burst: 1}, true},
		"no rate of its own":       {Spec{Burst: 1}, Spec{Rate: 1e6, Burst: 9}, Spec{Rate: 1e6, Burst: 9}, true},
		"no rates":                 {Spec{}, Spec{}, Spec{}, true},
	} {
		k, got := Key{Spec: tt.k}, tt.asked
		if k.Limit(&got); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: Limit = %+v, want %+v", name, got, tt.want)
		}
		if err := k.Covers(got); (err == nil) != tt.covered || err != nil && !errors.Is(err, ErrExceeds) {
			t.Errorf("%s: Covers = %v", name, err)
		}
		if k.Rate > 0 && k.Covers(Spec{}) == nil {
			t.Errorf("%s: covers a key without a rate", name)
		}
	}
}

func TestScopesAsJSON(t *testing.T) {
	b, err := json.Marshal(Search | KeysAdmin)
	if err != nil || string(b) != `["search","keys:admin"]` {
		t.Fatalf("Marshal = %s, %v", b, err)
	}
	var s Scopes
	if err := json.Unmarshal(b, &s); err != nil || s != Search|KeysAdmin {
		t.Errorf("Unmarshal = %v, %v", s, err)
	}
	var fe *FieldError
	if err := json.Unmarshal([]byte(`["fly"]`), &s); !errors.As(err, &fe) || fe.Field != "scopes" {
		t.Errorf("Unmarshal of an unknown scope: %v", err)
	}
	if all, err := ParseScopes([]string{"all"}); err != nil || all != All || len(all.Names()) != len(ScopeNames()) {
		t.Errorf("all = %v, %v", all, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	k := ring(t, &memory{}, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				key, token, err := k.Create(t.Context(), Spec{Name: "a", Scopes: Search})
				if err != nil {
					t.Error(err)
					return
				}
				k.Check(token)
				k.Flush(t.Context())
				k.Keys()
				if err := k.Revoke(t.Context(), key.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(k.Keys()); n != 0 {
		t.Errorf("%d keys left", n)
	}
}

// TestMakers: the rates that a key keeps to outlive the program, and the keys that they are from.
func TestMakers(t *testing.T) {
	v := &memory{}
	k := ring(t, v, Options{})
	maker, _ := create(t, k, Spec{Name: "0", Scopes: All, Rate: 5})
	rates := maker.Rates()
	for n := 1; ; n++ {
		made, token, err := k.CreateBy(t.Context(), &maker, Spec{Name: strconv.Itoa(n), Scopes: All, Rate: 4, Burst: n})
		if n > maxMakers {
			if !errors.Is(err, ErrExceeds) {
				t.Errorf("key %d of keys that made one another: %v, want ErrExceeds", n, err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Revoke(t.Context(), maker.ID); err != nil {
			t.Fatal(err)
		}
		rates = append([]Rate{{made.ID, 4, n}}, rates...)
		k = ring(t, v, Options{})
		again, err := k.Check(token)
		if err != nil || !slices.Equal(again.Rates(), rates) {
			t.Fatalf("opened again: %v, %+v, want %+v", err, again.Rates(), rates)
		}
		if again.MadeBy != maker.ID {
			t.Errorf("opened again: made by %q, which is revoked, want %q", again.MadeBy, maker.ID)
		}
		maker = *again
	}
	free, _ := create(t, k, Spec{Name: "free", Scopes: All})
	if made, _, err := k.CreateBy(t.Context(), &free, Spec{Name: "a", Scopes: All, Rate: 1}); err != nil || len(made.Rates()) != 1 {
		t.Errorf("made by a key without a rate: %+v, %v", made.Rates(), err)
	}
}

// TestRetiredScope: a key that an earlier version stored with a scope that is gone works with the
// others.
func TestRetiredScope(t *testing.T) {
	v := &memory{}
	key, token := create(t, ring(t, v, Options{}), Spec{Name: "old", Scopes: All})
	stored, err := v.Values(vaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(stored[vaultPrefix+key.ID]), `"metrics:read"`, `"metrics:read","replication"`, 1)
	if err := v.SetValues(t.Context(), map[string][]byte{vaultPrefix + key.ID: []byte(old)}); err != nil {
		t.Fatal(err)
	}
	k, err := ring(t, v, Options{}).Check(token)
	if err != nil || k.Scopes != All || !strings.Contains(old, retiredScope) {
		t.Errorf("Check = %v, %v, want the scopes %s", k, err, Scopes(All))
	}
	if _, err := ParseScopes([]string{retiredScope}); err == nil {
		t.Error("the scope can still be given")
	}
}

// TestLastUseOfMany: keys that were used in an hour are written many at a time.
func TestLastUseOfMany(t *testing.T) {
	v := &memory{}
	k := ring(t, v, Options{})
	const n = 2*flushKeys + 1
	for range n {
		_, token := create(t, k, Spec{Name: "used", Scopes: Search})
		if _, err := k.Check(token); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Flush(t.Context()); err != nil || v.writes != n+3 {
		t.Errorf("Flush of %d keys: %v, %d writes, want 3", n, err, v.writes-n)
	}
	for _, key := range ring(t, v, Options{}).Keys() {
		if key.LastUsed == nil {
			t.Fatalf("key %s was never used", key.ID)
		}
	}
}
