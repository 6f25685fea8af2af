package wire

import (
	"context"
	"io"
	"regexp"
	"time"

	"searchd/search/backend"
	"searchd/store"
)

// Leader gives followers what is stored, and what changes.
type Leader interface {
	StoreID() string // what the sequence numbers are of; empty where nobody can follow
	// News returns what a follower lacks, [backend.ErrPlaceLost] where it needs a copy, and [backend.ErrReplica] where this is a replica itself.
	News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error)
	// Copy writes a backup for a follower that begins.
	Copy(ctx context.Context, follower string, w io.Writer) (int64, error)
	// Commits counts the commits since the start; next is closed by the next one.
	Commits() (n uint64, next <-chan struct{})
	// Followers is how many follow.
	Followers() int
}

// StoreHeader names what the sequence numbers of a copy are of.
const StoreHeader = "Searchd-Store"

// newsWait is how long an answer to a follower waits for something to tell.
const newsWait = 20 * time.Second

var followerName = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// AllowedName says what [ValidName] takes.
const AllowedName = "1 to 64 letters, digits and '-'"

// ValidName reports whether a follower may have a name.
func ValidName(name string) bool { return followerName.MatchString(name) }

// Await reads what a follower lacks; where that is nothing, again after each commit, until it has waited long enough or stopping is closed, when the error is
// [backend.ErrClosed]: a follower that is answered asks again at once. It returns how many commits the leader had before.
func Await(ctx context.Context, l Leader, q Question, stopping <-chan struct{}) (*store.News, uint64, error) {
	t := time.NewTimer(newsWait)
	defer t.Stop()
	for waited := false; ; {
		commits, next := l.Commits()
		n, err := l.News(ctx, q.Follower, q.After, q.Version)
		if err != nil || waited || len(n.Entries) > 0 || n.All != nil {
			return n, commits, err
		}
		select {
		case <-next:
		case <-t.C:
			waited = true
		case <-stopping:
			return nil, 0, backend.ErrClosed
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}
