package hnsw

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sync/atomic"

	"example.com/searchd/internal/disk"
)

// Meta identifies a snapshot. The graph does not interpret it.
type Meta struct {
	Seq     uint64   // sequence number of the last change that the snapshot holds
	StoreID [16]byte // of the store that the vectors come from
}

// Errors of ReadSnapshot. After either, rebuild the graph from the source of the vectors.
var (
	ErrDamaged  = errors.New("hnsw: snapshot is damaged")
	ErrMismatch = errors.New("hnsw: snapshot does not fit")
)

// The byte-level format is described in index/hnsw/FORMAT.md.
const (
	snapshotMagic   = "SDHNSW\r\n"
	trailerMagic    = "SDHNSWE\n"
	snapshotVersion = 2
	headerSize      = 128
	trailerSize     = 48
	blockSize       = 1 << 20 // bytes of payload per block; the last one may be shorter
	blockHead       = 8       // length and CRC32C before each payload

	rowDead  = 0x80 // of the byte per row; the rest is the level
	rowLevel = 0x0F
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the first block of a snapshot. Every length of the file follows from it.
type header struct {
	version  uint32
	meta     Meta
	dim      uint32
	metric   uint32
	m        uint32
	nodes    uint32 // rows, dead ones too
	upper    uint64 // words of links above layer 0
	copies   uint64 // ids of the nodes that have more than one
	ids      uint64 // ids that live
	entry    uint64 // (level+1)<<32 | node; 0: none
	widths   uint32 // calibrated beam widths; 0: none
	target   uint32 // bits of the recall that they are calibrated to, as float32
	fileSize uint64
	contents uint32 // contentVectors or contentCodes
	seed     uint64 // of the rotation of codes; 0 without codes
}

// What a snapshot holds of the vectors.
const (
	contentVectors = iota // the vectors; codes are derived
	contentCodes          // codes with tags and scales; a source holds the vectors
)

// body returns the number of bytes in the blocks: a byte, an id and links per row, links above,
// copies, and vectors or codes.
func (h *header) body() uint64 {
	return uint64(h.nodes)*(1+4+8*uint64(h.m)+h.rowBytes()) + 4*h.upper + 8*h.copies
}

// packedWidths are widths and target as a graph keeps them.
func (h *header) packedWidths() uint64 { return uint64(h.widths) | uint64(h.target)<<32 }

// rowBytes returns the bytes of a vector, or of a code with its tag, scale and, for L2, squared
// length.
func (h *header) rowBytes() uint64 {
	switch {
	case h.contents == contentVectors:
		return 4 * uint64(h.dim)
	case h.metric == uint32(L2):
		return 12 + uint64(codeWidth(int(h.dim)))
	default:
		return 8 + uint64(codeWidth(int(h.dim)))
	}
}

func (h *header) blocks() uint64 { return (h.body() + blockSize - 1) / blockSize }

func (h *header) size() uint64 { return headerSize + h.blocks()*blockHead + h.body() + trailerSize }

func (h *header) encode() []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, headerSize), snapshotMagic...)
	b = le.AppendUint32(b, h.version)
	b = le.AppendUint32(b, headerSize)
	b = append(b, h.meta.StoreID[:]...)
	b = le.AppendUint64(b, h.meta.Seq)
	for _, x := range []uint32{h.dim, h.metric, h.m, h.nodes} {
		b = le.AppendUint32(b, x)
	}
	for _, x := range []uint64{h.upper, h.copies, h.ids, h.entry} {
		b = le.AppendUint64(b, x)
	}
	b = le.AppendUint32(b, h.widths)
	b = le.AppendUint32(b, blockSize)
	b = le.AppendUint64(b, h.fileSize)
	b = le.AppendUint32(b, h.target)
	b = le.AppendUint32(b, h.contents)
	b = le.AppendUint64(b, h.seed)
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// trailer is written last: its presence proves that everything before it was written.
func (h *header) trailer(blocksCRC uint32) []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, trailerSize), trailerMagic...)
	b = le.AppendUint64(b, h.meta.Seq)
	b = le.AppendUint64(b, h.ids)
	b = le.AppendUint32(b, h.nodes)
	b = le.AppendUint32(b, uint32(h.blocks()))
	b = le.AppendUint64(b, h.body())
	b = le.AppendUint32(b, blocksCRC)
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// WriteSnapshot writes the graph to path: beside it first, synced, then renamed over it, then the
// folder synced, so that path holds the old snapshot or the new one whatever happens. Writers wait
// while the links are copied, not while the file is written; searches never wait. Vectors, or the
// codes where a source holds them, are written too: one sequential read then brings the graph back
// without a pass over the store.
func (g *Graph) WriteSnapshot(path string, meta Meta) (err error) {
	g.snapshot.Lock()
	defer g.snapshot.Unlock()
	f := g.freeze()
	f.meta = meta
	tmp := path + ".tmp"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("hnsw: snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close() // again after a failure of Close itself, which does no harm
			_ = os.Remove(tmp)
			err = fmt.Errorf("hnsw: snapshot: %w", err)
		}
	}()
	if err := f.write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := disk.Rename(tmp, path); err != nil {
		return err
	}
	g.ef.saved.Store(f.packedWidths())
	return nil
}

// frozen is the state of a graph at one moment. What never changes, vectors and codes, stays in the
// core.
type frozen struct {
	header
	c      *core
	rows   []byte
	rowIDs []uint32
	links  []uint32
	above  []uint32
	pairs  []uint32 // node, id, node, id, ...
}

func (g *Graph) freeze() *frozen {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	if c.unchecked > 0 { // what is read back counts as verified
		s := g.pool.take()
		c.repair(s)
		g.pool.put(s)
	}
	f := &frozen{c: c}
	widths := g.ef.widths.Load()
	f.header = header{
		version: snapshotVersion,
		dim:     uint32(g.o.Dim), metric: uint32(g.o.Metric), m: uint32(g.o.M),
		nodes: c.next, ids: uint64(c.live.Load()), entry: c.entry.Load(),
		widths: uint32(widths), target: uint32(widths >> 32),
	}
	if !c.resident() {
		f.contents, f.seed = contentCodes, g.o.Seed
	}
	f.rows = make([]byte, 0, c.next)
	f.rowIDs = make([]uint32, 0, c.next)
	f.links = make([]uint32, 0, int(c.next)*c.m0)
	for node := range c.next {
		seg, row := c.locate(node)
		flags, level := seg.flags[row].Load(), c.level(node)
		b := byte(level)
		if flags&flagDead != 0 {
			b |= rowDead
		} else if flags&flagGroup != 0 {
			ids, _ := c.copies.appendIDs(nil, node, int(c.live.Load()), nil)
			for _, id := range ids {
				f.pairs = append(f.pairs, node, id)
			}
		}
		f.rows = append(f.rows, b)
		f.rowIDs = append(f.rowIDs, atomic.LoadUint32(&seg.ids[row]))
		f.links = append(f.links, c.record(node, 0)...)
		for layer := 1; layer <= level; layer++ {
			f.above = append(f.above, c.record(node, layer)...)
		}
	}
	f.upper, f.copies = uint64(len(f.above)), uint64(len(f.pairs)/2)
	f.fileSize = f.size()
	return f
}

// write writes the whole file.
func (f *frozen) write(file io.Writer) error {
	out := bufio.NewWriterSize(file, 1<<20)
	if _, err := out.Write(f.encode()); err != nil {
		return err
	}
	w := &blockWriter{out: out, payload: make([]byte, 0, blockSize)}
	w.bytes(f.rows)
	for _, section := range [][]uint32{f.rowIDs, f.links, f.above, f.pairs} {
		for _, x := range section {
			w.word(x)
		}
	}
	for node := range f.nodes {
		f.writeRow(w, node)
		if w.err != nil {
			return w.err
		}
	}
	w.flush()
	if w.err != nil {
		return w.err
	}
	if _, err := out.Write(f.trailer(w.crc)); err != nil {
		return err
	}
	return out.Flush()
}

// writeRow writes a vector, or a code with its tag, scale and, for L2, squared length.
func (f *frozen) writeRow(w *blockWriter, node uint32) {
	if f.contents == contentVectors {
		for _, x := range f.c.vector(node) {
			w.word(math.Float32bits(x))
		}
		return
	}
	g, row := f.c.locate(node)
	w.word(g.tags[row])
	w.word(math.Float32bits(g.scales[row]))
	if g.norms != nil {
		w.word(math.Float32bits(g.norms[row]))
	}
	w.bytes(asBytes(g.code(row, f.c.rotation.width)))
}
