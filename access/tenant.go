package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ErrTenant is matched by errors about a tenant token whose signature is right and whose claims are
// not allowed.
var ErrTenant = errors.New("invalid tenant token")

// Limits of a tenant token.
const (
	maxTenantToken = 16 << 10 // bytes
	maxTenantRules = 64
)

// Tenant restricts a key to what a tenant token allows: searches of some collections, in each of
// them only among the documents that pass a filter.
//
// A tenant token is a JSON Web Token (RFC 7519) that is signed with HS256 by the key itself and
// stored nowhere. Its claims:
//
//  1. key: the id of the key.
//  2. collections: patterns of names. Default: those of the key.
//  3. filter: the documents that searches may find, as in a search. Default: all.
//  4. exp: when it expires, in seconds since 1970. Required.
//
// Those of Meilisearch may take their place: apiKeyUid, the UUID of the key, and searchRules, a
// list of patterns or an object from patterns to rules. iss, sub, iat, nbf and jti may be present;
// any other claim is an error, since a misspelled filter would filter nothing.
//
// The stored hash of a key can verify the signature: HMAC replaces a key that is longer than a
// block of its hash by its SHA-256 (RFC 2104), and every key is 68 bytes, longer than the 64 of a
// block.
type Tenant struct {
	Expires time.Time
	rules   []tenantRule
}

// tenantRule is the filter of the collections that match a pattern.
type tenantRule struct {
	pattern string
	filter  Filter
}

// Filter is the filter of a tenant token. The zero value passes every document.
type Filter struct {
	Text        string          // in the language of searches
	Meilisearch json.RawMessage // or as Meilisearch has it: a string, or an array
}

// Filter returns the filter of a collection, and whether the token allows it. The most specific
// pattern decides: the name itself, else the longest.
func (t *Tenant) Filter(collection string) (f Filter, ok bool) {
	best := -1
	for _, r := range t.rules {
		n := len(r.pattern)
		if r.pattern == collection {
			n = math.MaxInt
		}
		if n > best && matches(r.pattern, collection) {
			best, f, ok = n, r.filter, true
		}
	}
	return f, ok
}

// claims are the claims of a tenant token.
type claims struct {
	Key         string          `json:"key"`
	Collections []string        `json:"collections"`
	Filter      string          `json:"filter"`
	Exp         *float64        `json:"exp"`
	NBF         *float64        `json:"nbf"`
	APIKeyUID   string          `json:"apiKeyUid"`
	SearchRules json.RawMessage `json:"searchRules"`

	Issuer  json.RawMessage `json:"iss"`
	Subject json.RawMessage `json:"sub"`
	Issued  json.RawMessage `json:"iat"`
	TokenID json.RawMessage `json:"jti"`
}

// isTenantToken reports whether a token has the form of a JSON Web Token. Keys have no dots.
func isTenantToken(token string) bool { return strings.Count(token, ".") == 2 }

// checkTenant returns the key of a tenant token, restricted to what the token allows.
func (k *Keyring) checkTenant(token string) (*Key, error) {
	if len(token) > maxTenantToken {
		return nil, ErrUnknown
	}
	signed, encoded, _ := cutLast(token, '.')
	header, payload, _ := strings.Cut(signed, ".")
	var head struct{ Alg, Typ string }
	var c claims
	signature, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || decodePart(header, &head, false) != nil || head.Alg != "HS256" || head.Typ != "" && !strings.EqualFold(head.Typ, "JWT") {
		return nil, ErrUnknown
	}
	if decodePart(payload, &c, false) != nil {
		return nil, ErrUnknown
	}
	id := c.Key
	if id == "" {
		id, _ = IDOfUUID(c.APIKeyUID)
	}
	k.mu.RLock()
	e := k.mu.byID[id]
	k.mu.RUnlock()
	if e == nil {
		return nil, ErrUnknown
	}
	mac := hmac.New(sha256.New, e.hash[:])
	mac.Write([]byte(signed))
	if !hmac.Equal(mac.Sum(nil), signature) {
		return nil, ErrUnknown
	}
	if err := k.checkExpiry(e); err != nil {
		return nil, err
	}
	if err := decodePart(payload, &claims{}, true); err != nil {
		return nil, fmt.Errorf("%w: claims: %w", ErrTenant, err)
	}
	if err := checkClaims(payload); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTenant, err)
	}
	t, err := c.tenant(e.key.Collections, k.now())
	if err != nil {
		return nil, err
	}
	e.used.Store(k.now().Truncate(time.Hour).Unix())
	key := e.key
	key.Scopes &= Search
	key.Tenant = t
	return &key, nil
}

// tenant returns what the claims allow.
func (c *claims) tenant(ofKey []string, now time.Time) (*Tenant, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrTenant, fmt.Sprintf(format, args...))
	}
	const latest = 1 << 40 // seconds
	switch {
	case c.Exp == nil:
		return nil, wrong("exp: missing, allowed: when the token expires, in seconds since 1970")
	case !(*c.Exp >= 0 && *c.Exp <= latest):
		return nil, wrong("exp: got %v, allowed: seconds since 1970", *c.Exp)
	case c.NBF != nil && !(*c.NBF <= float64(now.UnixMilli())/1000):
		return nil, wrong("nbf: the token is not valid yet")
	case c.Key != "" && (c.APIKeyUID != "" || c.SearchRules != nil):
		return nil, wrong("apiKeyUid and searchRules: given, allowed: these or key, collections and filter")
	case c.Key == "" && (c.Collections != nil || c.Filter != ""):
		return nil, wrong("collections and filter: given, allowed with key; with apiKeyUid searchRules")
	}
	t := &Tenant{Expires: time.UnixMilli(int64(*c.Exp * 1000)).UTC()}
	if !now.Before(t.Expires) {
		return nil, fmt.Errorf("%w: the tenant token, on %s", ErrExpired, t.Expires.Format(time.RFC3339))
	}
	if c.Key == "" {
		if err := t.readSearchRules(c.SearchRules); err != nil {
			return nil, wrong("searchRules: %s", err)
		}
	} else {
		patterns := c.Collections
		if patterns == nil {
			patterns = ofKey
		}
		for _, p := range patterns {
			t.rules = append(t.rules, tenantRule{p, Filter{Text: c.Filter}})
		}
	}
	if len(t.rules) == 0 || len(t.rules) > maxTenantRules {
		return nil, wrong("collections: got %d patterns, allowed: 1 to %d", len(t.rules), maxTenantRules)
	}
	for _, r := range t.rules {
		if !collectionPattern.MatchString(r.pattern) {
			return nil, wrong("collections: got %.80q, allowed: 1 to 64 letters, digits, '-', '_' and '*' (any text)", r.pattern)
		}
	}
	return t, nil
}

// readSearchRules reads the rules of Meilisearch: ["a", "b*"], or {"a": {"filter": ...}}.
func (t *Tenant) readSearchRules(raw json.RawMessage) error {
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		for _, name := range names {
			t.rules = append(t.rules, tenantRule{pattern: name})
		}
		return nil
	}
	var rules map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rules); err != nil {
		return errors.New("allowed: a list of indexes, or an object from indexes to rules")
	}
	for name, rule := range rules {
		var r *struct {
			Filter json.RawMessage `json:"filter"`
		}
		dec := json.NewDecoder(bytes.NewReader(rule))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			return fmt.Errorf("%.80q: allowed: an object with a filter, or null", name)
		}
		f := Filter{}
		if r != nil && string(r.Filter) != "null" {
			f.Meilisearch = r.Filter
		}
		t.rules = append(t.rules, tenantRule{name, f})
	}
	slices.SortFunc(t.rules, func(a, b tenantRule) int { return strings.Compare(a.pattern, b.pattern) })
	return nil
}

// decodePart decodes a part of a JSON Web Token into v.
func decodePart(part string, v any, strict bool) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one value")
	}
	return nil
}

// checkClaims refuses claims that are null or occur twice, and an empty filter. A signer that did
// not find its tenant may write "filter": null or "", which would open every document as an absent
// filter does.
func checkClaims(payload string) error {
	var members json.RawMessage
	if err := decodePart(payload, &members, false); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(members))
	if _, err := dec.Token(); err != nil { // {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		key := strings.ToLower(fmt.Sprint(name)) // encoding/json ignores case
		switch {
		case string(value) == "null":
			return fmt.Errorf("%.80s: got null, allowed: a value, or no such claim", key)
		case seen[key]:
			return fmt.Errorf("%.80s: occurs twice", key)
		case key == "filter" && string(value) == `""`:
			return errors.New("filter: got \"\", allowed: a filter, or no such claim for all documents")
		}
		seen[key] = true
	}
	return nil
}

// cutLast cuts s around the last sep.
func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// idAlphabet are the characters of ids, 5 bits each.
const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// UUID returns the UUID (version 4 in form) by which clients of Meilisearch name the key with an
// id; for an id that is not 12 characters of base 32, "".
func UUID(id string) string {
	if len(id) != 12 {
		return ""
	}
	var n uint64
	for _, c := range []byte(id) {
		i := strings.IndexByte(idAlphabet, c)
		if i < 0 {
			return ""
		}
		n = n<<5 | uint64(i)
	}
	return fmt.Sprintf("5ea2c4d0-0000-4%03x-8000-%012x", n>>48, n&(1<<48-1))
}

// IDOfUUID returns the id of the key that [UUID] names so, and whether there can be one.
func IDOfUUID(uuid string) (string, bool) {
	var high, low uint64
	if n, err := fmt.Sscanf(strings.ToLower(uuid), "5ea2c4d0-0000-4%03x-8000-%012x", &high, &low); n != 2 || err != nil {
		return "", false
	}
	n := high<<48 | low
	id := make([]byte, 12)
	for i := range id {
		id[11-i] = idAlphabet[n&31]
		n >>= 5
	}
	return string(id), UUID(string(id)) == strings.ToLower(uuid)
}
