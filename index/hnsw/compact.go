package hnsw

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A compaction builds a new core of the live nodes and then swaps it in. Searches and writers use
// the old core meanwhile; changes are recorded in a journal, which is replayed on the new core
// before the swap. Links are copied a few at a time under the lock; vectors and codes never change.

// A graph is compacted when more than one part in compactShare of it is dead, and it is not tiny.
// Up to compactNow nodes the write that crosses the line does it, in some milliseconds, so that
// what becomes of small graphs depends on the order of writes alone.
const (
	compactShare = 5
	compactLeast = 32
	compactNow   = 1024
)

// journal is what has been changed since a compaction began.
type journal struct {
	changes []change
}

// change is an id that was added, with the vector of a node of the old core, or deleted.
type change struct {
	id   uint32
	node uint32 // noNode: deleted
}

func (j *journal) note(id, node uint32) {
	if j != nil {
		j.changes = append(j.changes, change{id, node})
	}
}

// Compact rewrites the graph without its dead nodes and returns when it is done. Delete starts it
// in the background when a fifth of the graph is dead. Writers and searches continue meanwhile.
func (g *Graph) Compact() {
	if done := g.start(jobCompact, g.compact); done != nil {
		<-done
	}
}

// compactIfDue compacts c, the current core, or starts a compaction. The caller holds mu.
func (g *Graph) compactIfDue(c *core) {
	switch {
	case !c.compactable() || g.mu.journal != nil:
	case c.next <= compactNow:
		f := c.freezeRows()
		g.core.Store(g.rebuild(context.Background(), c, f, new(unlocked)))
	default:
		g.start(jobCompact, g.compact)
	}
}

// compactable reports whether so much of the graph is dead that a compaction is due.
func (c *core) compactable() bool {
	dead := c.dead.Load()
	return dead >= compactLeast && dead > c.next/compactShare
}

// unlocked is a no-op lock for callers that hold the lock.
type unlocked struct{}

func (*unlocked) Lock()   {}
func (*unlocked) Unlock() {}

// journalShort is the number of changes that are replayed with the lock held; journalRounds bounds
// the attempts to get below it while writers continue.
const (
	journalShort  = 64
	journalRounds = 16
)

// compact is the job: once, and again while so much was deleted meanwhile that it is due again.
func (g *Graph) compact(ctx context.Context) {
	for {
		g.compactOnce(ctx)
		g.mu.Lock()
		due := g.core.Load().compactable()
		g.mu.Unlock()
		if !due || ctx.Err() != nil {
			return
		}
	}
}

// compactOnce gives up when ctx ends, or when the graph has been emptied meanwhile.
func (g *Graph) compactOnce(ctx context.Context) {
	g.mu.Lock()
	old := g.core.Load()
	if old.dead.Load() == 0 || old.live.Load() == 0 {
		g.mu.Unlock()
		return
	}
	j := new(journal)
	g.mu.journal = j
	f := old.freezeRows()
	g.mu.Unlock()

	c := g.rebuild(ctx, old, f, &g.mu)
	s := g.pool.take()
	defer g.pool.put(s)
	var m merger
	for round := 0; ; round++ {
		g.mu.Lock()
		if g.mu.journal != j || c == nil || ctx.Err() != nil {
			break
		}
		changes := j.changes
		j.changes = nil
		if len(changes) <= journalShort || round == journalRounds {
			if c.play(s, &m, old, changes) == nil {
				g.core.Store(c)
			}
			break
		}
		g.mu.Unlock()
		if c.play(s, &m, old, changes) != nil {
			g.mu.Lock()
			break
		}
	}
	if g.mu.journal == j {
		g.mu.journal = nil
	}
	g.mu.Unlock()
}

// play repeats on c what was done to old. The only error is ErrFull.
func (c *core) play(s *scratch, m *merger, old *core, changes []change) error {
	for _, ch := range changes {
		if ch.node == noNode {
			c.remove(s, ch.id)
			continue
		}
		s.copyOf(old, ch.node)
		if done, _ := c.attach(s, ch.id); done { // it was there when the rows were copied, or is deleted again further on
			continue
		}
		if err := c.reserve(1); err != nil {
			return err
		}
		p := &s.plan
		p.id, p.node, p.level = ch.id, noNode, c.o.levelOf(ch.id)
		c.plan(s, p)
		c.insert(s, p, m)
	}
	return nil
}

// copyOf sets what s is about to insert to a node of another core.
func (s *scratch) copyOf(old *core, node uint32) {
	old.fromNode(&s.query, node)
	s.hash = old.contentOf(node)
	if old.resident() {
		s.vec = append(s.vec[:0], old.vector(node)...)
		s.query.vec = s.vec
	}
}

// frozenRows are the live nodes of a core at one moment.
type frozenRows struct {
	nodes   []uint32 // in their order
	renamed []uint32 // by node: new number + 1; 0: dead
	ids     []uint32 // by new number
	groups  map[uint32][]uint32
	live    int64
	entry   uint64 // with the new number
}

// freezeRows notes the live nodes and their ids. The caller holds the lock.
func (c *core) freezeRows() *frozenRows {
	f := &frozenRows{
		nodes:   make([]uint32, 0, c.next-c.dead.Load()),
		renamed: make([]uint32, c.next),
		groups:  map[uint32][]uint32{},
		live:    c.live.Load(),
	}
	f.ids = make([]uint32, 0, cap(f.nodes))
	for node := range c.next {
		g, row := c.locate(node)
		flags := g.flags[row].Load()
		if flags&flagDead != 0 {
			continue
		}
		if flags&flagGroup != 0 {
			f.groups[uint32(len(f.nodes))], _ = c.copies.appendIDs(nil, node, int(f.live), nil)
		}
		f.nodes = append(f.nodes, node)
		f.ids = append(f.ids, atomic.LoadUint32(&g.ids[row]))
		f.renamed[node] = uint32(len(f.nodes))
	}
	if entry, level, ok := c.entryPoint(); ok {
		f.entry = uint64(level+1)<<32 | uint64(f.renamed[entry]-1)
	}
	return f
}

// rebuildBlock is the number of nodes whose links are copied at a time.
const rebuildBlock = 2048

// rebuild returns a core of the nodes in f; nil if ctx ends. Nodes with links to dead ones choose
// again from their own links and from those of the dead. Links are read with lock held.
func (g *Graph) rebuild(ctx context.Context, old *core, f *frozenRows, lock sync.Locker) *core {
	c := newCore(&g.o, uint32(len(f.nodes)+len(f.nodes)/8))
	scratches := g.pool.takeMany(max(1, runtime.GOMAXPROCS(0)/2), len(f.nodes))
	defer g.pool.put(scratches...)
	var links []uint32
	at := make([]int, rebuildBlock) // where a node's links begin
	for lo := 0; lo < len(f.nodes); lo += rebuildBlock {
		if ctx.Err() != nil {
			return nil
		}
		hi := min(lo+rebuildBlock, len(f.nodes))
		lock.Lock()
		links = links[:0]
		for i, node := range f.nodes[lo:hi] {
			at[i] = len(links)
			for layer := 0; layer <= old.level(node); layer++ {
				links = append(links, old.record(node, layer)...)
			}
		}
		lock.Unlock()
		for i := lo; i < hi; i++ {
			c.adoptRow(old, f, uint32(i))
		}
		parallel(scratches, hi-lo, func(s *scratch, i int) {
			node, mine := f.nodes[lo+i], links[at[i]:]
			for layer := 0; layer <= old.level(node); layer++ {
				rec := c.record(uint32(lo+i), layer)
				old.survivors(s, node, layer, mine[:len(rec)], rec, f.renamed)
				mine = mine[len(rec):]
			}
		})
	}
	c.next = uint32(len(f.nodes))
	c.published.Store(c.next)
	c.live.Store(f.live)
	c.entry.Store(f.entry)
	c.countLinks()
	s := scratches[0]
	for node := range c.next {
		if *c.inDegree(node) == 0 {
			c.adopt(s, node)
		}
	}
	c.repair(s)
	return c
}

// adoptRow copies a node of old, except its links, to a new row.
func (c *core) adoptRow(old *core, f *frozenRows, to uint32) {
	node := f.nodes[to]
	from, at := old.locate(node)
	g, row := c.locate(to)
	if c.resident() {
		copy(c.vector(to), old.vector(node))
	} else {
		g.tags[row] = from.tags[at]
	}
	if c.rotation != nil {
		w := c.rotation.width
		copy(g.code(row, w), from.code(at, w))
		g.scales[row] = from.scales[at]
		if g.norms != nil {
			g.norms[row] = from.norms[at]
		}
	}
	g.ids[row] = f.ids[to]
	if level := old.level(node); level > 0 {
		g.upper[row] = c.upper.allocate(level, c.m)
	}
	c.dedup.add(old.contentOf(node), to)
	ids, group := f.groups[to]
	if !group {
		c.ids.set(f.ids[to], to)
		return
	}
	g.flags[row].Store(flagGroup)
	c.copies.add(to, ids...)
	for _, id := range ids {
		c.ids.set(id, to)
	}
}

// survivors writes to rec the links of a node on a layer, mine, with new numbers. Links to dead
// nodes are replaced; links to nodes added since are left out, as replaying the journal makes them.
func (c *core) survivors(s *scratch, node uint32, layer int, mine, rec, renamed []uint32) {
	number := func(v uint32) uint32 {
		if v == 0 || int(v) > len(renamed) {
			return 0
		}
		return renamed[v-1]
	}
	whole := true
	for i, v := range mine {
		rec[i] = number(v)
		whole = whole && (rec[i] != 0 || v == 0 || int(v) > len(renamed))
	}
	if whole {
		return
	}
	s.keys = s.keys[:0]
	c.fromNode(&s.query, node)
	c.appendLinks(s, &s.query, mine)
	for _, v := range mine {
		if v != 0 && int(v) <= len(renamed) && renamed[v-1] == 0 {
			c.appendLinks(s, &s.query, c.record(v-1, layer)) // what is dead no longer changes
		}
	}
	slices.Sort(s.keys)
	s.keys = slices.DeleteFunc(slices.Compact(s.keys), func(k key) bool {
		return keyNode(k) == node || number(keyNode(k)+1) == 0
	})
	clear(rec)
	for i, k := range c.selectNeighbors(s, s.keys, len(rec), len(rec)/2) {
		rec[i] = renamed[keyNode(k)]
	}
}

// countLinks sets the in-degrees from the links.
func (c *core) countLinks() {
	for node := range c.next {
		for _, v := range c.record(node, 0) {
			if v != 0 {
				*c.inDegree(v - 1)++
			}
		}
	}
}
