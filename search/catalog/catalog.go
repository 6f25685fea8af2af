// Package catalog maps names and aliases to stored collections.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
)

// Catalog maps names to stored collections. It is safe for concurrent use.
//
// The rules:
//  1. A collection is stored under its own name until re-embedding replaces it with another
//     generation: NAME~2, NAME~3 and so on. The current generation of a name is a single value in
//     the backend, so switching to the next one is one transaction.
//  2. A stored collection never changes its name. A caller that has resolved a name, such as a
//     search, keeps using the generation that it started with.
//  3. A stored collection that no name resolves to is hidden: a generation that is being built, or
//     one that has been replaced.
//  4. An alias resolves to the name of a collection, not to another alias, and no name is both.
//  5. A name whose value is damaged resolves to nothing and cannot be reused. If the damaged value
//     may belong to a generation, none of the names that it may belong to resolves, and no hidden
//     collection is dropped.
//  6. A first generation may be kept under another name, NAME-old. If that name is later pointed
//     elsewhere, the first generation must not reappear under NAME: NAME then resolves to the
//     placeholder NAME~0 until the generation is dropped or a new collection takes the name.
type Catalog struct {
	values Values

	change *semaphore.Weighted // held while names are changed; a semaphore, so that waiting ends with a context

	mu struct {
		sync.RWMutex
		current map[string]string // name -> stored name, if they differ
		owner   map[string]string // the reverse
		aliases map[string]string // alias -> name
		lost    map[string]string // name that cannot be resolved -> key of the damaged value
	}
}

// Values is a small key-value store of the backend.
type Values interface {
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// names matches the valid names of collections and aliases.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Valid reports whether name is a valid name of a collection or an alias.
func Valid(name string) bool { return names.MatchString(name) }

// Keys of the backend's values.
const (
	currentKey = "current/"
	aliasKey   = "alias/"
)

// nowhere is the suffix of a placeholder that resolves to no collection; see rule 6.
const nowhere = "~0"

// Open reads the names from a backend. It calls alarm with a message for each damaged value.
func Open(ctx context.Context, b Values, stored []backend.Collection, alarm func(text string)) (*Catalog, error) {
	c := &Catalog{values: b, change: semaphore.NewWeighted(1)}
	c.mu.lost = map[string]string{}
	c.mu.current, c.mu.owner, c.mu.aliases = map[string]string{}, map[string]string{}, map[string]string{}
	if err := c.read(ctx, alarm); err != nil {
		return nil, err
	}
	if key := c.Doubt(); key != "" { // the key may be what is damaged
		for _, s := range stored {
			base, _, ok := strings.Cut(s.Name, "~")
			if c.mu.owner[s.Name] == "" && c.mu.current[base] == "" && ok {
				c.mu.lost[base] = key
			}
		}
	}
	return c, nil
}

// Refresh reads the names again, which other nodes may have changed.
func (c *Catalog) Refresh(ctx context.Context, alarm func(text string)) error {
	now := &Catalog{values: c.values}
	now.mu.lost = map[string]string{}
	now.mu.current, now.mu.owner, now.mu.aliases = map[string]string{}, map[string]string{}, map[string]string{}
	done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := now.read(ctx, alarm); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.current, c.mu.owner, c.mu.aliases, c.mu.lost = now.mu.current, now.mu.owner, now.mu.aliases, now.mu.lost
	return nil
}

// read loads the names into an empty catalog.
func (c *Catalog) read(ctx context.Context, alarm func(text string)) error {
	current, err := c.sound(ctx, currentKey, alarm)
	if err != nil {
		return fmt.Errorf("names of collections: %w", err)
	}
	aliases, err := c.sound(ctx, aliasKey, alarm)
	if err != nil {
		return fmt.Errorf("aliases: %w", err)
	}
	for k, v := range current {
		c.put(strings.TrimPrefix(k, currentKey), string(v))
	}
	for k, v := range aliases {
		c.mu.aliases[strings.TrimPrefix(k, aliasKey)] = string(v)
	}
	return nil
}

// sound returns the readable values under a prefix, and records the names of the others as lost.
func (c *Catalog) sound(ctx context.Context, prefix string, alarm func(text string)) (map[string][]byte, error) {
	values, err := c.values.Values(ctx, prefix)
	var damaged *backend.ValuesError
	if !errors.As(err, &damaged) {
		return values, err
	}
	for _, key := range damaged.Keys {
		c.mu.lost[strings.TrimPrefix(key, prefix)] = key
	}
	alarm(fmt.Sprintf("some names cannot be resolved because their values are damaged; restore a backup, or set the alias again: %v", err))
	return values, nil
}

// Begin locks the catalog for changes of names. It waits until the lock is free or ctx ends.
func (c *Catalog) Begin(ctx context.Context) (done func(), err error) {
	if err := c.change.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { c.change.Release(1) }, nil
}

// Doubt returns the key of a damaged value that names a current generation, or "" if there is none.
func (c *Catalog) Doubt() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, key := range c.mu.lost {
		if strings.HasPrefix(key, currentKey) {
			return key
		}
	}
	return ""
}

// LostNames returns the names of collections, not of aliases, that cannot be resolved.
func (c *Catalog) LostNames() (names []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name, key := range c.mu.lost {
		if strings.HasPrefix(key, currentKey) {
			names = append(names, name)
		}
	}
	return names
}

// LostAlias reports whether name is an alias whose value is damaged.
func (c *Catalog) LostAlias(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.mu.lost[name] == aliasKey+name
}

// None returns the reason why a name does not resolve.
func (c *Catalog) None(name string) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	key, lost := c.mu.lost[name]
	if to, ok := c.mu.aliases[name]; ok && !lost {
		key, lost = c.mu.lost[to]
	}
	if lost {
		return &backend.DamagedError{Collection: name, Damage: fmt.Sprintf("its catalog entry %q cannot be read", key)}
	}
	return fmt.Errorf("%w: %s", backend.ErrCollectionNotFound, fault.Quote(name))
}

// put makes stored the current generation of name; "" removes name.
func (c *Catalog) put(name, stored string) {
	delete(c.mu.owner, c.mu.current[name])
	delete(c.mu.current, name)
	if stored != "" {
		c.mu.current[name], c.mu.owner[stored] = stored, name
	}
}

// Stored resolves a name or alias to the name of a stored collection. It returns false if it
// resolves to none.
func (c *Catalog) Stored(name string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if to, ok := c.mu.aliases[name]; ok {
		name = to
	}
	if _, lost := c.mu.lost[name]; lost {
		return name, false
	}
	if s, ok := c.mu.current[name]; ok {
		return s, s != name+nowhere
	}
	_, other := c.mu.owner[name] // another name's generation is stored under it
	return name, !other && names.MatchString(name)
}

// NameOf returns the name that resolves to a stored collection. It returns false for a hidden one.
func (c *Catalog) NameOf(stored string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if name, ok := c.mu.owner[stored]; ok {
		return name, true
	}
	_, elsewhere := c.mu.current[stored]
	_, lost := c.mu.lost[stored]
	return stored, !elsewhere && !lost && names.MatchString(stored)
}

// Target returns the collection that an alias refers to.
func (c *Catalog) Target(alias string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	to, ok := c.mu.aliases[alias]
	return to, ok
}

// AliasesOf returns the aliases of a collection, sorted.
func (c *Catalog) AliasesOf(name string) (list []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for alias, to := range c.mu.aliases {
		if to == name {
			list = append(list, alias)
		}
	}
	slices.Sort(list)
	return list
}

// Point makes names resolve to stored collections, all in one transaction; "" removes a name. The
// caller holds the lock of [Catalog.Begin].
func (c *Catalog) Point(ctx context.Context, current map[string]string) error {
	current = c.hiding(current)
	values := make(map[string][]byte, len(current))
	for name, stored := range current {
		if values[currentKey+name] = nil; stored != "" {
			values[currentKey+name] = []byte(stored)
		}
	}
	if err := c.values.SetValues(ctx, values); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range current {
		c.put(name, "")
	}
	for name, stored := range current {
		c.put(name, stored)
	}
	return nil
}

// hiding adds placeholders to current for the first generations that would reappear under their own
// names; see rule 6.
func (c *Catalog) hiding(current map[string]string) map[string]string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := maps.Clone(current)
	for name := range current {
		first := c.mu.current[name]
		_, leads := c.mu.current[first]
		if _, set := current[first]; leads || set || first == name || !names.MatchString(first) {
			continue
		}
		if !slices.Contains(slices.Collect(maps.Values(current)), first) {
			all[first] = first + nowhere
		}
	}
	return all
}

// Hides reports whether a placeholder hides a first generation under its own name.
func (c *Catalog) Hides(first string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.mu.current[first] == first+nowhere
}

// Generation returns the name of the n-th generation of a collection.
func Generation(name string, n int) string {
	if n < 2 {
		return name
	}
	return name + "~" + strconv.Itoa(n)
}

// GenerationOf returns the number of a stored collection's generation.
func GenerationOf(stored string) int {
	_, n, _ := strings.Cut(stored, "~")
	if g, err := strconv.Atoi(n); err == nil {
		return g
	}
	return 1
}

// Alias is a second name of a collection.
type Alias struct {
	Alias      string `json:"alias"`
	Collection string `json:"collection"`
}

// Aliases returns all aliases, by name.
func (c *Catalog) Aliases() []Alias {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]Alias, 0, len(c.mu.aliases))
	for _, alias := range slices.Sorted(maps.Keys(c.mu.aliases)) {
		list = append(list, Alias{alias, c.mu.aliases[alias]})
	}
	return list
}

// SetAlias points an alias at a collection. The caller holds the lock of [Catalog.Begin].
func (c *Catalog) SetAlias(ctx context.Context, alias, collection string) error {
	if err := c.values.SetValues(ctx, map[string][]byte{aliasKey + alias: []byte(collection)}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.aliases[alias] = collection
	delete(c.mu.lost, alias)
	return nil
}

// DeleteAlias deletes an alias. The caller holds the lock of [Catalog.Begin].
func (c *Catalog) DeleteAlias(ctx context.Context, alias string) error {
	if err := c.values.SetValues(ctx, map[string][]byte{aliasKey + alias: nil}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.aliases, alias)
	delete(c.mu.lost, alias)
	return nil
}
