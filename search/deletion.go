package search

import (
	"context"
	"slices"
	"time"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
)

// Deletion answers [Engine.DeleteByFilter].
type Deletion struct {
	Matched  int  `json:"matched"`  // documents that pass the filter; with Complete false, of those that were looked at
	Deleted  int  `json:"deleted"`  // none in a dry run
	Complete bool `json:"complete"` // false: the time was up; the same call again goes on, but from the beginning in a dry run and while the keyword index is filled
}

// deletionPage is how many documents are looked at, and deleted in one transaction, at a time.
const deletionPage = 512

// deletionShare is the part of the time that is left after which no further page is begun.
const deletionShare = 0.7

// DeleteByFilter deletes the documents that pass a filter, or with dryRun only counts them. Each is
// looked at as it is stored, and one that changes meanwhile is judged by what it has become. Pages
// are committed one after another; near the deadline of ctx it stops between two and says so. It
// returns a [FieldError] for a filter that cannot be read, is empty, or names a field that neither
// the settings nor any document has.
func (e *Engine) DeleteByFilter(ctx context.Context, collection, text string, dryRun bool) (Deletion, error) {
	var out Deletion
	c, rec, release, err := e.openToWrite(ctx, collection)
	if err != nil {
		return out, err
	}
	defer release()
	expr, err := filter.Parse(text)
	if err != nil {
		return out, fault.Field("filter", text, err.Error())
	}
	expr = filter.WithID(expr)
	if err := e.checkDeletion(ctx, c, rec, expr); err != nil {
		return out, err
	}
	d := deletion{engine: e, collection: c.Name, record: rec, expr: expr, dryRun: dryRun, out: &out}
	if end, ok := ctx.Deadline(); ok {
		d.until = time.Now().Add(time.Duration(deletionShare * float64(time.Until(end))))
	}
	sel, err := e.backend.Select(ctx, backend.SelectRequest{Collection: c.Name, Filter: expr, NoVectors: true})
	if err == nil && sel.Partial { // the index does not know all documents yet
		err = d.scan(ctx)
	} else if err == nil {
		err = d.selected(ctx, sel)
	}
	return out, err
}

// checkDeletion refuses a filter with fields that the mapping keeps out of the index, and with
// fields that it does not declare and that no document has: with != or NOT a slip in a name passes
// every document. Nothing is asked of a collection without documents.
func (e *Engine) checkDeletion(ctx context.Context, c backend.Collection, rec record, expr filter.Expr) error {
	var wrong fault.Fields
	uses := filterUses(expr)
	if checkStored(rec.Settings.Fields, uses, &wrong); len(wrong) > 0 || c.Documents == 0 {
		return wrong.Err()
	}
	none, partial, err := e.lacking(ctx, c.Name, undeclared(rec.Settings.Fields, uses))
	if err == nil && partial {
		none, err = e.lackingStored(ctx, c.Name, rec, none)
	}
	if err != nil {
		return err
	}
	for _, u := range none {
		wrong.Add(u.path, u.name, "fields that a document has or that the settings declare"+aboutID(u.name))
	}
	return wrong.Err()
}

// lackingStored returns those of uses whose field no stored document has.
func (e *Engine) lackingStored(ctx context.Context, collection string, rec record, uses []fieldUse) ([]fieldUse, error) {
	for cursor := ""; len(uses) > 0; {
		page, err := e.backend.List(ctx, backend.ListRequest{Collection: collection, Cursor: cursor, Limit: deletionPage})
		if err != nil {
			return nil, err
		}
		for _, doc := range page.Documents {
			parts, err := rec.Settings.Fields.SplitStored(doc.Fields)
			if err != nil {
				return nil, err
			}
			uses = slices.DeleteFunc(uses, func(u fieldUse) bool { return filter.Exists{Field: u.name}.Match(parts.Values) })
		}
		if cursor = page.Next; cursor == "" {
			return uses, nil
		}
	}
	return nil, nil
}

// deletion is one DeleteByFilter under way.
type deletion struct {
	engine     *Engine
	collection string
	record     record
	expr       filter.Expr
	dryRun     bool
	forget     bool      // former versions go, too
	until      time.Time // zero: no end
	out        *Deletion
}

// keep returns which former versions of the documents are kept.
func (d *deletion) keep() *backend.Keep {
	k := d.record.keep()
	if k != nil {
		k.Forget = d.forget
	}
	return k
}

func (d *deletion) late() bool { return !d.until.IsZero() && time.Now().After(d.until) }

// selected deletes the documents of a selection.
func (d *deletion) selected(ctx context.Context, sel *backend.Selection) error {
	for from := backend.Ref(0); !d.late(); {
		refs := sel.Refs(from, deletionPage)
		if len(refs) == 0 {
			d.out.Complete = true
			return nil
		}
		err := backend.FetchPages(ctx, d.engine.backend, backend.FetchRequest{Collection: d.collection, Refs: refs}, func(_ []backend.Ref, page backend.FetchResponse) error { return d.page(ctx, page.Documents) })
		if err != nil {
			return err
		}
		from = refs[len(refs)-1] + 1
	}
	return nil
}

// scan goes through all documents.
func (d *deletion) scan(ctx context.Context) error {
	for cursor := ""; !d.late(); {
		page, err := d.engine.backend.List(ctx, backend.ListRequest{Collection: d.collection, Cursor: cursor, Limit: deletionPage})
		if err != nil {
			return err
		}
		if err := d.page(ctx, page.Documents); err != nil {
			return err
		}
		if cursor = page.Next; cursor == "" {
			d.out.Complete = true
			return nil
		}
	}
	return nil
}

// page deletes those of docs, some of which may be nil, that pass the filter.
func (d *deletion) page(ctx context.Context, docs []*backend.Document) error {
	for changed := []string(nil); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var writes []backend.Write
		for _, doc := range docs {
			if doc == nil {
				continue
			}
			parts, err := d.record.Settings.Fields.SplitStored(doc.Fields)
			if err != nil {
				return err
			}
			if parts.Values[filter.DocumentID] = doc.ID; d.expr.Match(parts.Values) {
				writes = append(writes, backend.Write{ID: doc.ID, Delete: true, IfRevision: &doc.Revision})
			}
		}
		d.out.Matched += len(writes)
		var outcomes []backend.Outcome
		var err error
		if len(writes) > 0 && !d.dryRun {
			if outcomes, err = d.engine.backend.Apply(ctx, backend.ApplyRequest{Collection: d.collection, Writes: writes, Keep: d.keep()}); err != nil {
				return err
			}
		}
		for i, o := range outcomes {
			if o.Status == backend.Deleted {
				d.out.Deleted++
				continue
			}
			d.out.Matched--
			if o.Status == backend.Conflict {
				changed = append(changed, writes[i].ID)
			}
		}
		if len(changed) == 0 {
			return nil
		}
		if docs, err = d.engine.backend.Lookup(ctx, backend.LookupRequest{Collection: d.collection, IDs: changed}); err != nil {
			return err
		}
		changed = changed[len(docs):]
	}
}
