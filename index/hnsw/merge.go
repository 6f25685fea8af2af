package hnsw

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// merger links nodes back: each neighbor that a new node has selected is offered a link to it.
// Offers are sorted by the node that takes them, so that a record is changed once per batch, by one
// goroutine, and in the same way for any number of goroutines.
type merger struct {
	offers  []offer
	starts  []int // where the offers to one record begin
	touched []uint32
}

type offer struct {
	layer int
	to    uint32
	key   key // the distance and the node offered
}

func (m *merger) begin() { m.offers = m.offers[:0] }

// add offers a node to the neighbors that it has chosen.
func (m *merger) add(p *plan) {
	for layer := 0; layer <= p.level; layer++ {
		for _, k := range p.layers[layer] {
			m.offers = append(m.offers, offer{layer, keyNode(k), makeKey(keyDistance(k), p.node)})
		}
	}
}

// run carries out the offers with one goroutine per scratch, then gives nodes that nothing links to
// a link.
func (m *merger) run(c *core, scratches []*scratch) {
	slices.SortFunc(m.offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.to, b.to), cmp.Compare(a.key, b.key))
	})
	m.starts = m.starts[:0]
	for i, o := range m.offers {
		if i == 0 || o.layer != m.offers[i-1].layer || o.to != m.offers[i-1].to {
			m.starts = append(m.starts, i)
		}
	}
	for _, s := range scratches {
		s.touched = s.touched[:0]
	}
	parallel(scratches, len(m.starts), func(s *scratch, i int) {
		end := len(m.offers)
		if i+1 < len(m.starts) {
			end = m.starts[i+1]
		}
		c.take(s, m.offers[m.starts[i]:end])
	})
	m.touched = m.touched[:0]
	for _, s := range scratches {
		m.touched = append(m.touched, s.touched...)
	}
	c.adoptLonely(scratches[0], m.touched)
}

// take offers nodes to one record. Where they do not fit, the heuristic chooses among them and what
// is there.
func (c *core) take(s *scratch, offers []offer) {
	to, layer := offers[0].to, offers[0].layer
	rec := c.record(to, layer)
	s.keys = s.keys[:0]
	free := 0
	for _, v := range rec {
		if v == 0 {
			free++
		}
	}
	for _, o := range offers {
		if layer == 0 {
			s.touched = append(s.touched, keyNode(o.key))
		}
		if !slices.Contains(rec, keyNode(o.key)+1) {
			s.keys = append(s.keys, o.key)
		}
	}
	if len(s.keys) > free {
		c.fromNode(&s.query, to)
		c.appendLinks(s, &s.query, rec)
		slices.Sort(s.keys)
		s.keys = append(s.keys[:0], c.selectNeighbors(s, s.keys, len(rec), len(rec)/2)...)
		c.dropOthers(s, rec, layer)
	}
	c.place(rec, s.keys, layer)
}

// appendLinks appends to s.keys the live links of a record with their distances from q.
func (c *core) appendLinks(s *scratch, q *query, rec []uint32) {
	s.room(len(rec))
	n := 0
	for _, v := range rec {
		if v != 0 && !c.isDead(v-1) {
			s.nodes[n] = v - 1
			n++
		}
	}
	c.distances(s, q, n)
	for i, node := range s.nodes[:n] {
		s.keys = append(s.keys, makeKey(s.dist[i], node))
	}
}

// dropOthers frees the places of a record whose nodes are not in s.keys, and takes out of s.keys
// what is there.
func (c *core) dropOthers(s *scratch, rec []uint32, layer int) {
	for i, v := range rec {
		if v == 0 {
			continue
		}
		if at := slices.IndexFunc(s.keys, func(k key) bool { return keyNode(k) == v-1 }); at >= 0 {
			s.keys = slices.Delete(s.keys, at, at+1)
			continue
		}
		c.unlink(s, &rec[i], layer)
	}
}

// unlink frees a place of a record.
func (c *core) unlink(s *scratch, place *uint32, layer int) {
	if layer == 0 {
		node := *place - 1
		atomic.AddUint32(c.inDegree(node), ^uint32(0))
		s.touched = append(s.touched, node)
	}
	atomic.StoreUint32(place, 0)
}

// place puts keys into free places of a record, as far as there are any.
func (c *core) place(rec []uint32, keys []key, layer int) {
	i := 0
	for _, k := range keys {
		for i < len(rec) && rec[i] != 0 {
			i++
		}
		if i == len(rec) {
			return
		}
		atomic.StoreUint32(&rec[i], keyNode(k)+1)
		if layer == 0 {
			atomic.AddUint32(c.inDegree(keyNode(k)), 1)
		}
	}
}

// adoptLonely adopts those of nodes, which it sorts, that have lost their last link.
func (c *core) adoptLonely(s *scratch, nodes []uint32) {
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		if atomic.LoadUint32(c.inDegree(node)) == 0 {
			c.adopt(s, node)
		}
	}
}

// adopt gives a live node that nothing links to on layer 0 a link: from the nearest of its own
// neighbors that has room or can spare the link to a node that others lead to as well, or else from
// a neighbor's neighbor that can.
func (c *core) adopt(s *scratch, node uint32) {
	if c.isDead(node) {
		return
	}
	s.keys = s.keys[:0]
	c.fromNode(&s.query, node)
	c.appendLinks(s, &s.query, c.record(node, 0))
	slices.Sort(s.keys)
	for _, k := range s.keys {
		if c.foster(keyNode(k), node) {
			return
		}
	}
	for _, k := range s.keys {
		for _, v := range c.record(keyNode(k), 0) {
			if v != 0 && v-1 != node && !c.isDead(v-1) && c.foster(v-1, node) {
				return
			}
		}
	}
}

// foster links from u to node, if u has a free place or a link to spare.
func (c *core) foster(u, node uint32) bool {
	rec := c.record(u, 0)
	best, most := -1, uint32(1)
	for i, v := range rec {
		if v == 0 {
			best = i
			break
		}
		if d := atomic.LoadUint32(c.inDegree(v - 1)); d > most || c.isDead(v-1) {
			best, most = i, max(d, most)
		}
	}
	if best < 0 {
		return false
	}
	c.turn(&rec[best], node)
	return true
}

// turn makes a place of a record of layer 0, free or not, lead to node.
func (c *core) turn(place *uint32, node uint32) {
	if v := *place; v != 0 {
		atomic.AddUint32(c.inDegree(v-1), ^uint32(0))
	}
	atomic.StoreUint32(place, node+1)
	atomic.AddUint32(c.inDegree(node), 1)
}

// parallel calls do for 0 to n-1, with one goroutine per scratch, and waits for them.
func parallel(scratches []*scratch, n int, do func(s *scratch, i int)) {
	if len(scratches) == 1 || n < 2*len(scratches) {
		for i := range n {
			do(scratches[0], i)
		}
		return
	}
	const chunk = 4
	var at atomic.Int64
	var wait sync.WaitGroup
	for _, s := range scratches {
		wait.Go(func() {
			for {
				hi := int(at.Add(chunk))
				for i := hi - chunk; i < min(hi, n); i++ {
					do(s, i)
				}
				if hi >= n {
					return
				}
			}
		})
	}
	wait.Wait()
}
