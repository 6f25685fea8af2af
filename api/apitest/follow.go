package apitest

import (
	"context"
	"io"

	"searchd/search"
	"searchd/store"
)

// Store is the id of the engine's store.
const Store = "0123456789abcdef0123456789abcdef"

// StoreID implements api.Engine.
func (e *Engine) StoreID() string { return Store }

// News implements api.Engine: one collection with one document, which whoever has it knows.
func (e *Engine) News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error) {
	if err := e.enter(ctx, "News"); err != nil {
		return nil, err
	}
	c := store.Collection{ID: 1, Name: "docs", Generation: 1, Settings: []byte("{}")}
	n := &store.News{Version: 1}
	switch seq, known := after[1]; {
	case seq > 1:
		return nil, search.ErrPlaceLost
	case !known:
		n.Collections = []store.Stand{{Collection: c}}
		fallthrough
	case seq == 0:
		n.Entries = []store.Entry{{Collection: 1, Change: store.Change{Seq: 1, No: 1, ID: "a", Op: store.OpPut, NewSlots: []uint32{0}},
			Document: &store.Document{ID: "a", No: 1, Revision: 1, Fields: []byte(`{"text":"a"}`), Passages: []store.Passage{{Field: "text", End: 1}}},
			Vectors:  [][]float32{{1, 0}}}}
	}
	if version != n.Version {
		n.All, n.Values = []uint32{1}, map[string][]byte{"alias/live": []byte("docs")}
	}
	return n, nil
}

// Copy implements api.Engine.
func (e *Engine) Copy(ctx context.Context, follower string, w io.Writer) (int64, error) {
	if err := e.enter(ctx, "Copy"); err != nil {
		return 0, err
	}
	n, err := io.WriteString(w, "a backup")
	return int64(n), err
}

// Commits implements api.Engine: there is never another.
func (e *Engine) Commits() (n uint64, next <-chan struct{}) { return 7, nil }

// Followers implements api.Engine.
func (e *Engine) Followers() int { return 1 }
