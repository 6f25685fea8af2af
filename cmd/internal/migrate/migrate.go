// Package migrate copies collections from one server to another, with passages and vectors as they
// are stored: nothing is encoded again.
//
// A pass compares the digests of all documents and copies those that differ. Passes are repeated
// until one finds no difference, so a run that was interrupted goes on where it was, and documents
// that are written to the source meanwhile are copied, too.
package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.com/searchd/client"
)

// Migration copies collections and the aliases that lead to them.
type Migration struct {
	From, To    *client.Client
	Collections []string                // of From; empty: all
	As          string                  // name of the copy of the only one of Collections, without aliases; default: its own
	Done        func(text string)       // called for each collection that is complete
	Progress    func(done, total int64) // documents that a pass has looked at
	Page        int                     // documents that are compared at once, at most 1000; default 512
}

const maxPasses = 10

// Run copies the collections, one after the other, and then sets the aliases.
func (m Migration) Run(ctx context.Context) error {
	list, err := m.collections(ctx)
	if err != nil {
		return err
	}
	var aliases []client.Alias
	if m.As == "" {
		if aliases, err = m.aliases(ctx, list); err != nil {
			return err
		}
	}
	for _, c := range list {
		if err := m.copyOne(ctx, c.Name); err != nil {
			return fmt.Errorf("collection %s: %w", c.Name, err)
		}
	}
	for _, a := range aliases {
		if err := m.To.SetAlias(ctx, a.Alias, a.Collection); err != nil {
			return fmt.Errorf("alias %s: %w", a.Alias, err)
		}
		m.Done(fmt.Sprintf("%s: an alias of %s", a.Alias, a.Collection))
	}
	return nil
}

// collections returns the collections to be copied.
func (m Migration) collections(ctx context.Context) (list []client.Collection, err error) {
	if m.As != "" && len(m.Collections) != 1 {
		return nil, fmt.Errorf("--as: got %q with %d collections, allowed: with one, such as --collection docs", m.As, len(m.Collections))
	}
	all, err := m.From.Collections(ctx)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	var names []string
	for _, c := range all {
		if names = append(names, c.Name); len(m.Collections) > 0 && !slices.Contains(m.Collections, c.Name) {
			continue
		}
		if c.Damaged != "" {
			return nil, fmt.Errorf("--from: collection %s is damaged: %s", c.Name, c.Damaged)
		}
		if c.CopyOf != "" {
			return nil, fmt.Errorf("--from: collection %s is itself a copy that has not ended", c.Name)
		}
		list = append(list, c)
	}
	for _, name := range m.Collections {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--collection: got %q, allowed: %s", name, strings.Join(names, ", "))
		}
	}
	if len(list) == 0 {
		return nil, errors.New("--from: there is no collection")
	}
	return list, nil
}

// aliases returns the aliases to be set.
func (m Migration) aliases(ctx context.Context, of []client.Collection) (list []client.Alias, err error) {
	all, err := m.From.Aliases(ctx)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	there, err := m.To.Aliases(ctx)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	for _, a := range all {
		if !slices.ContainsFunc(of, func(c client.Collection) bool { return c.Name == a.Collection }) {
			continue
		}
		list = append(list, a)
		for _, b := range there {
			if b.Alias == a.Alias && b.Collection != a.Collection {
				return nil, fmt.Errorf("--to: alias %s leads to %s there, and to %s at the source; delete it first", a.Alias, b.Collection, a.Collection)
			}
		}
	}
	return list, nil
}

// without returns what a copy of a collection lacks.
func without(o client.Original) string {
	var has struct {
		Settings struct {
			Versions *struct{} `json:"versions"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(o.Body, &has); err != nil || has.Settings.Versions == nil {
		return ""
	}
	return "; former versions of documents stay behind"
}

// copyOne copies a collection until a pass finds no difference.
func (m Migration) copyOne(ctx context.Context, name string) error {
	as := cmp.Or(m.As, name)
	from, to := client.CopiesOf(m.From, name), client.CopiesOf(m.To, as)
	o, err := from.Original(ctx)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	err = to.Begin(ctx, o)
	there := errors.Is(err, client.ErrExists) // perhaps an earlier run has ended with it
	if err != nil && !there {
		return fmt.Errorf("--to: %w", err)
	}
	for range maxPasses {
		p := pass{Migration: m, name: name, as: as, from: from, to: to, of: o.Of, compare: there}
		differ, err := p.run(ctx)
		switch {
		case err != nil:
			return err
		case differ > 0 && there:
			return fmt.Errorf("--to: it is there and differs in %d documents; delete it, or leave it out with --collection", differ)
		case differ > 0:
			continue
		case len(p.damaged) > 0:
			return fmt.Errorf("--from: %d documents are damaged, such as %q: write them again or delete them, and run the command again", len(p.damaged), p.damaged[0])
		}
		if there {
			m.Done(fmt.Sprintf("%s: %d documents, %d passages, the same on both sides already", name, p.source.Documents, p.source.Passages))
			return nil
		}
		if err := m.end(ctx, as, o.Of); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		m.Done(fmt.Sprintf("%s: %d documents, %d passages, the same on both sides with their vectors%s", name, p.source.Documents, p.source.Passages, without(o)))
		return nil
	}
	return fmt.Errorf("--from: it has changed during each of %d passes: stop who writes to it, and run the command again", maxPasses)
}

// end ends a copy, also where the answer is lost.
func (m Migration) end(ctx context.Context, name, of string) error {
	err := client.CopiesOf(m.To, name).End(ctx, of)
	if errors.Is(err, client.ErrOutcomeUnknown) {
		if c, seen := m.To.Collection(ctx, name); seen == nil && c.CopyOf == "" {
			return nil
		}
	}
	return err
}

// pass is one comparison of a collection with its copy.
type pass struct {
	Migration
	name, as string // of the collection, and of its copy
	from, to client.Copies
	of       string
	compare  bool // copy nothing

	source  *client.Collection // as it was at the end
	damaged []string           // documents of the source that cannot be read
}

// run copies the documents that differ, deletes those that the source does not have, and returns
// how many these are. Writing goes on while the next documents are read, one page after the other,
// so that documents arrive in the order in which they came to the source.
func (p *pass) run(ctx context.Context) (differ int, err error) {
	begin, err := p.From.Collection(ctx, p.name)
	if err != nil {
		return 0, fmt.Errorf("--from: %w", err)
	}
	g, both := errgroup.WithContext(ctx)
	pages := make(chan []byte)
	g.Go(func() error {
		for b := range pages {
			if err := p.to.Write(both, p.of, b); err != nil {
				return fmt.Errorf("--to: %w", err)
			}
		}
		return nil
	})
	g.Go(func() (err error) {
		defer close(pages)
		differ, err = p.read(both, int64(begin.Documents), pages)
		return err
	})
	if err := g.Wait(); err != nil {
		return differ, err
	}
	surplus, err := p.surplus(ctx)
	return differ + surplus, err
}

// read sends the documents that differ to pages.
func (p *pass) read(ctx context.Context, total int64, pages chan<- []byte) (differ int, err error) {
	p.damaged = nil
	looked := int64(0)
	err = p.pages(ctx, &p.from, &p.to, func(list, have []client.Digest) error {
		var ids []string
		for i, d := range list {
			switch {
			case d.Digest == "":
				p.damaged = append(p.damaged, d.ID)
			case d.Digest != have[i].Digest:
				ids = append(ids, d.ID)
			}
		}
		differ += len(ids)
		if err := p.send(ctx, ids, pages); err != nil {
			return err
		}
		looked += int64(len(list))
		p.Progress(looked, max(looked, total))
		return nil
	})
	return differ, err
}

// pages calls f with each page of the documents of one side, and what the other has of the same.
func (p *pass) pages(ctx context.Context, side, other *client.Copies, f func(list, have []client.Digest) error) error {
	flag, otherFlag := "--from", "--to"
	if side == &p.to {
		flag, otherFlag = otherFlag, flag
	}
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := side.List(ctx, cursor, cmp.Or(p.Page, 512))
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		ids := make([]string, len(list))
		for i, d := range list {
			ids[i] = d.ID
		}
		have, err := other.Digests(ctx, ids)
		if err != nil {
			return fmt.Errorf("%s: %w", otherFlag, err)
		}
		if err := f(list, have); err != nil {
			return err
		}
		cursor = next
	}
	return nil
}

// send sends documents of the source to pages, and of those that it does not have that there are
// none.
func (p *pass) send(ctx context.Context, ids []string, pages chan<- []byte) error {
	for len(ids) > 0 && !p.compare {
		b, n, err := p.from.Read(ctx, ids)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		select {
		case pages <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		ids = ids[n:]
	}
	return nil
}

// surplus deletes the documents of the copy that the source does not have, and returns how many
// they are. It looks for them only where the numbers of documents differ.
func (p *pass) surplus(ctx context.Context) (n int, err error) {
	if p.source, err = p.From.Collection(ctx, p.name); err != nil {
		return 0, fmt.Errorf("--from: %w", err)
	}
	copied, err := p.To.Collection(ctx, p.as)
	if err != nil {
		return 0, fmt.Errorf("--to: %w", err)
	}
	if copied.Documents == p.source.Documents-len(p.damaged) && (len(p.damaged) > 0 || copied.Passages == p.source.Passages) {
		return 0, nil
	}
	err = p.pages(ctx, &p.to, &p.from, func(_, have []client.Digest) error {
		var ids []string
		for _, d := range have {
			if d.Digest == "" && !slices.Contains(p.damaged, d.ID) {
				ids = append(ids, d.ID)
			}
		}
		n += len(ids)
		pages := make(chan []byte, len(ids))
		if err := p.send(ctx, ids, pages); err != nil {
			return err
		}
		close(pages)
		for b := range pages {
			if err := p.to.Write(ctx, p.of, b); err != nil {
				return fmt.Errorf("--to: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	return n + max(0, p.source.Documents-len(p.damaged)-copied.Documents), nil // those that came since
}
