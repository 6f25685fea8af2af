// Package access keeps API keys: who may do what, with which collections, until when and how often.
//
// A key is shown once, when it is made. What is kept of it is its SHA-256; a key has 260 random
// bits, so no slow hash is needed to keep it from being guessed. Each key is a value of its own in
// the vault, under "key/" and its id, as JSON:
//
//	{"id":"…","name":"…","scopes":["search"],"collections":["team-*"],"created":"…","hash":"64 hex digits"}
//
// A key that was made by one with a rate has that in "makers", since the requests of both count
// together.
//
// Package access knows neither HTTP nor the engine.
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

// Errors that callers tell apart with [errors.Is].
var (
	ErrInvalid = errors.New("invalid key")                          // a field's value is not allowed; see [FieldError]
	ErrUnknown = errors.New("unknown key")                          // there is no such key, or no longer
	ErrExpired = errors.New("expired key")                          //
	ErrExceeds = errors.New("more than the key of the request may") // a key would give away, or touch, more than it has
	ErrTooMany = errors.New("too many keys")                        //
	ErrShort   = errors.New("admin key too short")                  //
)

// FieldError says which field of a [Spec] is wrong, its value, and what is allowed. It matches
// [ErrInvalid].
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

// Bounds of a key.
const (
	maxName        = 128
	maxCollections = 64
	maxRate        = 1e6
)

// Spec is what its maker says about a key.
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

	makers []Rate // those of the key that made it, and of that one's maker, and so on
}

// Rate bounds the requests of a key and of all that it made, together.
type Rate struct {
	Key       string  `json:"key"` // id
	PerSecond float64 `json:"rate_limit"`
	Burst     int     `json:"rate_burst"`
}

// maxMakers bounds the keys with a rate that made one another.
const maxMakers = 8

// Rates are the rates that a key with one of its own keeps to: its own, and those of the keys that
// made it.
func (k *Key) Rates() []Rate {
	return append([]Rate{{k.ID, k.Rate, Burst(k.Rate, k.Burst)}}, k.makers...)
}

// MayUse reports whether the key is for a collection.
func (k *Key) MayUse(collection string) bool {
	return slices.ContainsFunc(k.Collections, func(p string) bool { return matches(p, collection) })
}

// Burst is how many requests at once go with a rate per second: those of a burst that is given,
// else what one second brings, at least 1.
func Burst(perSecond float64, burst int) int {
	if burst > 0 {
		return burst
	}
	return max(1, int(math.Ceil(perSecond)))
}

// Limit gives s the rate and the burst of k where it names none, so that a key with a rate makes
// keys with one.
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

// Covers returns nil when k may do all that a key of this spec may, as often, and otherwise
// [ErrExceeds] with what is too much. Only then may k make, see or revoke such a key: keys:admin
// must not be a way to more than a key was given. A key without a rate of its own covers every
// rate.
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

// Check returns the [FieldError] with which a key of s would be refused; nil where it would be
// made.
func (s Spec) Check(now time.Time) error { return s.complete(now) }

// complete fills in the defaults of s and names the first wrong field.
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

// is compares in a time that does not depend on where the two differ.
func (d digest) is(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// tokenPrefix lets people and scanners for leaked secrets see what a token is.
const tokenPrefix = "sd_"

// newToken returns a token, "sd_" + id + "_" + secret, with its id of 60 and its secret of 260
// random bits.
func newToken() (id, token string) {
	id = strings.ToLower(rand.Text()[:12])
	return id, tokenPrefix + id + "_" + strings.ToLower(rand.Text()+rand.Text())
}

// tokenID returns the id in a token, which is not secret.
func tokenID(token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}
