package hnsw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"runtime"
	"sync"

	"example.com/searchd/internal/simd"
)

// ReadSnapshot reads what WriteSnapshot wrote. o.Dim, o.Metric and o.M must be those of the graph;
// a Dim or M of zero takes the snapshot's. A graph with a Source is read with a Source and the same
// Seed, one without is read without. The other options may have changed. Errors: fs.ErrNotExist and
// other errors of the file system, ErrOptions, ErrDamaged, ErrMismatch for another format version,
// dimension, metric, M, seed, or whether there is a source.
func ReadSnapshot(path string, o Options) (*Graph, Meta, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, Meta{}, fmt.Errorf("hnsw: snapshot: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, Meta{}, fmt.Errorf("hnsw: snapshot: %w", err)
	}
	g, meta, err := decodeSnapshot(file, info.Size(), o)
	if err != nil {
		return nil, Meta{}, fmt.Errorf("%s: %w", path, err)
	}
	return g, meta, nil
}

// decodeSnapshot reads a snapshot of size bytes. Nothing is allocated from a length before it is
// checked against size.
func decodeSnapshot(in io.Reader, size int64, o Options) (*Graph, Meta, error) {
	h, err := readHeader(in, size)
	if err != nil {
		return nil, Meta{}, err
	}
	if o, err = h.fit(o); err != nil {
		return nil, Meta{}, err
	}
	g := newGraph(o)
	if h.widths != 0 {
		g.ef.widths.Store(h.packedWidths())
		g.ef.saved.Store(h.packedWidths())
		g.ef.tried.Store(uint64(h.nodes) | uint64(h.target)<<32)
	}
	c := newCore(&g.o, max(h.nodes+h.nodes/8, uint32(min(o.Capacity, maxNodes))))
	c.next = h.nodes
	r := &blockReader{in: in, left: h.body(), payload: make([]byte, 0, min(blockSize, h.body()))}
	if err := r.load(c, h); err != nil {
		return nil, Meta{}, err
	}
	trailer := make([]byte, trailerSize)
	if _, err := io.ReadFull(in, trailer); err != nil {
		return nil, Meta{}, damaged("trailer: %v", err)
	}
	if !bytes.Equal(trailer, h.trailer(r.crc)) {
		return nil, Meta{}, damaged("trailer does not match")
	}
	if err := c.complete(h); err != nil {
		return nil, Meta{}, err
	}
	g.core.Store(c)
	return g, h.meta, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// readHeader reads and verifies the header; size is that of the file.
func readHeader(in io.Reader, size int64) (*header, error) {
	b := make([]byte, headerSize)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, damaged("header: %v", err)
	}
	le := binary.LittleEndian
	if string(b[:8]) != snapshotMagic {
		return nil, damaged("no snapshot of a graph")
	}
	if crc32.Checksum(b[:headerSize-4], castagnoli) != le.Uint32(b[headerSize-4:]) {
		return nil, damaged("header: checksum does not match")
	}
	h := &header{version: le.Uint32(b[8:])}
	if h.version != snapshotVersion {
		return nil, fmt.Errorf("%w: format version %d, want %d", ErrMismatch, h.version, snapshotVersion)
	}
	copy(h.meta.StoreID[:], b[16:])
	h.meta.Seq = le.Uint64(b[32:])
	h.dim, h.metric, h.m, h.nodes = le.Uint32(b[40:]), le.Uint32(b[44:]), le.Uint32(b[48:]), le.Uint32(b[52:])
	h.upper, h.copies, h.ids, h.entry = le.Uint64(b[56:]), le.Uint64(b[64:]), le.Uint64(b[72:]), le.Uint64(b[80:])
	h.widths, h.fileSize, h.target = le.Uint32(b[88:]), le.Uint64(b[96:]), le.Uint32(b[104:])
	h.contents, h.seed = le.Uint32(b[108:]), le.Uint64(b[112:])
	switch most := uint64(size); {
	case le.Uint32(b[12:]) != headerSize || le.Uint32(b[92:]) != blockSize:
		return nil, damaged("header: sizes of header and block")
	case h.contents > contentCodes || h.contents == contentVectors && h.seed != 0 || le.Uint32(b[120:]) != 0:
		return nil, damaged("header: contents %d, seed %d, %d", h.contents, h.seed, le.Uint32(b[120:]))
	case h.dim < 1 || h.dim > MaxDim || h.metric > uint32(L2) || h.m < 2 || h.m > MaxM || h.nodes > maxNodes:
		return nil, damaged("header: dim %d, metric %d, M %d, %d nodes", h.dim, h.metric, h.m, h.nodes)
	case h.upper > most || h.copies > most || h.size() != most || h.fileSize != most:
		return nil, damaged("%d bytes, the header says %d", size, h.fileSize)
	case h.ids > uint64(h.nodes)+h.copies || h.ids > 1<<32:
		return nil, damaged("header: %d ids of %d nodes", h.ids, h.nodes)
	case h.entry != 0 && (uint32(h.entry) >= h.nodes || h.entry>>32 > maxLevel+1 || h.entry>>32 == 0):
		return nil, damaged("header: entry point %d", h.entry)
	}
	return h, nil
}

// fit returns the options for the graph of a header.
func (h *header) fit(o Options) (Options, error) {
	if o.Dim == 0 {
		o.Dim = int(h.dim)
	}
	if o.M == 0 {
		o.M = int(h.m)
	}
	if err := o.Validate(); err != nil {
		return o, err
	}
	if o.Dim != int(h.dim) || o.Metric != Metric(h.metric) || o.M != int(h.m) {
		return o, fmt.Errorf("%w: snapshot has dim %d, metric %v, M %d, want %d, %v, %d",
			ErrMismatch, h.dim, Metric(h.metric), h.m, o.Dim, o.Metric, o.M)
	}
	if codes := h.contents == contentCodes; codes != (o.Source != nil) {
		return o, fmt.Errorf("%w: snapshot holds codes instead of vectors: %t, want %t", ErrMismatch, codes, o.Source != nil)
	} else if codes && h.seed != o.Seed {
		return o, fmt.Errorf("%w: snapshot holds codes of seed %d, want %d", ErrMismatch, h.seed, o.Seed)
	}
	return o, nil
}

// load reads the sections into the rows of c.
func (r *blockReader) load(c *core, h *header) error {
	if err := r.loadRows(c, h); err != nil {
		return err
	}
	for node := range h.nodes {
		seg, row := c.locate(node)
		if err := r.words(seg.ids[row : row+1]); err != nil {
			return err
		}
	}
	if err := r.loadLinks(c, h); err != nil {
		return err
	}
	if err := r.loadCopies(c, h); err != nil {
		return err
	}
	load := r.loadVector
	if h.contents == contentCodes {
		load = r.loadCode
	}
	for node := range h.nodes {
		if err := load(c, node); err != nil {
			return err
		}
	}
	if r.left > 0 || r.at < len(r.payload) {
		return damaged("bytes after the last vector")
	}
	return nil
}

func (r *blockReader) loadVector(c *core, node uint32) error {
	v := c.vector(node)
	b, err := r.next(4 * len(v))
	if err != nil {
		return err
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	// A component that is not finite shows in the sum of squares.
	if n := float64(simd.Dot(v, v)); !(n <= maxSquaredNorm) || c.o.Metric == Cosine && math.Abs(n-1) > 1e-3 {
		return damaged("node %d: squared length of its vector is %v", node, n)
	}
	return nil
}

// loadCode reads a code with its tag, scale and, for L2, squared length.
func (r *blockReader) loadCode(c *core, node uint32) error {
	g, row := c.locate(node)
	w := c.rotation.width
	var words [3]uint32
	head := words[:2]
	if g.norms != nil {
		head = words[:]
	}
	if err := r.words(head); err != nil {
		return err
	}
	b, err := r.next(w)
	if err != nil {
		return err
	}
	code := g.code(row, w)
	copy(asBytes(code), b)
	g.tags[row], g.scales[row] = words[0], math.Float32frombits(words[1])
	scale := float64(g.scales[row])
	n := scale * scale * float64(simd.DotInt8(code, code))
	// Rounding takes or gives a few parts in a hundred of a length at most.
	if !(scale >= 0 && n <= 2*maxSquaredNorm) || c.o.Metric == Cosine && math.Abs(n-1) > 0.5 || g.tags[row]>>31 != 0 {
		return damaged("node %d: squared length of its code is %v", node, n)
	}
	if g.norms != nil {
		g.norms[row] = math.Float32frombits(words[2])
		if x := float64(g.norms[row]); !(x >= 0 && x <= maxSquaredNorm) {
			return damaged("node %d: squared length of its vector is %v", node, x)
		}
	}
	return nil
}

// loadRows reads the level of each row and whether it is dead.
func (r *blockReader) loadRows(c *core, h *header) error {
	var words uint64
	for node := range h.nodes {
		b, err := r.next(1)
		if err != nil {
			return err
		}
		level := int(b[0] & rowLevel)
		if b[0]&^(rowDead|rowLevel) != 0 {
			return damaged("node %d: row byte %#x", node, b[0])
		}
		if words += uint64(level) * uint64(h.m); words > h.upper {
			return damaged("%d words of links above layer 0, the levels want more", h.upper)
		}
		seg, row := c.locate(node)
		if b[0]&rowDead != 0 {
			seg.flags[row].Store(flagDead)
			c.dead.Add(1)
		}
		if level > 0 {
			seg.upper[row] = c.upper.allocate(level, c.m)
		}
	}
	if words != h.upper {
		return damaged("%d words of links above layer 0, the levels want %d", h.upper, words)
	}
	return nil
}

// loadLinks reads the records of layer 0, then those above, and verifies every link.
func (r *blockReader) loadLinks(c *core, h *header) error {
	for node := range h.nodes {
		if err := r.loadRecord(c, node, 0); err != nil {
			return err
		}
	}
	for node := range h.nodes {
		for layer := 1; layer <= c.level(node); layer++ {
			if err := r.loadRecord(c, node, layer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *blockReader) loadRecord(c *core, node uint32, layer int) error {
	rec := c.record(node, layer)
	if err := r.words(rec); err != nil {
		return err
	}
	for _, v := range rec {
		if v == 0 {
			continue
		}
		if v > c.next || v-1 == node || c.level(v-1) < layer {
			return damaged("node %d, layer %d: link to %d", node, layer, v-1)
		}
		if layer == 0 {
			*c.inDegree(v - 1)++
		}
	}
	return nil
}

// loadCopies reads the ids of nodes that have several.
func (r *blockReader) loadCopies(c *core, h *header) error {
	var pair [2]uint32
	for range h.copies {
		if err := r.words(pair[:]); err != nil {
			return err
		}
		node, id := pair[0], pair[1]
		if node >= h.nodes || c.isDead(node) {
			return damaged("id %d of node %d, which is not there", id, node)
		}
		if _, ok := c.ids.lookup(id); ok {
			return damaged("id %d twice", id)
		}
		seg, row := c.locate(node)
		seg.flags[row].Or(flagGroup)
		c.copies.add(node, id)
		c.ids.set(id, node)
		c.live.Add(1)
	}
	return nil
}

// complete derives what a snapshot does not hold: the tables of ids and contents, and the codes.
func (c *core) complete(h *header) error {
	for node := range h.nodes {
		seg, row := c.locate(node)
		flags := seg.flags[row].Load()
		if flags&flagDead != 0 {
			continue
		}
		if flags&flagGroup == 0 {
			if _, ok := c.ids.lookup(seg.ids[row]); ok {
				return damaged("id %d twice", seg.ids[row])
			}
			c.ids.set(seg.ids[row], node)
			c.live.Add(1)
		}
	}
	if uint64(c.live.Load()) != h.ids {
		return damaged("%d ids, the header says %d", c.live.Load(), h.ids)
	}
	entry := uint32(h.entry)
	if (h.entry == 0) != (h.ids == 0) || h.entry != 0 && (c.level(entry) != int(h.entry>>32)-1 || c.isDead(entry)) {
		return damaged("entry point %#x", h.entry)
	}
	c.derive()
	c.entry.Store(h.entry)
	c.published.Store(c.next)
	return nil
}

// derive fills the table of contents and, where vectors were read and there are codes, the codes,
// with all processors.
func (c *core) derive() {
	hashes := make([]uint64, c.next)
	workers := uint32(runtime.GOMAXPROCS(0))
	share := (c.next + workers - 1) / workers
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			var q query
			for node := w * share; node < min((w+1)*share, c.next); node++ {
				hashes[node] = c.contentOf(node)
				if c.resident() {
					c.from(&q, c.vector(node))
					c.putCode(&q, node)
				}
			}
		})
	}
	wait.Wait()
	for node, h := range hashes {
		if !c.isDead(uint32(node)) {
			c.dedup.add(h, uint32(node))
		}
	}
}

// putCode writes the code of q to the row of a node, where the graph has codes.
func (c *core) putCode(q *query, node uint32) {
	if c.rotation == nil {
		return
	}
	g, row := c.locate(node)
	copy(g.code(row, c.rotation.width), q.code)
	g.scales[row] = q.scale
	if g.norms != nil {
		g.norms[row] = q.norm
	}
}
