package remote

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"searchd/search/backend"
)

// guard says what a request must be allowed.
type guard uint8

// The guards, those first whose requests are harmless twice.
const (
	open   guard = iota // nothing: it asks what the shard is
	reads               // it must mean this shard
	writes              // and be of the claim that has the right to write
	loads               // it writes documents, which take room
	claims              // it takes the right to write
)

// limit returns how many bytes a request may have.
func (g guard) limit() int64 {
	if g == loads {
		return maxApply
	}
	return maxBody
}

// fence keeps out who means another shard, or has claimed a later state of it than there is, and writes of an older claim than the last. A claim waits for
// the writes that have begun, so that none of them is carried out after it; reads wait for neither. A standby is not written to.
type fence struct {
	node    Node
	writing sync.RWMutex // held for reading by writes, wholly by claims
	mu      struct {
		sync.Mutex
		known    bool // identity has been read, and no claim has ended since
		identity backend.Identity
	}
}

// placeOf writes an identity as a header.
func placeOf(id backend.Identity) string {
	return fmt.Sprintf("%d %d %d %s", id.Index, id.Of, id.Epoch, strconv.QuoteToASCII(id.Cluster))
}

// parsePlace reads the identity that a header has.
func parsePlace(header string) (id backend.Identity, err error) {
	f := strings.SplitN(header, " ", 4)
	if len(f) == 4 {
		if id.Index, err = strconv.Atoi(f[0]); err == nil {
			id.Of, err = strconv.Atoi(f[1])
		}
		if err == nil {
			id.Epoch, err = strconv.ParseUint(f[2], 10, 64)
		}
		if err == nil {
			id.Cluster, err = strconv.Unquote(f[3])
		}
	}
	if len(f) != 4 || err != nil {
		return id, fmt.Errorf("%w: header %s is %.100q, allowed: index, of, epoch and cluster", backend.ErrInvalid, placeHeader, header)
	}
	return id, nil
}

// enter lets a request in until leave is called. place is empty where the client does not know the shard to be of a cluster.
func (f *fence) enter(ctx context.Context, g guard, place string) (leave func(), err error) {
	leave = func() {}
	switch {
	case g == open:
		return leave, nil
	case g == claims:
		f.writing.Lock()
		return func() {
			f.forget() // whatever has become of it
			f.writing.Unlock()
		}, nil
	case g >= writes:
		f.writing.RLock()
		leave = f.writing.RUnlock
	}
	id, err := f.identity(ctx)
	if err == nil {
		err = allowed(id, g, place)
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// identity returns what the shard is. That of a standby is read each time: nobody claims it, and what it is changes with what it follows.
func (f *fence) identity(ctx context.Context) (backend.Identity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.known {
		return f.mu.identity, nil
	}
	id, err := f.node.Identity(ctx)
	f.mu.known, f.mu.identity = err == nil && id.Follows == "", id
	return id, err
}

// forget has the identity read again.
func (f *fence) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.known = false
}

// allowed compares what a client means with what the shard is.
func allowed(id backend.Identity, g guard, place string) error {
	var meant backend.Identity
	if place != "" {
		var err error
		if meant, err = parsePlace(place); err != nil {
			return err
		}
		if meant.Cluster != id.Cluster || meant.Index != id.Index || meant.Of != id.Of {
			return fmt.Errorf("%w: this is shard %d of %d of cluster %q, and shard %d of %d of %q was meant", backend.ErrPlacement, id.Index, id.Of, id.Cluster, meant.Index, meant.Of, meant.Cluster)
		}
	}
	switch {
	case g >= writes && id.Follows != "":
		return fmt.Errorf("%w: it is a standby of %s; write there, or start it without --follow to make it the shard", backend.ErrReplica, id.Follows)
	case meant.Epoch > id.Epoch, meant.Epoch > 0 && id.Unclaimed: // of one that its client has claimed
		return fmt.Errorf("%w: this is not the folder that was claimed: it is an older one, or was put here since; if it is the right one, start the server in front again", backend.ErrPlacement)
	case g >= writes && meant.Epoch != id.Epoch && id.Moved != "":
		return id.MovedError()
	case g >= writes && (meant.Epoch != id.Epoch || id.Unclaimed):
		return fmt.Errorf("%w: this write is of claim %d, the last is %d: somebody else writes to it by now", backend.ErrClaimed, meant.Epoch, id.Epoch)
	}
	return nil
}
