package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/settings"
)

// Expiry is when documents of a collection are deleted; see [Settings].
type Expiry = settings.Expiry

// Expired documents are looked for every sweepInterval, and deleted for at most sweepTime in a
// collection.
const (
	sweepInterval = time.Minute
	trimInterval  = time.Hour // of former versions that are too old, which nobody is shown
	sweepTime     = 20 * time.Second
)

// sweep deletes expired documents, and versions that are too old, until ctx ends.
func (e *Engine) sweep(ctx context.Context) {
	var trimmed time.Time
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := e.expire(ctx, time.Now()); err != nil && ctx.Err() == nil {
			e.notice(fmt.Sprintf("deleting expired documents: %v", err))
		}
		if time.Since(trimmed) < trimInterval {
			continue
		}
		trimmed = time.Now()
		if err := e.trimVersions(ctx, trimmed); err != nil && ctx.Err() == nil {
			e.notice(fmt.Sprintf("deleting old versions of documents: %v", err))
		}
	}
}

// expire deletes the documents of all collections that have expired at a time. A failure of one
// collection does not keep the others from it. Of the nodes of a cluster only one does it.
func (e *Engine) expire(ctx context.Context, now time.Time) error {
	if shared, ok := e.backend.(backend.Shared); ok && !shared.Leads() {
		return nil
	}
	list, err := e.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Settings.Expiry == nil {
			continue
		}
		if one := e.expireIn(ctx, c.Name, now); one != nil && !errors.Is(one, ErrCollectionNotFound) {
			err = errors.Join(err, fmt.Errorf("collection %s: %w", c.Name, one))
		}
	}
	return err
}

// expireIn is expire for one collection. Documents that the keyword index does not have yet wait
// for the next time, and so do those of a copy that has not ended.
func (e *Engine) expireIn(ctx context.Context, name string, now time.Time) error {
	c, rec, release, err := e.openToWrite(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	x := rec.Settings.Expiry
	if x == nil {
		return nil
	}
	delay, _ := x.Delay() // checked with the settings
	until := filter.Value{Kind: filter.Date, Time: now.Add(-delay).UnixMicro()}
	expr := filter.Compare{Field: x.Field, Op: filter.LessOrEqual, Value: until}
	sel, err := e.backend.Select(ctx, backend.SelectRequest{Collection: c.Name, Filter: expr, NoVectors: true})
	if err != nil || sel.Len() == 0 {
		return err
	}
	d := deletion{engine: e, collection: c.Name, record: rec, expr: expr, forget: true, until: time.Now().Add(sweepTime), out: &Deletion{}}
	return d.selected(ctx, sel)
}
