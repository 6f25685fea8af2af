// Package catalog says which stored collection a name means: current generations and aliases.
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

// Catalog says which stored collection a name means. It is safe for concurrent use.
//
// The rules:
//  1. A collection is stored under its name, until re-embedding puts another generation in its
//     place: NAME~2, NAME~3 and so on. Which one is current is one value of the backend, so that
//     the change from one to the next is one transaction.
//  2. A stored collection never changes its name. Whoever has resolved a name, a search for
//     instance, goes on with the generation that it began with.
//  3. A stored collection that no name leads to is hidden: a generation that is being built, or one
//     that has been replaced.
//  4. An alias leads to the name of a collection, not to another alias, and no name is both.
//  5. A name whose value is damaged leads nowhere and is not given to another. Where that may be
//     the value of a generation, every name that it may be of leads nowhere, and nothing hidden is
//     dropped.
//  6. A first generation that was kept under another name is not seen under its own again when that
//     name leads elsewhere: its own then leads to NAME~0, which is nowhere, until that generation
//     is dropped or there is a collection of that name.
type Catalog struct {
	values Values

	change *semaphore.Weighted // held by whoever changes names

	mu struct {
		sync.RWMutex
		current map[string]string // name -> stored name, where it is another
		owner   map[string]string // the reverse
		aliases map[string]string // alias -> name
		lost    map[string]string // name that leads nowhere -> key of the damaged value
	}
}

// Values keeps small values of the whole backend.
type Values interface {
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// names are those that a collection or an alias may have.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Valid reports whether a collection or an alias may have a name.
func Valid(name string) bool { return names.MatchString(name) }

// Keys of the backend's values.
const (
	currentKey = "current/"
	aliasKey   = "alias/"
)

// nowhere is what the name of a collection is followed by in what leads to none.
const nowhere = "~0"

// Open reads the names of a backend. alarm is called with what is damaged.
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

// read reads the names. The catalog has none yet.
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

// sound returns the values under a prefix that can be read, and notes the names whose values
// cannot.
func (c *Catalog) sound(ctx context.Context, prefix string, alarm func(text string)) (map[string][]byte, error) {
	values, err := c.values.Values(ctx, prefix)
	var damaged *backend.ValuesError
	if !errors.As(err, &damaged) {
		return values, err
	}
	for _, key := range damaged.Keys {
		c.mu.lost[strings.TrimPrefix(key, prefix)] = key
	}
	alarm(fmt.Sprintf("what some names lead to is damaged, and they lead nowhere; restore a backup, or set an alias again: %v", err))
	return values, nil
}

// Begin waits for the right to change names, or for the end of ctx.
func (c *Catalog) Begin(ctx context.Context) (done func(), err error) {
	if err := c.change.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { c.change.Release(1) }, nil
}

// Doubt returns the key of a damaged value that says what a name leads to; empty where there is
// none.
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

// LostNames returns the names that lead nowhere, without those of aliases.
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

// LostAlias reports whether a name is that of an alias whose value is damaged.
func (c *Catalog) LostAlias(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.mu.lost[name] == aliasKey+name
}

// None returns why a name leads nowhere.
func (c *Catalog) None(name string) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	key, lost := c.mu.lost[name]
	if to, ok := c.mu.aliases[name]; ok && !lost {
		key, lost = c.mu.lost[to]
	}
	if lost {
		return &backend.DamagedError{Collection: name, Damage: fmt.Sprintf("what it leads to cannot be read: value %q", key)}
	}
	return fmt.Errorf("%w: %s", backend.ErrCollectionNotFound, fault.Quote(name))
}

// put notes that stored is the current generation of name; "" forgets name.
func (c *Catalog) put(name, stored string) {
	delete(c.mu.owner, c.mu.current[name])
	delete(c.mu.current, name)
	if stored != "" {
		c.mu.current[name], c.mu.owner[stored] = stored, name
	}
}

// Stored returns the name under which the collection of a name or alias is stored, and false for
// what no name leads to.
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
	_, other := c.mu.owner[name] // it is the generation of another name
	return name, !other && names.MatchString(name)
}

// NameOf returns the name that leads to a stored collection, and false where it is hidden.
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

// Target returns what an alias leads to.
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

// Point makes names lead to stored collections, all at once; "" forgets a name. The caller holds
// change.
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

// hiding returns current with what keeps first generations that other names lead to until then from
// being seen under their own.
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

// Hides reports whether a first generation is kept from being seen under its own name.
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

// SetAlias makes an alias lead to a collection. The caller holds the right to change names.
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

// DeleteAlias forgets an alias. The caller holds the right to change names.
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
