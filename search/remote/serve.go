package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"

	"searchd/search/backend"
)

// Bounds of numbers that the shard itself does not check, beyond what anybody asks for.
const (
	maxValues = 1 << 20 // of a facet
	maxPage   = 1 << 16 // documents of a page, changes, passages of a sample
	maxFound  = 1 << 20 // documents and passages of both legs
)

// served makes a route of a method.
func served[Q, A any](routes map[string]route, m method[Q, A], serve func(ctx context.Context, q Q) (A, error)) {
	routes[m.name] = route{m.guard, func(ctx context.Context, body io.Reader) (any, error) {
		var q Q
		if err := decode(body, &q); err != nil {
			return nil, fmt.Errorf("%w: %s cannot be read: %w", backend.ErrInvalid, m.name, err)
		}
		return serve(ctx, q)
	}}
}

// table returns the routes by their names. Each unpacks a question, asks the shard, and packs its answer.
func (h *handler) table() map[string]route {
	t := map[string]route{}
	h.serveDocuments(t)
	h.serveVectors(t)
	h.serveWords(t)
	h.serveSets(t)
	h.serveJoined(t)
	h.serveState(t)
	return t
}

func (h *handler) serveDocuments(t map[string]route) {
	n := h.node
	served(t, methodCreate, func(ctx context.Context, q configured) (none, error) {
		return none{}, n.Create(ctx, q.Collection, q.Config)
	})
	served(t, methodUpdate, func(ctx context.Context, q configured) (none, error) {
		defer h.sets.forget(q.Collection)
		return none{}, n.Update(ctx, q.Collection, q.Config)
	})
	served(t, methodDrop, func(ctx context.Context, q named) (none, error) {
		defer h.sets.forget(q.Collection)
		return none{}, n.Drop(ctx, q.Collection)
	})
	served(t, methodCollections, func(ctx context.Context, _ none) ([]backend.Collection, error) { return n.Collections(ctx) })
	served(t, methodCollection, func(ctx context.Context, q named) (backend.Collection, error) { return n.Collection(ctx, q.Collection) })
	served(t, methodApply, func(ctx context.Context, q applied) ([]backend.Outcome, error) {
		writes, err := parse(q.Writes, write.write)
		if err != nil {
			return nil, err
		}
		return n.Apply(ctx, q.Collection, writes)
	})
	served(t, methodLookup, func(ctx context.Context, q lookedUp) ([]*document, error) {
		docs, err := n.Lookup(ctx, q.Collection, stringsOf(q.IDs))
		return convert(docs, documentOf), err
	})
	served(t, methodFetch, func(ctx context.Context, q ofRefs) ([]*document, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		docs, err := n.Fetch(ctx, q.Collection, list)
		return convert(docs, documentOf), err
	})
	served(t, methodList, func(ctx context.Context, q page) (pageAnswer, error) {
		if err := within("limit", q.Limit, 1, maxPage); err != nil {
			return pageAnswer{}, err
		}
		docs, next, err := n.List(ctx, q.Collection, string(q.Cursor), q.Limit)
		return pageAnswer{convert(docs, documentOf), text(next)}, err
	})
	served(t, methodValues, func(_ context.Context, prefix text) (valuesAnswer, error) {
		values, err := n.Values(string(prefix))
		a := valuesAnswer{Values: keyedOf(values)}
		if err != nil {
			a.Fault = faultOf(err)
		}
		return a, nil
	})
	served(t, methodSetValues, func(ctx context.Context, q keyed) (none, error) {
		values, err := q.values()
		if err != nil {
			return none{}, err
		}
		return none{}, n.SetValues(ctx, values)
	})
	served(t, methodEncoded, func(ctx context.Context, q encoded) (encodedAnswer, error) {
		d, vectors, err := n.Encoded(ctx, q.Collection, string(q.ID))
		return encodedAnswer{documentOf(d), convert(vectors, vector.pack)}, err
	})
	served(t, methodHeads, func(ctx context.Context, q page) (headsAnswer, error) {
		if err := within("limit", q.Limit, 1, maxPage); err != nil {
			return headsAnswer{}, err
		}
		list, next, err := n.Heads(ctx, q.Collection, string(q.Cursor), q.Limit)
		return headsAnswer{headsOf(list), text(next)}, err
	})
	served(t, methodLookupHeads, func(ctx context.Context, q lookedUp) (heads, error) {
		list, err := n.LookupHeads(ctx, q.Collection, stringsOf(q.IDs))
		return headsOf(list), err
	})
	served(t, methodDamagedVectors, func(ctx context.Context, _ none) (damagedVectors, error) {
		found, err := n.DamagedVectors(ctx)
		if found == nil || err != nil {
			return nil, err
		}
		out := damagedVectors{}
		for name, ids := range found {
			out[name] = textsOf(ids)
		}
		return out, nil
	})
}

// documentRefs reads refs. A shard has no more documents than there are numbers of 32 bits, and would take others for some of these.
func documentRefs(b []byte) ([]backend.Ref, error) {
	list, err := refs.unpack(b)
	for _, ref := range list {
		if ref > math.MaxUint32 {
			return nil, fmt.Errorf("%w: ref %d, allowed: up to %d", backend.ErrInvalid, ref, uint64(math.MaxUint32))
		}
	}
	return list, err
}

// passageRefs is documentRefs for passages.
func passageRefs(b []byte) ([]backend.PassageRef, error) {
	list, err := passages.unpack(b)
	for _, p := range list {
		if p.Ref > math.MaxUint32 {
			return nil, fmt.Errorf("%w: ref %d, allowed: up to %d", backend.ErrInvalid, p.Ref, uint64(math.MaxUint32))
		}
	}
	return list, err
}

// query reads the vector of a query, which must fit the collection.
func (h *handler) query(ctx context.Context, collection string, b []byte) ([]float32, error) {
	q, err := vector.unpack(b)
	if err != nil {
		return nil, err
	}
	c, err := h.node.Collection(ctx, collection)
	if err == nil && c.Config.Dimension != len(q) {
		err = fmt.Errorf("%w: a query of %d components, allowed: %d", backend.ErrInvalid, len(q), c.Config.Dimension)
	}
	return q, err
}

// named makes a name that the shard gives to a passage its own, as of this start: another shard gives the same ones, and a store that was replaced gives
// them to others. Equal names stay equal, others different; 0 stays 0, which says that the passage is gone.
func (h *handler) named(name uint64) uint64 {
	if name == 0 {
		return 0
	}
	return max(backend.Spread(name)^h.boot, 1)
}

func (h *handler) serveVectors(t map[string]route) {
	n := h.node
	served(t, methodNearest, func(ctx context.Context, q nearest) ([]byte, error) {
		query, err := h.query(ctx, q.Collection, q.Query)
		if err != nil {
			return nil, err
		}
		sel, err := h.selection(ctx, q.Collection, q.Selection)
		if err != nil {
			return nil, err
		}
		found, err := n.Nearest(ctx, q.Collection, query, q.K, sel)
		return passageMatches.pack(found), err
	})
	served(t, methodCosines, func(ctx context.Context, q cosines) ([][]byte, error) {
		query, err := h.query(ctx, q.Collection, q.Query)
		if err != nil {
			return nil, err
		}
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		out, err := n.Cosines(ctx, q.Collection, query, list)
		return convert(out, floats.pack), err
	})
	served(t, methodVectors, func(ctx context.Context, q ofPassages) ([][]byte, error) {
		list, err := passageRefs(q.Passages)
		if err != nil {
			return nil, err
		}
		out, err := n.Vectors(ctx, q.Collection, list)
		return convert(out, vector.pack), err
	})
	served(t, methodNames, func(ctx context.Context, q ofPassages) ([]byte, error) {
		list, err := passageRefs(q.Passages)
		if err != nil {
			return nil, err
		}
		names, err := n.Names(ctx, q.Collection, list)
		for i, name := range names {
			names[i] = h.named(name)
		}
		return numbers.pack(names), err
	})
	served(t, methodSample, func(ctx context.Context, q sample) (a sampleAnswer, err error) {
		if err := within("n", q.N, 0, maxPage); err != nil {
			return a, err
		}
		list, err := n.Sample(ctx, q.Collection, q.N)
		a.Passages = passages.pack(convert(list, func(p backend.PassageVector) backend.PassageRef {
			return backend.PassageRef{Ref: p.Ref, Ordinal: p.Ordinal}
		}))
		a.Vectors = convert(list, func(p backend.PassageVector) []byte { return vector.pack(p.Vector) })
		return a, err
	})
}

// selection makes the shard's own selection of one that a client has.
func (h *handler) selection(ctx context.Context, collection string, c *chosen) (backend.Selection, error) {
	if c == nil {
		return nil, nil
	}
	key := setKey{collection: collection, partial: c.Partial, vectors: c.Vectors}
	if copy(key.digest[:], c.Digest); c.Digest != nil && len(c.Digest) != len(key.digest) {
		return nil, fmt.Errorf("%w: digest of %d bytes, allowed: %d", backend.ErrInvalid, len(c.Digest), len(key.digest))
	}
	if c.Digest != nil && c.Documents == nil {
		sel, ok := h.sets.get(key)
		if !ok {
			return nil, errForgotten
		}
		return sel, nil
	}
	if c.Digest != nil && !bytes.Equal(c.Digest, digestOf(c.Documents)) {
		return nil, fmt.Errorf("%w: a digest of another set of documents", backend.ErrInvalid)
	}
	docs, err := decodeBitmap(c.Documents)
	if err != nil {
		return nil, err
	}
	sel, err := h.node.Selected(ctx, collection, docs, c.Partial, c.Vectors)
	if err == nil && c.Digest != nil {
		h.sets.put(key, sel, len(c.Documents))
	}
	return sel, err
}

// set is selection where there must be one.
func (h *handler) set(ctx context.Context, collection string, c *chosen) (backend.Selection, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: no set of documents", backend.ErrInvalid)
	}
	return h.selection(ctx, collection, c)
}

// chosen returns a selection of the shard as it is sent, and remembers it.
func (h *handler) chosen(collection string, sel backend.Selection, vectors bool) (*chosen, error) {
	if sel == nil {
		return nil, nil
	}
	b, err := encodeBitmap(h.node.Documents(sel))
	if err != nil {
		return nil, err
	}
	c := &chosen{Documents: b, Digest: digestOf(b), Partial: sel.Partial(), Vectors: vectors}
	if c.Digest != nil {
		h.sets.put(setKey{collection, [sha256.Size]byte(c.Digest), c.Partial, vectors}, sel, len(b))
	}
	return c, nil
}
