package encoder

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"example.com/searchd/internal/simd"
)

// forwardTogether is forward for a batch of at most blockRows tokens. With so few rows reading the
// weights from cache or memory limits the speed, so each of the t goroutines computes a share of
// every layer's output channels and reads only that part of the weights. They synchronise five
// times a layer; each computes the cheap norms itself instead of synchronising once more.
//
// w.states holds the sums before a norm, complete after each wait; x [T, H] is a goroutine's own
// copy of the normed states.
func (s *stack) forwardTogether(ctx context.Context, w *workspace, b *batch, t team) error {
	w.prepare(s, b, t)
	n := len(b.ids)
	states := w.states[:n*s.hidden]
	t.together(func(worker int, m *barrier) {
		parts, sc := int(t), w.scratch[worker]
		x := sc.normed[:n*s.hidden]
		from, to := n*worker/parts, n*(worker+1)/parts
		s.embed(w, b, worker, from, to)
		m.wait()
		copy(x, states)
		for k, l := range s.layers {
			residual := x
			if s.preNorm {
				residual = states
				l.attentionNorm.apply(x, states, n)
			}
			l.qkv.share(w.qkv, divide(sc.divided, x, l.smoothing.qkv), n, worker, parts, simd.Identity, nil)
			m.wait()
			if l.queryNorm != nil || l.keyNorm != nil || l.spec.rope != nil || b.caches != nil {
				s.rotate(l, w, b, from, to)
				b.store(k, w, from, to)
				m.wait()
			}
			if s.parallel {
				l.feedForwardNorm.apply(x, states, n)
			}
			for i := worker; i < len(w.tiles)*s.heads; i += parts {
				s.attendTile(w, b, sc, k, w.tiles[i/s.heads], i%s.heads)
			}
			m.wait()
			l.output.share(states, w.context, n, worker, parts, simd.Identity, residual)
			m.wait()
			if l.cross != nil {
				s.crossTogether(w, b, k, worker, parts, x, m)
			}
			switch {
			case s.parallel:
			case s.preNorm:
				l.feedForwardNorm.apply(x, states, n)
			case l.cross == nil:
				l.attentionNorm.apply(x, states, n)
			}
			up := s.widen(l, w.scratch[0], divide(sc.divided, x, l.smoothing.up), n, worker, parts)
			m.wait()
			l.down.share(states, up, n, worker, parts, simd.Identity, residual)
			m.wait()
			if !s.preNorm {
				l.feedForwardNorm.apply(x, states, n)
			}
			if ctx.Err() != nil {
				m.leave()
			}
		}
		m.wait() // all goroutines have read the states
		mine := states[from*s.hidden : to*s.hidden]
		if !s.preNorm {
			copy(mine, x[from*s.hidden:])
		}
		if s.finalNorm != nil {
			s.finalNorm.apply(mine, mine, to-from)
		}
	})
	return ctx.Err()
}

// widen computes this part of the first half of a feed-forward for the rows x [n, H], and returns
// the shared result [n, I].
func (s *stack) widen(l *layer, sc *scratch, x []float32, n, part, parts int) []float32 {
	up := sc.up[:n*s.intermediate]
	if l.gate == nil {
		l.up.share(up, x, n, part, parts, s.act, nil)
		return up
	}
	gate := sc.gate[:n*s.intermediate]
	l.gate.share(gate, x, n, part, parts, s.act, nil)
	l.up.share(up, x, n, part, parts, simd.Identity, nil)
	from, to := simd.Share(s.intermediate, part, parts)
	for i := range n {
		simd.Multiply(up[i*s.intermediate+from:i*s.intermediate+to], gate[i*s.intermediate+from:i*s.intermediate+to])
	}
	return up
}

// share computes this part of the output channels; a layer with a low-rank change has one part.
func (l *linear) share(dst, x []float32, rows, part, parts int, act simd.Activation, residual []float32) {
	if l.low != nil {
		l.mul(dst, x, rows, act, residual)
		return
	}
	l.w.MulShare(dst, x, rows, part, parts, simd.Epilogue{Bias: l.bias, Act: act, Residual: residual, Then: l.then})
}

// barrier synchronises the goroutines of a team. Waits are short, and waking a goroutine takes
// a third as long as a layer, so they spin; a goroutine that waits long, because a peer has no
// processor, yields more and more.
type barrier struct {
	size    int32
	here    atomic.Int32
	round   atomic.Uint32
	leaving atomic.Bool
}

// left is the panic by which a goroutine leaves after another has left.
type left struct{}

// wait returns when all have called it.
func (m *barrier) wait() {
	round := m.round.Load()
	if m.here.Add(1) == m.size {
		m.here.Store(0)
		m.round.Add(1)
	} else {
		m.spin(round)
	}
	if m.leaving.Load() {
		panic(left{})
	}
}

func (m *barrier) spin(round uint32) {
	const spins, yields = 4096, 8192
	for i := 0; m.round.Load() == round && !m.leaving.Load(); i++ {
		switch {
		case i < spins:
		case i < yields:
			runtime.Gosched()
		default:
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// leave makes this and every other goroutine of the team return.
func (m *barrier) leave() {
	m.leaving.Store(true)
	panic(left{})
}

// together is start for goroutines that share a barrier: when one of them leaves or panics, the
// others return at their next wait.
func (t team) together(f func(worker int, m *barrier)) {
	m := &barrier{size: int32(t)}
	t.start(func(worker int) {
		defer func() {
			if r := recover(); r != nil {
				m.leaving.Store(true)
				if _, ok := r.(left); !ok {
					panic(r)
				}
			}
		}()
		f(worker, m)
	})
}
