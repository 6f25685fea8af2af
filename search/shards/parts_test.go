package shards_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/shards"
)

// saying is a shard that answers Collections, once opened is set, as say does.
type saying struct {
	backend.Shard
	opened *bool
	say    func(ctx context.Context) error
}

func (s saying) Collections(ctx context.Context) ([]backend.Collection, error) {
	if *s.opened {
		if err := s.say(ctx); err != nil {
			return nil, err
		}
	}
	return s.Shard.Collections(ctx)
}

// TestFailedPart holds what a call says for which one shard has no answer: that the shard is unavailable, and its name.
func TestFailedPart(t *testing.T) {
	for name, c := range map[string]struct {
		say   func(ctx context.Context) error
		is    error // besides ErrUnavailable
		alone bool  // it is not the shard's fault
	}{
		"another folder is in its place": {
			say: func(context.Context) error {
				return fmt.Errorf("%w: this is shard 0 of 0, and shard 1 of 3 was meant", backend.ErrPlacement)
			},
			is: backend.ErrPlacement,
		},
		"it is silent until the time is up": {
			say: func(ctx context.Context) error {
				<-ctx.Done()
				return fmt.Errorf("%w: no answer in time: %w", backend.ErrUnavailable, ctx.Err())
			},
			is: context.DeadlineExceeded,
		},
		"it has too much to do": {
			say: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			},
			is: context.DeadlineExceeded, alone: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, opened := newData(t, 3), false
			d.mustOpen(t)
			list := append([]backend.Shard{}, d.parts...)
			list[1] = saying{list[1], &opened, c.say}
			b, err := shards.Open(t.Context(), list, shards.Options{})
			if err != nil {
				t.Fatal(err)
			}
			opened = true
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = b.Collections(ctx)
			if !errors.Is(err, c.is) || errors.Is(err, backend.ErrUnavailable) == c.alone || strings.Contains(err.Error(), "shard 2: ") == c.alone {
				t.Errorf("Collections: %v", err)
			}
		})
	}
}
