package encoder

import (
	"cmp"
	"context"
	"slices"
)

// run sends the sequences through the stack in batches and calls sink, from several goroutines,
// with the states of each batch in w and the indexes of its members.
func (m *Model) run(ctx context.Context, seqs []sequence, sink func(w *workspace, b *batch, members []int) error) error {
	batches := m.plan(seqs)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	helpers := m.options.Threads / max(1, len(batches))
	team(m.options.Threads).each(len(batches), func(_, n int) {
		if ctx.Err() != nil {
			return
		}
		if err := m.runBatch(ctx, seqs, batches[n], helpers, sink); err != nil {
			cancel(err)
		}
	})
	return context.Cause(ctx)
}

// eachText sends the sequences through the stack and calls sink, from several goroutines, with the
// states [L, H] of each.
func (m *Model) eachText(ctx context.Context, seqs []sequence, sink func(n int, states []float32) error) error {
	h := m.stack.hidden
	return m.run(ctx, seqs, func(w *workspace, b *batch, members []int) error {
		for i, n := range members {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := sink(n, w.states[b.offsets[i]*h:b.offsets[i+1]*h]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *Model) runBatch(ctx context.Context, seqs []sequence, members []int, helpers int, sink func(*workspace, *batch, []int) error) error {
	got, err := m.acquire(ctx, helpers)
	if err != nil {
		return err
	}
	defer m.release(got)
	if m.static != nil {
		return sink(nil, nil, members)
	}
	b := &batch{offsets: make([]int, 1, len(members)+1)}
	for _, n := range members {
		b.ids = append(b.ids, seqs[n].ids...)
		b.offsets = append(b.offsets, len(b.ids))
		if p := seqs[n].pixels; p != nil {
			b.pixels = append(b.pixels, p)
		}
		b.keys = append(b.keys, cmp.Or(seqs[n].keys, len(seqs[n].ids)))
	}
	if m.segments {
		b.types = make([]int32, len(b.ids))
		for i, n := range members {
			copy(b.types[b.offsets[i]:], seqs[n].types)
		}
	}
	w := m.workspace()
	defer m.keep(w)
	through := cmp.Or(seqs[members[0]].through, m.stack)
	if err := through.forward(ctx, w, b, team(got), nil); err != nil {
		return err
	}
	return sink(w, b, members)
}

// plan sorts the sequences by length, longest first, and cuts the order into batches of at most
// MaxBatchTokens tokens, or fewer if threads would otherwise be idle.
func (m *Model) plan(seqs []sequence) [][]int {
	order := make([]int, len(seqs))
	total := 0
	for i := range order {
		order[i] = i
		total += len(seqs[i].ids)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(seqs[b].ids), len(seqs[a].ids)) })
	const least = 64 // below this, splitting costs more than it gains
	budget := min(m.options.MaxBatchTokens, max(least, (total+m.options.Threads-1)/m.options.Threads))
	const most = 4096 // bounds a batch of empty texts
	var batches [][]int
	for from := 0; from < len(order); {
		to, tokens := from+1, len(seqs[order[from]].ids)
		for to < len(order) && to-from < most && tokens+len(seqs[order[to]].ids) <= budget && seqs[order[to]].through == seqs[order[from]].through {
			tokens += len(seqs[order[to]].ids)
			to++
		}
		batches = append(batches, order[from:to])
		from = to
	}
	return batches
}

// acquire waits for one of the model's slots and takes up to want if more are free. Slots keep
// concurrent calls from using more than Threads goroutines.
func (m *Model) acquire(ctx context.Context, want int) (got int, err error) {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	for got = 1; got < want; got++ {
		select {
		case m.slots <- struct{}{}:
		default:
			return got, nil
		}
	}
	return got, nil
}

func (m *Model) release(n int) {
	for range n {
		<-m.slots
	}
}

// workspace takes a workspace that is not in use, or makes one; there are never more than slots.
func (m *Model) workspace() *workspace {
	select {
	case w := <-m.spaces:
		return w
	default:
		return &workspace{}
	}
}

func (m *Model) keep(w *workspace) {
	select {
	case m.spaces <- w:
	default:
	}
}
