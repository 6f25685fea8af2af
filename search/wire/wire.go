// Package wire writes and reads what a primary sends to those who follow it: lines of JSON.
//
//	{"collection":{…}}   one that the follower has not, or with other settings, before its changes
//	{"change":{…}}       in the order of the log of each collection, with the document that it put
//	{"end":{…}}          the last line: how much is left, and names and values where nothing is and they are others than before
//
// Bytes are base64, so that what arrives is what is stored, to the bit; vectors are little-endian float32. An answer without its last line was
// cut off.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"searchd/internal/lines"
	"searchd/store"
)

// Question is what a follower asks.
type Question struct {
	Follower string            `json:"follower"`          // its name
	Store    string            `json:"store"`             // what its sequence numbers are of
	After    map[uint32]uint64 `json:"after"`             // the last of them that it has, by the number of the collection
	Version  uint64            `json:"version,omitempty"` // of the names and values that it had last
	Used     map[string]int64  `json:"used,omitempty"`    // Unix times of uses of API keys that those values do not have
}

// End is the last line of an answer.
type End struct {
	Behind      uint64            `json:"behind"`          // changes that are left
	Version     uint64            `json:"version"`         // of collections and values
	Commits     uint64            `json:"commits"`         // of the primary since its start that this answer tells of
	Named       bool              `json:"named,omitempty"` // there are the collections and values of Version
	Partial     bool              `json:"partial,omitempty"`
	Collections []uint32          `json:"collections,omitempty"` // numbers
	Values      map[string][]byte `json:"values,omitempty"`
}

type line struct {
	Collection *collection `json:"collection,omitempty"`
	Change     *change     `json:"change,omitempty"`
	End        *End        `json:"end,omitempty"`
}

type collection struct {
	ID         uint32 `json:"id"`
	Name       string `json:"name"`
	Generation uint64 `json:"generation"`
	Sequence   uint64 `json:"sequence"`
	Settings   []byte `json:"settings"`
}

type change struct {
	Collection uint32    `json:"collection"`
	Sequence   uint64    `json:"sequence"`
	Op         string    `json:"op"`
	No         uint32    `json:"no"`
	ID         string    `json:"id"`
	Old        *run      `json:"old,omitempty"`
	New        *run      `json:"new,omitempty"`
	Document   *document `json:"document,omitempty"`
}

// run is a first slot and a number of slots.
type run [2]uint32

type document struct {
	Hash     []byte    `json:"hash"`
	Fields   []byte    `json:"fields"`
	Passages []passage `json:"passages,omitempty"`
}

type passage struct {
	Field  string `json:"field"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Vector []byte `json:"vector,omitempty"`
}

// Write writes n as the answer that tells of a number of commits.
func Write(w io.Writer, n *store.News, commits uint64) error {
	bw := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(bw)
	enc.SetEscapeHTML(false)
	for _, c := range n.Collections {
		if err := enc.Encode(line{Collection: collectionOf(c)}); err != nil {
			return err
		}
	}
	for i := range n.Entries {
		if err := enc.Encode(line{Change: changeOf(&n.Entries[i])}); err != nil {
			return err
		}
	}
	end := End{Behind: n.Behind, Version: n.Version, Commits: commits, Partial: n.Partial}
	if n.Behind == 0 && n.All != nil {
		end.Named, end.Collections, end.Values = true, n.All, n.Values
	}
	if err := enc.Encode(line{End: &end}); err != nil {
		return err
	}
	return bw.Flush()
}

func collectionOf(s store.Stand) *collection {
	return &collection{ID: s.ID, Name: s.Name, Generation: s.Generation, Sequence: s.Seq, Settings: s.Settings}
}

func changeOf(e *store.Entry) *change {
	c := &change{Collection: e.Collection, Sequence: e.Seq, Op: e.Op.String(), No: e.No, ID: e.ID, Old: runOf(e.OldSlots), New: runOf(e.NewSlots)}
	if e.Document == nil {
		return c
	}
	c.Document = &document{Hash: e.Document.Hash[:], Fields: e.Document.Fields}
	for i, p := range e.Document.Passages {
		out := passage{Field: p.Field, Start: p.Start, End: p.End}
		for _, x := range e.Vectors[i] {
			out.Vector = binary.LittleEndian.AppendUint32(out.Vector, math.Float32bits(x))
		}
		c.Document.Passages = append(c.Document.Passages, out)
	}
	return c
}

func runOf(slots []uint32) *run {
	if len(slots) == 0 {
		return nil
	}
	return &run{slots[0], uint32(len(slots))}
}

// Bounds of what is read.
const (
	maxLine     = 400 << 20 // the largest document with its vectors
	partBytes   = 8 << 20   // of the lines that are handed on together
	partEntries = 4096
)

// ErrCut is the error of an answer that ended before its last line.
var ErrCut = errors.New("wire: answer without its end")

// Read reads an answer and hands it on in parts, the last of which has Behind, and All where collections or values changed. What it hands on is
// well-formed; whether it follows what was there before is for the store to say.
func Read(r io.Reader, take func(*store.News) error) (*End, error) {
	part := &store.News{}
	size := 0
	flush := func() error {
		if len(part.Collections)+len(part.Entries) == 0 {
			return nil
		}
		err := take(part)
		part, size = &store.News{}, 0
		return err
	}
	var end *End
	err := lines.Read(r, maxLine, func(_ int, b []byte) error {
		if end != nil {
			return errors.New("wire: a line after the end")
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("wire: %w", err)
		}
		switch {
		case l.Collection != nil:
			part.Collections = append(part.Collections, l.Collection.stand())
		case l.Change != nil:
			e, err := l.Change.entry()
			if err != nil {
				return fmt.Errorf("wire: change %d: %w", l.Change.Sequence, err)
			}
			part.Entries = append(part.Entries, e)
		case l.End != nil:
			end = l.End
		default:
			return errors.New("wire: a line that says nothing")
		}
		if size += len(b); size >= partBytes || len(part.Entries) >= partEntries {
			return flush()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, ErrCut
	}
	if err := flush(); err != nil {
		return nil, err
	}
	last := &store.News{Behind: end.Behind, Version: end.Version, Partial: end.Partial}
	if end.Named && end.Behind == 0 {
		last.All, last.Values = append([]uint32{}, end.Collections...), end.Values
	}
	return end, take(last)
}

func (c *collection) stand() store.Stand {
	return store.Stand{Collection: store.Collection{ID: c.ID, Name: c.Name, Settings: c.Settings, Generation: c.Generation}, Seq: c.Sequence}
}

func (c *change) entry() (e store.Entry, err error) {
	e.Collection = c.Collection
	e.Change = store.Change{Seq: c.Sequence, No: c.No, ID: c.ID}
	switch c.Op {
	case store.OpPut.String():
		e.Op = store.OpPut
	case store.OpDelete.String():
		e.Op = store.OpDelete
	default:
		return e, fmt.Errorf("op %.20q: want put or delete", c.Op)
	}
	if e.OldSlots, err = c.Old.slots(); err != nil {
		return e, err
	}
	if e.NewSlots, err = c.New.slots(); err != nil || c.Document == nil {
		return e, err
	}
	d := &store.Document{ID: c.ID, No: c.No, Revision: c.Sequence, Fields: c.Document.Fields}
	if copy(d.Hash[:], c.Document.Hash) != len(d.Hash) || len(c.Document.Hash) != len(d.Hash) {
		return e, fmt.Errorf("hash of %d bytes", len(c.Document.Hash))
	}
	if len(c.Document.Passages) != len(e.NewSlots) {
		return e, fmt.Errorf("%d passages for %d slots", len(c.Document.Passages), len(e.NewSlots))
	}
	e.Document, e.Vectors = d, make([][]float32, len(e.NewSlots))
	for i, p := range c.Document.Passages {
		d.Passages = append(d.Passages, store.Passage{Slot: e.NewSlots[i], Field: p.Field, Start: p.Start, End: p.End})
		if len(p.Vector)%4 != 0 || len(p.Vector)/4 > store.MaxDim {
			return e, fmt.Errorf("vector of %d bytes", len(p.Vector))
		}
		for b := p.Vector; len(b) > 0; b = b[4:] {
			e.Vectors[i] = append(e.Vectors[i], math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	return e, nil
}

func (r *run) slots() ([]uint32, error) {
	if r == nil {
		return nil, nil
	}
	if r[1] == 0 || r[1] > store.MaxPassages || r[0] > math.MaxUint32-r[1] {
		return nil, fmt.Errorf("%d slots from %d", r[1], r[0])
	}
	out := make([]uint32, r[1])
	for i := range out {
		out[i] = r[0] + uint32(i)
	}
	return out, nil
}
