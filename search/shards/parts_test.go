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

// TestFailedPart holds what a call says for which one shard has no answer, or no good one: that the shard is unavailable, or what is wrong, and its name.
func TestFailedPart(t *testing.T) {
	for name, c := range map[string]struct {
		say     func(ctx context.Context) error
		is      error // besides ErrUnavailable, unless it answers
		answers bool
		alone   bool // it is not the shard's fault
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
		"its disk is full": {
			say: func(context.Context) error { return fmt.Errorf("%w: %s", backend.ErrNoSpace, "/srv/data") },
			is:  backend.ErrNoSpace, answers: true,
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
			var of *backend.ShardError
			if !errors.Is(err, c.is) || errors.Is(err, backend.ErrUnavailable) == (c.alone || c.answers) || errors.As(err, &of) == c.alone {
				t.Errorf("Collections: %v", err)
			} else if of != nil && of.Shard != "shard 2" {
				t.Errorf("Collections: %v, of %s", err, of.Shard)
			}
		})
	}
}

// TestDifferingSettings: where an update fails on one shard and cannot be taken back on another, nothing is answered from both settings. What is asked next
// takes it back, as soon as that can be done.
func TestDifferingSettings(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	next, updates := config, 0
	next.Synonyms = []string{"car, automobile"}
	d.plan.fail = func(call string, _ int) bool {
		if call == "Update 1" {
			updates++
		}
		return call == "Update 2" || call == "Update 1" && updates > 1
	}
	if err := b.Update(t.Context(), "docs", next); !errors.Is(err, backend.ErrUnavailable) {
		t.Fatalf("Update: %v", err)
	}
	if c := must(d.parts[1].Collection(t.Context(), "docs")); len(c.Config.Synonyms) != 1 {
		t.Fatalf("shard 2 has the synonyms %q, and was to have the new ones", c.Config.Synonyms)
	}
	if _, err := b.Select(t.Context(), "docs", backend.Subset{}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "shard 2: ") {
		t.Errorf("Select while settings differ: %v", err)
	}
	d.plan.fail = nil
	if _, err := b.Select(t.Context(), "docs", backend.Subset{}); err != nil {
		t.Errorf("Select once shard 2 answers: %v", err)
	}
	clean(t, d, b, "docs")
	before := len(d.plan.calls)
	if _, err := b.Select(t.Context(), "docs", backend.Subset{}); err != nil || len(d.plan.calls) != before {
		t.Errorf("Select once they are the same: %v, %d changes", err, len(d.plan.calls)-before)
	}
}
