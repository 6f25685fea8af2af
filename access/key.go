// Package access manages API keys: scopes, collections, expiry and rates.
//
// A key is shown once, when it is created; its SHA-256 is stored. A key has 260 random bits, so a
// slow hash is not needed. Each key is a value in the vault, "key/" and its id, as JSON:
//
//	{"id":"…","name":"…","scopes":["search"],"collections":["team-*"],"created":"…","hash":"64 hex digits"}
//
// Keys that were created by a key with a rate have that rate in "makers": the requests of both
// count together.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of the keyring.
var (
	ErrInvalid = errors.New("invalid key")                                  // a field's value is not allowed; see [FieldError]
	ErrUnknown = errors.New("unknown key")                                  // there is no such key, or no longer
	ErrExpired = errors.New("expired key")                                  //
	ErrExceeds = errors.New("exceeds the permissions of the request's key") // a key would give away, or touch, more than it has
	ErrTooMany = errors.New("too many keys")                                //
	ErrShort   = errors.New("admin key too short")                          //
)

// FieldError is a wrong field of a [Spec]. It matches [ErrInvalid].
type FieldError struct {
	Field   string
	Value   any
	Allowed string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: got %.120q, allowed: %s", e.Field, fmt.Sprint(e.Value), e.Allowed)
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// Limits of a key.
const (
	maxName        = 128
	maxCollections = 64
	maxRate        = 1e6
)

// Spec describes a key to create.
type Spec struct {
	Name        string     `json:"name"`
	Scopes      Scopes     `json:"scopes"`
	Collections []string   `json:"collections"`          // patterns of names, '*' stands for any text; default: all collections
	Expires     *time.Time `json:"expires,omitempty"`    // nil: never
	Rate        float64    `json:"rate_limit,omitempty"` // requests per second; 0: the server's default
	Burst       int        `json:"rate_burst,omitempty"` // requests at once; 0: those of one second, at least 1
}

// Key is a key without its secret.
type Key struct {
	ID string `json:"id"`
	Spec
	Created  time.Time  `json:"created"`
	MadeBy   string     `json:"made_by,omitempty"`   // id of the key that made it, which may be revoked; empty: none, or made before that was kept
	LastUsed *time.Time `json:"last_used,omitempty"` // the hour in which it was used last; nil: never

	Tenant *Tenant `json:"-"` // of a tenant token, which is the key with fewer rights; nil: the key itself

	makers []Rate // those of the key that made it, and of that one's maker, and so on
}

// Rate bounds the requests of a key and of all keys that it created, together.
type Rate struct {
	Key       string  `json:"key"` // id
	PerSecond float64 `json:"rate_limit"`
	Burst     int     `json:"rate_burst"`
}

// maxMakers bounds a chain of keys with rates that created one another.
const maxMakers = 8

// Rates returns the rate of a key and those of the keys that created it.
func (k *Key) Rates() []Rate {
	return append([]Rate{{k.ID, k.Rate, Burst(k.Rate, k.Burst)}}, k.makers...)
}

// MayUse reports whether the key allows a collection.
func (k *Key) MayUse(collection string) bool {
	if k.Tenant != nil {
		if _, ok := k.Tenant.Filter(collection); !ok {
			return false
		}
	}
	return slices.ContainsFunc(k.Collections, func(p string) bool { return matches(p, collection) })
}

// Burst returns the burst of a rate: burst if it is set, else the requests of one second, at least
// 1.
func Burst(perSecond float64, burst int) int {
	if burst > 0 {
		return burst
	}
	return max(1, int(math.Ceil(perSecond)))
}

// Limit gives s the rate and burst of k if it has none.
func (k *Key) Limit(s *Spec) {
	if k.Rate == 0 {
		return
	}
	if s.Rate == 0 {
		s.Rate = k.Rate
	}
	if s.Burst == 0 && (s.Rate == k.Rate || Burst(s.Rate, 0) > Burst(k.Rate, k.Burst)) {
		s.Burst = k.Burst
	}
}

// Covers returns nil if k has all rights of a key of this spec, and else [ErrExceeds]. Only then
// may k create, see or revoke such a key. A key without a rate covers every rate.
func (k *Key) Covers(s Spec) error {
	if more := s.Scopes &^ k.Scopes; more != 0 {
		return fmt.Errorf("%w: scopes %s", ErrExceeds, more)
	}
	for _, p := range s.Collections {
		if !within(p, k.Collections) {
			return fmt.Errorf("%w: collections %q", ErrExceeds, p)
		}
	}
	if k.Expires != nil && (s.Expires == nil || s.Expires.After(*k.Expires)) {
		return fmt.Errorf("%w: expires later than %s", ErrExceeds, k.Expires.Format(time.RFC3339))
	}
	if k.Rate > 0 && (s.Rate == 0 || s.Rate > k.Rate) {
		return fmt.Errorf("%w: rate_limit above %v", ErrExceeds, k.Rate)
	}
	if most := Burst(k.Rate, k.Burst); k.Rate > 0 && Burst(s.Rate, s.Burst) > most {
		return fmt.Errorf("%w: rate_burst above %d", ErrExceeds, most)
	}
	return nil
}

// Check returns the [FieldError] that creating a key of s would return.
func (s Spec) Check(now time.Time) error { return s.complete(now) }

// complete sets the defaults of s and returns the first wrong field.
func (s *Spec) complete(now time.Time) error {
	if len(s.Collections) == 0 {
		s.Collections = []string{"*"}
	}
	bad := strings.ContainsFunc(s.Name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
	switch {
	case s.Name == "" || len(s.Name) > maxName || !utf8.ValidString(s.Name) || bad:
		return &FieldError{"name", s.Name, fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxName)}
	case s.Scopes == 0 || s.Scopes&^All != 0:
		return &FieldError{"scopes", s.Scopes, "at least one of " + strings.Join(scopeNames[:], ", ")}
	case len(s.Collections) > maxCollections:
		return &FieldError{"collections", len(s.Collections), fmt.Sprintf("at most %d patterns", maxCollections)}
	case s.Expires != nil && !s.Expires.After(now):
		return &FieldError{"expires", s.Expires.Format(time.RFC3339), "a time in the future"}
	case s.Rate < 0 || s.Rate > maxRate || math.IsNaN(s.Rate):
		return &FieldError{"rate_limit", s.Rate, fmt.Sprintf("0 (the server's default) to %.0f requests per second", float64(maxRate))}
	case s.Burst < 0 || s.Burst > maxRate:
		return &FieldError{"rate_burst", s.Burst, fmt.Sprintf("0 (default) to %.0f requests", float64(maxRate))}
	}
	for i, p := range s.Collections {
		if !collectionPattern.MatchString(p) {
			return &FieldError{fmt.Sprintf("collections[%d]", i), p, "1 to 64 letters, digits, '-', '_' and '*' (any text)"}
		}
	}
	return nil
}

// digest is the SHA-256 of a token.
type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// is compares in constant time.
func (d digest) is(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// tokenPrefix makes tokens recognisable for people and secret scanners.
const tokenPrefix = "sd_"

// newToken returns a token, "sd_" + id + "_" + secret: an id of 60 random bits and a secret of 260.
func newToken() (id, token string) {
	id = strings.ToLower(rand.Text()[:12])
	return id, tokenPrefix + id + "_" + strings.ToLower(rand.Text()+rand.Text())
}

// tokenID returns the id in a token.
func tokenID(token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}
