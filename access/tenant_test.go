package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// sign signs claims as any library for JSON Web Tokens does, with the key as the secret.
func sign(t *testing.T, key, header, claims string) string {
	t.Helper()
	if len(key) <= sha256.BlockSize {
		t.Fatalf("a key of %d bytes: its hash would not verify what it signs", len(key))
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const hs256 = `{"alg":"HS256","typ":"JWT"}`

func TestTenantTokens(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	k := ring(t, &memory{}, Options{Admin: "an admin key that is long enough to be hashed by HMAC, too: 0123456789"})
	k.now = func() time.Time { return now }
	until := now.Add(time.Hour)
	key, secret := create(t, k, Spec{Name: "shop", Scopes: Search | DocumentsWrite, Collections: []string{"docs*", "shop"}, Expires: &until})
	other, otherSecret := create(t, k, Spec{Name: "other", Scopes: All})
	writer, writerSecret := create(t, k, Spec{Name: "writer", Scopes: DocumentsWrite})
	claims := func(id, more string) string { return fmt.Sprintf(`{"key":%q,"exp":1700000060%s}`, id, more) }

	for name, tc := range map[string]struct {
		token string
		want  error
		about string
	}{
		"good":                        {sign(t, secret, hs256, claims(key.ID, "")), nil, ""},
		"registered claims":           {sign(t, secret, hs256, claims(key.ID, `,"iss":"me","sub":"you","iat":1,"nbf":1,"jti":"x"`)), nil, ""},
		"signed by another key":       {sign(t, otherSecret, hs256, claims(key.ID, "")), ErrUnknown, ""},
		"of an unknown key":           {sign(t, secret, hs256, claims("aaaaaaaaaaaa", "")), ErrUnknown, ""},
		"of the admin key":            {sign(t, "an admin key that is long enough to be hashed by HMAC, too: 0123456789", hs256, claims(AdminID, "")), ErrUnknown, ""},
		"without a signature":         {strings.TrimRight(sign(t, secret, hs256, claims(key.ID, "")), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"), ErrUnknown, ""},
		"alg none":                    {sign(t, secret, `{"alg":"none"}`, claims(key.ID, "")), ErrUnknown, ""},
		"alg HS512":                   {sign(t, secret, `{"alg":"HS512"}`, claims(key.ID, "")), ErrUnknown, ""},
		"another type":                {sign(t, secret, `{"alg":"HS256","typ":"JWE"}`, claims(key.ID, "")), ErrUnknown, ""},
		"too long":                    {sign(t, secret, hs256, claims(key.ID, `,"filter":"`+strings.Repeat("x", maxTenantToken)+`"`)), ErrUnknown, ""},
		"without an end":              {sign(t, secret, hs256, fmt.Sprintf(`{"key":%q}`, key.ID)), ErrTenant, "exp"},
		"at its end":                  {sign(t, secret, hs256, fmt.Sprintf(`{"key":%q,"exp":1700000000}`, key.ID)), ErrExpired, ""},
		"end that is no time":         {sign(t, secret, hs256, fmt.Sprintf(`{"key":%q,"exp":1e300}`, key.ID)), ErrTenant, "exp"},
		"not begun":                   {sign(t, secret, hs256, claims(key.ID, `,"nbf":1700000001`)), ErrTenant, "nbf"},
		"a misspelled filter":         {sign(t, secret, hs256, claims(key.ID, `,"fliter":"a = 1"`)), ErrTenant, "fliter"},
		"an empty filter":             {sign(t, secret, hs256, claims(key.ID, `,"filter":""`)), ErrTenant, "filter: got"},
		"a filter of null":            {sign(t, secret, hs256, claims(key.ID, `,"filter":null`)), ErrTenant, "filter: got null"},
		"collections of null":         {sign(t, secret, hs256, claims(key.ID, `,"collections":null`)), ErrTenant, "collections: got null"},
		"two filters":                 {sign(t, secret, hs256, claims(key.ID, `,"filter":"a = 1","Filter":""`)), ErrTenant, "filter: occurs twice"},
		"a pattern that is none":      {sign(t, secret, hs256, claims(key.ID, `,"collections":["a/b"]`)), ErrTenant, "a/b"},
		"no collections":              {sign(t, secret, hs256, claims(key.ID, `,"collections":[]`)), ErrTenant, "collections"},
		"an audience":                 {sign(t, secret, hs256, claims(key.ID, `,"aud":"someone"`)), ErrTenant, "aud"},
		"claims of two kinds":         {sign(t, secret, hs256, claims(key.ID, `,"searchRules":["docs"]`)), ErrTenant, "searchRules"},
		"Meilisearch's":               {sign(t, secret, hs256, fmt.Sprintf(`{"apiKeyUid":%q,"searchRules":["docs"],"exp":1700000060}`, UUID(key.ID))), nil, ""},
		"Meilisearch's with a filter": {sign(t, secret, hs256, fmt.Sprintf(`{"apiKeyUid":%q,"searchRules":{"docs":{"filter":"a = 1"},"docs2":null},"exp":1700000060}`, UUID(key.ID))), nil, ""},
		"Meilisearch's without rules": {sign(t, secret, hs256, fmt.Sprintf(`{"apiKeyUid":%q,"exp":1700000060}`, UUID(key.ID))), ErrTenant, "searchRules"},
		"Meilisearch's, misspelled":   {sign(t, secret, hs256, fmt.Sprintf(`{"apiKeyUid":%q,"searchRules":{"docs":{"fliter":"a"}},"exp":1700000060}`, UUID(key.ID))), ErrTenant, "docs"},
		"a filter beside apiKeyUid":   {sign(t, secret, hs256, fmt.Sprintf(`{"apiKeyUid":%q,"searchRules":["docs"],"filter":"a = 1","exp":1700000060}`, UUID(key.ID))), ErrTenant, "filter"},
	} {
		got, err := k.Check(tc.token)
		if !errors.Is(err, tc.want) || tc.about != "" && !strings.Contains(err.Error(), tc.about) {
			t.Errorf("%s: %v, want %v about %q", name, err, tc.want, tc.about)
		}
		if err != nil {
			continue
		}
		if got.ID != key.ID || got.Scopes != Search || !got.MayUse("docs") || got.MayUse("secrets") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// The token of a key that may not search may do nothing.
	if got, err := k.Check(sign(t, writerSecret, hs256, claims(writer.ID, ""))); err != nil || got.Scopes != 0 {
		t.Errorf("of a key that may not search: %+v, %v", got, err)
	}
	// Collections of the token do not widen those of the key.
	wide, err := k.Check(sign(t, secret, hs256, claims(key.ID, `,"collections":["*"],"filter":"a = 1"`)))
	if err != nil || wide.MayUse("secrets") || !wide.MayUse("docs-x") {
		t.Errorf("all collections: %+v, %v", wide, err)
	}
	if f, ok := wide.Tenant.Filter("docs-x"); !ok || f.Text != "a = 1" {
		t.Errorf("filter %+v, %v", f, ok)
	}
	// A token ends on its own, with its key, and when the key is revoked.
	now = now.Add(time.Minute)
	if err := k.Recheck(wide); !errors.Is(err, ErrExpired) {
		t.Errorf("a token that expires meanwhile: %v", err)
	}
	now = now.Add(-time.Minute)
	long := sign(t, secret, hs256, fmt.Sprintf(`{"key":%q,"exp":1800000000}`, key.ID))
	now = now.Add(2 * time.Hour)
	if _, err := k.Check(long); !errors.Is(err, ErrExpired) {
		t.Errorf("a token of an expired key: %v", err)
	}
	forever := sign(t, otherSecret, hs256, fmt.Sprintf(`{"key":%q,"exp":1800000000}`, other.ID))
	if _, err := k.Check(forever); err != nil {
		t.Fatal(err)
	}
	if err := k.Revoke(t.Context(), other.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Check(forever); !errors.Is(err, ErrUnknown) {
		t.Errorf("a token of a revoked key: %v", err)
	}
}

// TestTenantRules: of several patterns the most specific one decides, in whatever order they come.
func TestTenantRules(t *testing.T) {
	tenant := &Tenant{}
	if err := tenant.readSearchRules(json.RawMessage(`{"*":{"filter":"all"},"docs*":{"filter":"more"},"docs":{"filter":"one"},"d*":null}`)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"docs": `"one"`, "docs2": `"more"`, "dd": "", "shop": `"all"`} {
		if f, ok := tenant.Filter(name); !ok || string(f.Meilisearch) != want {
			t.Errorf("%s: %s, want %s", name, f.Meilisearch, want)
		}
	}
}

func TestUUID(t *testing.T) {
	for range 1000 {
		id := make([]byte, 12)
		for i := range id {
			id[i] = idAlphabet[rand.IntN(32)]
		}
		uuid := UUID(string(id))
		if back, ok := IDOfUUID(strings.ToUpper(uuid)); !ok || back != string(id) || len(uuid) != 36 || uuid[14] != '4' {
			t.Fatalf("%s: %s leads to %s", id, uuid, back)
		}
	}
	for _, bad := range []string{"", "x", UUID("aaaaaaaaaaaa") + "0", "5ea2c4d0-0000-4 00-8000-000000000000"} {
		if id, ok := IDOfUUID(bad); ok {
			t.Errorf("%q leads to %s", bad, id)
		}
	}
}

func FuzzTenantToken(f *testing.F) {
	key := &entry{key: Key{ID: "aaaaaaaaaaaa", Spec: Spec{Scopes: Search, Collections: []string{"*"}}}, hash: digestOf("x")}
	k := &Keyring{now: time.Now}
	k.mu.byID = map[string]*entry{key.key.ID: key}
	f.Add(hs256, `{"key":"aaaaaaaaaaaa","exp":4e9,"filter":"a = 1"}`)
	f.Add(hs256, `{"apiKeyUid":"5ea2c4d0-0000-4000-8000-000000000000","exp":4e9,"searchRules":{"*":{"filter":["a = 1"]}}}`)
	f.Fuzz(func(t *testing.T, header, claims string) {
		signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
		mac := hmac.New(sha256.New, key.hash[:])
		mac.Write([]byte(signed))
		got, err := k.Check(signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
		if err == nil && (got.Tenant == nil || got.Scopes&^Search != 0 || len(got.Tenant.rules) == 0) {
			t.Errorf("%+v", got)
		}
		if _, err := k.Check(header + "." + claims + ".x"); err == nil {
			t.Error("a token without a signature is accepted")
		}
	})
}
