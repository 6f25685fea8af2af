package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"searchd/search/backend"
)

// catalog says which stored collection a name means.
//
// The rules:
//  1. A collection is stored under its name, until re-embedding puts another generation in its place: NAME~2, NAME~3 and so on. Which
//     one is current is one value of the backend, so that the change from one to the next is one transaction.
//  2. A stored collection never changes its name. Whoever has resolved a name, a search for instance, goes on with the generation that
//     it began with.
//  3. A stored collection that no name leads to is hidden: a generation that is being built, or one that has been replaced.
//  4. An alias leads to the name of a collection, not to another alias, and no name is both.
type catalog struct {
	values backend.Values // nil: the backend keeps none; there are no aliases and no generations

	change sync.Mutex // held by whoever changes names

	mu struct {
		sync.RWMutex
		current map[string]string // name -> stored name, where it is another
		owner   map[string]string // the reverse
		aliases map[string]string // alias -> name
	}
}

// Keys of the backend's values.
const (
	currentKey = "current/"
	aliasKey   = "alias/"
)

func openCatalog(b backend.Backend) (*catalog, error) {
	c := &catalog{}
	c.mu.current, c.mu.owner, c.mu.aliases = map[string]string{}, map[string]string{}, map[string]string{}
	var ok bool
	if c.values, ok = b.(backend.Values); !ok {
		return c, nil
	}
	current, err := c.values.Values(currentKey)
	if err != nil {
		return nil, fmt.Errorf("names of collections: %w", err)
	}
	aliases, err := c.values.Values(aliasKey)
	if err != nil {
		return nil, fmt.Errorf("aliases: %w", err)
	}
	for k, v := range current {
		c.put(strings.TrimPrefix(k, currentKey), string(v))
	}
	for k, v := range aliases {
		c.mu.aliases[strings.TrimPrefix(k, aliasKey)] = string(v)
	}
	return c, nil
}

// put notes that stored is the current generation of name; "" forgets name.
func (c *catalog) put(name, stored string) {
	delete(c.mu.owner, c.mu.current[name])
	delete(c.mu.current, name)
	if stored != "" {
		c.mu.current[name], c.mu.owner[stored] = stored, name
	}
}

// stored returns the name under which the collection of a name or alias is stored, and false for what no name leads to.
func (c *catalog) stored(name string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if to, ok := c.mu.aliases[name]; ok {
		name = to
	}
	if s, ok := c.mu.current[name]; ok {
		return s, true
	}
	_, other := c.mu.owner[name] // it is the generation of another name
	return name, !other && collectionName.MatchString(name)
}

// nameOf returns the name that leads to a stored collection, and false where it is hidden.
func (c *catalog) nameOf(stored string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if name, ok := c.mu.owner[stored]; ok {
		return name, true
	}
	_, elsewhere := c.mu.current[stored]
	return stored, !elsewhere && collectionName.MatchString(stored)
}

// target returns what an alias leads to.
func (c *catalog) target(alias string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	to, ok := c.mu.aliases[alias]
	return to, ok
}

// aliasesOf returns the aliases of a collection, sorted.
func (c *catalog) aliasesOf(name string) (list []string) {
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

// point makes names lead to stored collections, all at once; "" forgets a name. The caller holds change.
func (c *catalog) point(ctx context.Context, current map[string]string) error {
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

// generation returns the name of the n-th generation of a collection.
func generation(name string, n int) string {
	if n < 2 {
		return name
	}
	return name + "~" + strconv.Itoa(n)
}

// generationOf returns the number of a stored collection's generation.
func generationOf(stored string) int {
	_, n, _ := strings.Cut(stored, "~")
	if g, err := strconv.Atoi(n); err == nil {
		return g
	}
	return 1
}
