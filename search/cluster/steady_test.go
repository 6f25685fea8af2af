package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// TestSteady waits out errors that pass, and returns others at once.
func TestSteady(t *testing.T) {
	offline := &jetstream.APIError{Code: 400, ErrorCode: codeNoPeers, Description: "no suitable peers for placement, peer offline"}
	refused := &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeBadRequest, Description: "bad request"}
	for _, c := range []struct {
		what   string
		err    error
		passes bool
	}{
		{"too few peers", offline, true},
		{"no leader", fmt.Errorf("publish: %w", &jetstream.APIError{Code: 503, ErrorCode: codeNotAvail}), true},
		{"no responders", nats.ErrNoResponders, true},
		{"a leader that does not answer", context.DeadlineExceeded, true},
		{"a bad request", refused, false},
		{"another revision", jetstream.ErrKeyExists, false},
		{"an error of another kind", errors.New("other"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, tries := &Backend{}, 0
			err := n.steady(t.Context(), "trying", func(context.Context) error {
				if tries++; tries < 4 {
					return c.err
				}
				return nil
			})
			if c.passes && (err != nil || tries != 4) || !c.passes && (tries != 1 || !errors.Is(err, c.err)) {
				t.Errorf("%s: %d tries, then %v", c.what, tries, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n, began := &Backend{}, time.Now()
		err := n.steady(t.Context(), "making the log of partition 3", func(context.Context) error { return offline })
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "making the log of partition 3") || !strings.Contains(err.Error(), "peer offline") {
			t.Errorf("an error that does not pass becomes %v", err)
		}
		if took := time.Since(began); took < steadyWait || took > steadyWait+2*time.Second {
			t.Errorf("it was tried for %s, want about %s", took, steadyWait)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := n.steady(short, "trying", func(context.Context) error { return offline }); !errors.Is(err, backend.ErrUnavailable) || time.Since(began) != time.Second {
			t.Errorf("with a second: %v after %s", err, time.Since(began))
		}
	})
}

// TestAnsweredTwice repeats a change whose first try was taken, though its answer was lost.
func TestAnsweredTwice(t *testing.T) {
	b, err := Open(t.Context(), t.TempDir(), Options{Cluster: "test", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	real := b.kv
	for _, before := range []uint64{0, 1} {
		key := fmt.Sprint("key", before)
		if before > 0 {
			if before, err = real.Create(t.Context(), key, []byte("old")); err != nil {
				t.Fatal(err)
			}
		}
		b.kv = &silent{KeyValue: real}
		if _, err := b.updateKey(t.Context(), "changing", key, []byte("new"), before); err != nil {
			t.Errorf("after an answer that was lost: %v", err)
		}
		b.kv = real
		if _, err := b.updateKey(t.Context(), "changing", key, []byte("newer"), before); !isConflict(err) {
			t.Errorf("a change of an old revision: %v", err)
		}
	}
}

// silent is a bucket that takes the first change and does not say so.
type silent struct {
	jetstream.KeyValue
	taken bool
}

func (s *silent) lose(revision uint64, err error) (uint64, error) {
	if !s.taken && err == nil {
		s.taken = true
		return 0, nats.ErrTimeout
	}
	return revision, err
}

func (s *silent) Create(ctx context.Context, key string, value []byte, o ...jetstream.KVCreateOpt) (uint64, error) {
	return s.lose(s.KeyValue.Create(ctx, key, value, o...))
}

func (s *silent) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return s.lose(s.KeyValue.Update(ctx, key, value, revision))
}
