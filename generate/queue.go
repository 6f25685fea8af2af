package generate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"example.com/searchd/encoder"
)

// promptPart is how many tokens of a prompt a lane runs at once, so that those of others do not
// wait for a long prompt.
const promptPart = 256

// queue runs the jobs of a Model as one batch: a goroutine steps all of them until none is left.
type queue struct {
	mu struct {
		sync.Mutex
		waiting []*job
		running bool // whether the goroutine is there
		stats   Stats
	}
}

// Stats are the numbers of a Model at one moment.
type Stats struct {
	Requests   int   // that are being generated
	Waiting    int   // requests that wait for memory
	Sequences  int   // with those of beams
	CacheBytes int64 // of their caches
	Tokens     int64 // generated since the model was loaded
}

// Stats returns what the model does at the moment.
func (m *Model) Stats() Stats {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	s := m.queue.mu.stats
	s.Waiting = len(m.queue.mu.waiting)
	return s
}

// add puts a job into the queue.
func (q *queue) add(m *Model, j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.waiting) >= m.limits.Waiting {
		return fmt.Errorf("%w: %d", ErrBusy, len(q.mu.waiting))
	}
	q.mu.waiting = append(q.mu.waiting, j)
	if !q.mu.running {
		q.mu.running = true
		go q.run(m)
	}
	return nil
}

// run steps the jobs until there are none.
func (q *queue) run(m *Model) {
	var jobs []*job
	for {
		jobs = q.admit(m, jobs)
		if len(jobs) == 0 {
			return
		}
		jobs = m.step(jobs)
	}
}

// admit adds waiting jobs to the running ones as far as the limits allow, in order. With none left
// the goroutine ends.
func (q *queue) admit(m *Model, jobs []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{Tokens: q.mu.stats.Tokens, Requests: len(jobs)}
	reserved := int64(0)
	beams := 0
	for _, j := range jobs {
		reserved += j.bytes
		beams += max(1, j.o.Beams)
		s.Sequences += len(j.lanes)
		for _, l := range j.lanes {
			s.CacheBytes += int64(l.sequence.Bytes())
		}
	}
	q.mu.waiting = slices.DeleteFunc(q.mu.waiting, func(j *job) bool {
		err := context.Cause(j.ctx)
		if err != nil {
			j.end(err)
		}
		return err != nil
	})
	for len(q.mu.waiting) > 0 {
		j := q.mu.waiting[0]
		if len(jobs) > 0 && (reserved+j.bytes > m.limits.CacheBytes || beams+max(1, j.o.Beams) > m.limits.Sequences) {
			break
		}
		q.mu.waiting = q.mu.waiting[1:]
		reserved, beams = reserved+j.bytes, beams+max(1, j.o.Beams)
		jobs = append(jobs, j)
	}
	q.mu.stats = s
	q.mu.running = len(jobs) > 0
	return jobs
}

// step runs one step of all jobs and returns those that are not done.
func (m *Model) step(jobs []*job) []*job {
	var begun []*job
	for _, j := range jobs {
		if j.lanes == nil && j.ctx.Err() == nil {
			begun = append(begun, j)
		}
	}
	if len(begun) > 0 {
		m.begin(begun)
	}
	var seqs []*encoder.Sequence
	var lanes []*lane
	var parts [][]int32
	live := jobs[:0]
	for _, j := range jobs {
		if err := cmp.Or(j.err, context.Cause(j.ctx)); err != nil {
			j.end(err)
			continue
		}
		live = append(live, j)
		for _, l := range j.lanes {
			seqs, lanes = append(seqs, l.sequence), append(lanes, l)
			parts = append(parts, l.pending[:min(len(l.pending), promptPart)])
		}
	}
	// The step belongs to several callers: none of them ends it.
	err := m.decoder.Step(context.Background(), seqs, parts, false, func(i, _ int, logits []float32) error {
		copy(lanes[i].logits, logits)
		return nil
	})
	if err != nil {
		for _, j := range live {
			j.end(err)
		}
		return nil
	}
	for i, l := range lanes {
		l.pending = l.pending[len(parts[i]):]
	}
	next := live[:0]
	chosen := 0
	for _, j := range live {
		if len(j.lanes[0].pending) > 0 { // the rest of a prompt
			next = append(next, j)
			continue
		}
		chosen++
		done, err := j.advance()
		if done || err != nil {
			j.end(err)
			continue
		}
		next = append(next, j)
	}
	m.queue.mu.Lock()
	m.queue.mu.stats.Tokens += int64(chosen)
	m.queue.mu.Unlock()
	return next
}

// end hands the result or the error to the caller.
func (j *job) end(err error) {
	if j.err = err; err != nil {
		j.result = nil
	}
	if j.deltas != nil {
		close(j.deltas)
	}
	close(j.done)
}
