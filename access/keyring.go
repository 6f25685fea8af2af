package access

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Vault stores values.
type Vault interface {
	Values(prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error // in one transaction; nil removes a key
}

// vaultPrefix begins the names of keys in the vault.
const vaultPrefix = "key/"

// maxKeys bounds the keys, which are all in memory.
const maxKeys = 10_000

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Admin   string // a token that may do everything, kept nowhere; at least [MinAdmin] bytes; default: none
	Require bool   // ask for a key even while there is none
}

// MinAdmin is the minimum length of an admin token in bytes.
const MinAdmin = 16

// AdminID is the id of the admin key.
const AdminID = "admin"

// Keyring has the keys of a vault. It is safe for concurrent use.
type Keyring struct {
	vault Vault
	admin *entry // nil: none
	now   func() time.Time

	guarded atomic.Bool
	write   sync.Mutex // held while the vault is written
	mu      struct {
		sync.RWMutex
		byID map[string]*entry
	}
}

// entry is a key in memory.
type entry struct {
	key  Key // without LastUsed; never changed
	hash digest
	used atomic.Int64 // Unix time of the last use, cut to the hour; 0: never
	kept atomic.Int64 // what the vault holds of used
}

// record is a key in the vault.
type record struct {
	Key
	Hash   string `json:"hash"`
	Makers []Rate `json:"makers,omitempty"`
}

// retiredScope is a scope of earlier versions that stored keys may have.
const retiredScope = "replication"

// readRecord decodes a stored key.
func readRecord(value []byte) (r record, err error) {
	stored := struct {
		*record
		Scopes []string `json:"scopes"`
	}{record: &r}
	if err := json.Unmarshal(value, &stored); err != nil {
		return r, err
	}
	r.Scopes, err = ParseScopes(slices.DeleteFunc(stored.Scopes, func(name string) bool { return name == retiredScope }))
	return r, err
}

// Open reads the keys of a vault. An unreadable key is an error, since the server must not run with
// fewer keys than were created.
func Open(v Vault, o Options) (*Keyring, error) {
	k := &Keyring{vault: v, now: time.Now}
	var err error
	if k.mu.byID, err = readKeys(v); err != nil {
		return nil, err
	}
	if o.Admin != "" {
		if len(o.Admin) < MinAdmin {
			return nil, fmt.Errorf("%w: %d bytes, allowed: %d or more", ErrShort, len(o.Admin), MinAdmin)
		}
		k.admin = &entry{hash: digestOf(o.Admin), key: Key{ID: AdminID, Spec: Spec{Name: "admin key of the server's environment", Scopes: All, Collections: []string{"*"}}}}
	}
	k.guarded.Store(o.Require || k.admin != nil || len(k.mu.byID) > 0)
	return k, nil
}

// Refresh reads the keys again, which other nodes may have changed in the vault.
func (k *Keyring) Refresh() error {
	k.write.Lock()
	defer k.write.Unlock()
	byID, err := readKeys(k.vault)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, e := range byID {
		if now := k.mu.byID[id]; now != nil {
			e.used.Store(max(e.used.Load(), now.used.Load()))
		}
	}
	if k.mu.byID = byID; len(byID) > 0 {
		k.guarded.Store(true)
	}
	return nil
}

func readKeys(v Vault) (map[string]*entry, error) {
	byID := map[string]*entry{}
	values, err := v.Values(vaultPrefix)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	for name, value := range values {
		r, err := readRecord(value)
		if err != nil {
			return nil, fmt.Errorf("access: value %s: %w", name, err)
		}
		e := &entry{key: r.Key}
		e.key.makers = r.Makers
		sum, err := hex.DecodeString(r.Hash)
		if err != nil || len(sum) != len(e.hash) || name != vaultPrefix+r.ID {
			return nil, fmt.Errorf("access: value %s holds no key", name)
		}
		copy(e.hash[:], sum)
		if r.LastUsed != nil {
			e.used.Store(r.LastUsed.Unix())
			e.kept.Store(r.LastUsed.Unix())
			e.key.LastUsed = nil
		}
		byID[r.ID] = e
	}
	return byID, nil
}

// Guarded reports whether requests need a key: once one was created, or if [Options] require it. It
// stays true after the last key is revoked.
func (k *Keyring) Guarded() bool { return k.guarded.Load() }

// Usable reports whether any key has not expired.
func (k *Keyring) Usable() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.admin != nil {
		return true
	}
	for _, e := range k.mu.byID {
		if !k.expired(e) {
			return true
		}
	}
	return false
}

func (k *Keyring) expired(e *entry) bool {
	return e.key.Expires != nil && !k.now().Before(*e.key.Expires)
}

// Check returns the key of a token, which the caller must not change, or [ErrUnknown] or
// [ErrExpired]. For a tenant token it returns the key that signed it with [Key.Tenant] set, or an
// error that matches [ErrTenant] too.
func (k *Keyring) Check(token string) (*Key, error) {
	sum := digestOf(token)
	if k.admin != nil && k.admin.hash.is(sum) {
		return &k.admin.key, nil
	}
	if isTenantToken(token) {
		return k.checkTenant(token)
	}
	id, ok := tokenID(token)
	if !ok {
		return nil, ErrUnknown
	}
	k.mu.RLock()
	e := k.mu.byID[id]
	k.mu.RUnlock()
	if e == nil || !e.hash.is(sum) {
		return nil, ErrUnknown
	}
	if err := k.checkExpiry(e); err != nil {
		return nil, err
	}
	e.used.Store(k.now().Truncate(time.Hour).Unix())
	return &e.key, nil
}

// Recheck returns an error if a key that Check has returned was revoked or has expired meanwhile.
func (k *Keyring) Recheck(key *Key) error {
	if k.admin != nil && key == &k.admin.key {
		return nil
	}
	k.mu.RLock()
	e := k.mu.byID[key.ID]
	k.mu.RUnlock()
	if e == nil {
		return ErrUnknown
	}
	if t := key.Tenant; t != nil && !k.now().Before(t.Expires) {
		return fmt.Errorf("%w: the tenant token, on %s", ErrExpired, t.Expires.Format(time.RFC3339))
	}
	return k.checkExpiry(e)
}

// checkExpiry returns [ErrExpired] for a key that has expired.
func (k *Keyring) checkExpiry(e *entry) error {
	if k.expired(e) {
		return fmt.Errorf("%w: %s, on %s", ErrExpired, e.key.ID, e.key.Expires.Format(time.RFC3339))
	}
	return nil
}

// Create creates a key and returns it with its token, which is not stored.
func (k *Keyring) Create(ctx context.Context, s Spec) (Key, string, error) {
	return k.CreateBy(ctx, nil, s)
}

// CreateBy is Create by the key maker, which covers s; nil for none. If maker has a rate, the
// requests of the new key count as its own too.
func (k *Keyring) CreateBy(ctx context.Context, maker *Key, s Spec) (Key, string, error) {
	var by string
	var makers []Rate
	if maker != nil {
		by = maker.ID
	}
	if maker != nil && maker.Rate > 0 {
		makers = maker.Rates()
	}
	if len(makers) > maxMakers {
		return Key{}, "", fmt.Errorf("%w: %d keys with rates made one another, that is the most", ErrExceeds, maxMakers)
	}
	now := k.now().UTC().Truncate(time.Second)
	if err := s.complete(now); err != nil {
		return Key{}, "", err
	}
	s.Collections = slices.Clone(s.Collections)
	if s.Expires != nil {
		at := s.Expires.UTC().Truncate(time.Second)
		s.Expires = &at
	}
	k.write.Lock()
	defer k.write.Unlock()
	id, token := newToken()
	k.mu.RLock()
	n, taken := len(k.mu.byID), k.mu.byID[id] != nil
	k.mu.RUnlock()
	if n >= maxKeys {
		return Key{}, "", fmt.Errorf("%w: %d, revoke some", ErrTooMany, maxKeys)
	}
	if taken { // once in 2^60 keys
		return Key{}, "", errors.New("access: two keys got the same id, try again")
	}
	e := &entry{key: Key{ID: id, Spec: s, Created: now, MadeBy: by, makers: makers}, hash: digestOf(token)}
	if err := k.save(ctx, e); err != nil {
		return Key{}, "", err
	}
	k.mu.Lock()
	k.mu.byID[id] = e
	k.mu.Unlock()
	k.guarded.Store(true)
	return e.key, token, nil
}

// save writes keys to the vault in one transaction; the caller holds write.
func (k *Keyring) save(ctx context.Context, entries ...*entry) error {
	values, used := map[string][]byte{}, make([]int64, len(entries))
	for i, e := range entries {
		key := e.shown()
		value, err := json.Marshal(record{key, hex.EncodeToString(e.hash[:]), key.makers})
		if err != nil {
			return fmt.Errorf("access: %w", err)
		}
		values[vaultPrefix+key.ID] = value
		if key.LastUsed != nil {
			used[i] = key.LastUsed.Unix()
		}
	}
	if err := k.vault.SetValues(ctx, values); err != nil {
		return fmt.Errorf("access: %w", err)
	}
	for i, e := range entries {
		e.kept.Store(used[i])
	}
	return nil
}

// shown returns the key with its last use.
func (e *entry) shown() Key {
	key := e.key
	if at := e.used.Load(); at != 0 {
		t := time.Unix(at, 0).UTC()
		key.LastUsed = &t
	}
	return key
}

// Key returns a key by id, or [ErrUnknown]; never the admin's.
func (k *Keyring) Key(id string) (Key, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if e := k.mu.byID[id]; e != nil {
		return e.shown(), nil
	}
	return Key{}, fmt.Errorf("%w: %.40q", ErrUnknown, id)
}

// Keys returns all keys but the admin's, oldest first.
func (k *Keyring) Keys() []Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	keys := make([]Key, 0, len(k.mu.byID))
	for _, e := range k.mu.byID {
		keys = append(keys, e.shown())
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return keys
}

// Revoke removes a key, or returns [ErrUnknown].
func (k *Keyring) Revoke(ctx context.Context, id string) error {
	k.write.Lock()
	defer k.write.Unlock()
	if _, err := k.Key(id); err != nil {
		return err
	}
	if err := k.vault.SetValues(ctx, map[string][]byte{vaultPrefix + id: nil}); err != nil {
		return fmt.Errorf("access: %w", err)
	}
	k.mu.Lock()
	delete(k.mu.byID, id)
	k.mu.Unlock()
	return nil
}

// flushKeys bounds the keys that are written in one transaction.
const flushKeys = 256

// Flush stores the last uses that have changed.
func (k *Keyring) Flush(ctx context.Context) error {
	k.write.Lock()
	defer k.write.Unlock()
	k.mu.RLock()
	var changed []*entry
	for _, e := range k.mu.byID {
		if e.used.Load() != e.kept.Load() {
			changed = append(changed, e)
		}
	}
	k.mu.RUnlock()
	for some := range slices.Chunk(changed, flushKeys) {
		if err := k.save(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}
