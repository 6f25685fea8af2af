package hnsw

import "unsafe"

// Memory is the memory of a graph in bytes by purpose. Space reserved for future vectors does not
// count, as it has not been touched.
type Memory struct {
	Vectors int64 // float32; 0 where a source holds them
	Codes   int64 // int8 with their scales
	Links   int64
	Tables  int64 // ids, contents, in-degrees, flags
}

// Total returns the sum.
func (m Memory) Total() int64 { return m.Vectors + m.Codes + m.Links + m.Tables }

// Memory measures the graph.
func (g *Graph) Memory() Memory {
	m, _ := g.measure()
	return m
}

// measure returns the memory of the graph and the rows that it is for, those of dead nodes too.
func (g *Graph) measure() (m Memory, rows int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	n := int64(c.next)
	m = Memory{
		Links:  4*n*int64(c.m0+1) + int64(c.upper.bytes()),
		Tables: n*(4+4+4) + c.ids.bytes() + int64(len(c.dedup.slots))*8,
	}
	if c.resident() {
		m.Vectors = 4 * n * int64(c.o.Dim)
	} else {
		m.Tables += 4 * n
	}
	if c.rotation != nil {
		m.Codes = n * int64(c.rotation.width+4)
		if c.o.Metric == L2 {
			m.Codes += 4 * n
		}
	}
	return m, n
}

// BytesPerVector returns the memory of the graph divided by its vectors; 0 for an empty graph.
func (g *Graph) BytesPerVector() float64 {
	m, rows := g.measure()
	if rows == 0 {
		return 0
	}
	return float64(m.Total()) / float64(rows)
}

// bytes returns the memory of the tree.
func (t *idTable) bytes() int64 {
	size := int64(unsafe.Sizeof(*t))
	for i := range t.root {
		trunk := t.root[i].Load()
		if trunk == nil {
			continue
		}
		size += int64(unsafe.Sizeof(*trunk))
		for j := range trunk {
			branch := trunk[j].Load()
			if branch == nil {
				continue
			}
			size += int64(unsafe.Sizeof(*branch))
			for k := range branch {
				if branch[k].Load() != nil {
					size += int64(unsafe.Sizeof(idLeaf{}))
				}
			}
		}
	}
	return size
}
