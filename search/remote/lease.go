package remote

import (
	"context"
	"fmt"
	"sync"
	"time"

	"searchd/search/backend"
)

// holdTime is how long a log is held for somebody who says nothing more: a front that is gone must not let it grow for ever.
const holdTime = 10 * time.Minute

// maxHolder is the most bytes of the name of a holder.
const maxHolder = 100

// leases are the logs that are held, one holder for each collection.
type leases struct {
	node Node
	mu   struct {
		sync.Mutex
		byName map[string]*lease
	}
}

type lease struct {
	holder  string
	release func()
	ends    *time.Timer
}

// hold holds a log, or goes on to hold it. Another holder's is over with that.
func (l *leases) hold(ctx context.Context, q hold) error {
	if len(q.Holder) == 0 || len(q.Holder) > maxHolder {
		return fmt.Errorf("%w: holder of %d bytes, allowed: 1 to %d", backend.ErrInvalid, len(q.Holder), maxHolder)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.mu.byName[q.Collection]
	// Held anew each time: the collection may have been opened anew since.
	release, err := l.node.Hold(ctx, q.Collection, q.After)
	if err != nil {
		return err
	}
	if was != nil {
		was.ends.Stop()
	}
	now := &lease{holder: q.Holder, release: release}
	now.ends = time.AfterFunc(holdTime, func() { l.end(q.Collection, now) })
	if l.mu.byName == nil {
		l.mu.byName = map[string]*lease{}
	}
	l.mu.byName[q.Collection] = now
	return nil
}

// letGo ends what a holder holds; nothing where that is another's by now.
func (l *leases) letGo(q held) {
	l.mu.Lock()
	now := l.mu.byName[q.Collection]
	l.mu.Unlock()
	if now != nil && now.holder == q.Holder {
		l.end(q.Collection, now)
	}
}

// end ends a lease, unless another is in its place: that one's release would be meant.
func (l *leases) end(collection string, which *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.byName[collection] != which {
		return
	}
	delete(l.mu.byName, collection)
	which.ends.Stop()
	which.release()
}
