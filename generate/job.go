package generate

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/searchd/encoder"
)

// defaultTokens is how many tokens are generated where neither the request nor the checkpoint sets
// a number.
const defaultTokens = 256

// job is one request that is being generated.
type job struct {
	ctx       context.Context // of the caller, who waits for done
	m         *Model
	o         Options
	deltas    chan Delta // room for all that can come; nil: nobody reads them
	source    []int32    // what the encoder reads
	ids       []int32    // prompt and, without beams, what was generated
	prompt    int
	maxTokens int
	bytes     int64 // most that its caches need
	lanes     []*lane
	beams     *beams
	random    *rand.Rand
	text      *detokenizer
	tokens    []Token
	result    *Result
	err       error
	done      chan struct{}
}

// lane is a sequence of a job.
type lane struct {
	sequence *encoder.Sequence
	pending  []int32   // tokens that it has not seen
	logits   []float32 // after the last of them
}

// newJob checks a request.
func (m *Model) newJob(ctx context.Context, r Request) (*job, error) {
	j := &job{ctx: ctx, m: m, o: r.Options, done: make(chan struct{})}
	if err := j.o.check(m.vocab()); err != nil {
		return nil, err
	}
	ids := m.ids(r)
	if m.Rewrites() {
		if most := m.decoder.MaxSource(); len(ids) > most {
			return nil, fmt.Errorf("%w: %d tokens, the model reads %d", ErrTooLong, len(ids), most)
		}
		j.source, ids = ids, m.start
	}
	for _, id := range slices.Concat(j.source, ids) {
		if id < 0 || int(id) >= m.vocab() {
			return nil, fmt.Errorf("%w: %d, want 0 to %d", encoder.ErrTokenID, id, m.vocab()-1)
		}
	}
	if len(ids) == 0 || m.Rewrites() && len(j.source) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens, want at least 1", ErrOptions)
	}
	room := m.MaxTokens() - len(ids)
	if room < 1 {
		return nil, fmt.Errorf("%w: %d tokens, and the model takes %d together with what it generates", ErrTooLong, len(ids), m.MaxTokens())
	}
	j.prompt = len(ids)
	j.ids = slices.Clone(ids)
	j.maxTokens = min(room, cmp.Or(j.o.MaxTokens, defaultTokens))
	j.random = rand.New(rand.NewPCG(j.o.Seed, 0x9e3779b97f4a7c15))
	j.text = newDetokenizer(m.Tokenizer(), j.o.Stop)
	if r.Stream != nil {
		j.deltas = make(chan Delta, j.maxTokens)
	}
	n := 1
	if j.o.Beams > 1 {
		n = j.o.Beams
		j.beams = newBeams(&j.o, j.ids, j.prompt, j.maxTokens, func(ids []int32) bool {
			text := m.Tokenizer().Decode(ids[j.prompt:], true)
			return slices.ContainsFunc(j.o.Stop, func(s string) bool { return strings.Contains(text, s) })
		})
	}
	j.bytes = int64(n)*int64(j.prompt+j.maxTokens)*int64(m.decoder.TokenBytes())*2 + int64(len(j.source))*int64(m.decoder.SourceBytes())
	if j.bytes > m.limits.CacheBytes {
		return nil, fmt.Errorf("%w: %d MiB for %d tokens in %d beams, at most %d MiB are allowed", ErrTooLarge, j.bytes>>20, j.prompt+j.maxTokens, n, m.limits.CacheBytes>>20)
	}
	return j, nil
}

// begin makes the first sequences of new jobs. The encoder reads all texts together or, if one of
// them fails, one by one.
func (m *Model) begin(jobs []*job) {
	var sources [][]int32
	for _, j := range jobs {
		j.lanes = []*lane{{pending: j.ids[:j.prompt], logits: make([]float32, m.vocab())}}
		sources = append(sources, j.source)
	}
	if !m.Rewrites() {
		for _, j := range jobs {
			j.lanes[0].sequence = m.decoder.Start()
		}
		return
	}
	seqs, err := m.decoder.Read(context.Background(), sources)
	for i, j := range jobs {
		switch {
		case err == nil:
			j.lanes[0].sequence = seqs[i]
		case len(jobs) > 1:
			m.begin(jobs[i : i+1])
		default:
			j.err = err
		}
	}
}

// advance chooses the next tokens, after all lanes have their logits, and reports whether the job
// is done.
func (j *job) advance() (done bool, err error) {
	for _, l := range j.lanes {
		for _, x := range l.logits {
			if x-x != 0 {
				return true, fmt.Errorf("%w: a logit is %v", encoder.ErrNotFinite, x)
			}
		}
	}
	if j.beams != nil {
		return j.advanceBeams(), nil
	}
	l := j.lanes[0]
	id, reason, err := j.choose(l.logits)
	if err != nil || reason != "" {
		if err == nil {
			j.finish([]Text{{Text: j.text.finalText(j.ids[j.prompt:]), IDs: j.ids[j.prompt:], Reason: reason, Tokens: j.tokens}})
		}
		return true, err
	}
	l.pending = []int32{id}
	return false, nil
}

// choose appends the next token and sends what has become certain of the text.
func (j *job) choose(logits []float32) (id int32, end Reason, err error) {
	j.o.process(logits, j.ids, j.prompt, j.maxTokens)
	if j.o.sampling() {
		id = j.o.draw(logits, j.random)
	} else {
		id = argmax(logits)
	}
	if logits[id] == minusInf {
		return id, "", fmt.Errorf("%w: BadWords, Suppress and the other options leave no token", ErrOptions)
	}
	var d Delta
	if j.o.LogProbs >= 0 {
		d.Tokens = []Token{probability(logits, id, j.o.LogProbs)}
		j.tokens = append(j.tokens, d.Tokens...)
	}
	j.ids = append(j.ids, id)
	switch {
	case slices.Contains(j.o.End, id):
		end = ReasonStop
	case len(j.ids)-j.prompt >= j.maxTokens:
		end = ReasonLength
	}
	var stopped bool
	if d.Text, stopped = j.text.add(j.ids[j.prompt:], end != ""); stopped {
		end = ReasonStop
	}
	if j.deltas != nil && (d.Text != "" || d.Tokens != nil) {
		j.deltas <- d
	}
	return id, end, nil
}

// probability returns the log-probability of a token and of the n most likely ones.
func probability(logits []float32, id int32, n int) Token {
	x := slices.Clone(logits)
	logSoftmax(x)
	t := Token{ID: id, LogProb: x[id]}
	if n = min(n, len(x)); n == 0 {
		return t
	}
	floor := kth(x, n)
	for i, v := range x {
		if v >= floor && v > minusInf {
			t.Top = append(t.Top, TokenProb{int32(i), v})
		}
	}
	slices.SortStableFunc(t.Top, func(a, b TokenProb) int { return cmp.Compare(b.LogProb, a.LogProb) })
	t.Top = t.Top[:min(n, len(t.Top))]
	return t
}

// advanceBeams continues beam search and gives each running beam its parent's cache: the first
// child takes it, others get a copy.
func (j *job) advanceBeams() bool {
	logits := make([][]float32, j.o.Beams)
	for i := range logits {
		logits[i] = slices.Clone(j.lanes[min(i, len(j.lanes)-1)].logits)
	}
	if j.beams.advance(logits) {
		var texts []Text
		for _, h := range j.beams.best[:cmp.Or(j.o.Return, 1)] {
			ids := h.ids[j.prompt:]
			texts = append(texts, Text{Text: j.text.finalText(ids), IDs: ids, Score: h.score, Reason: cmp.Or(h.reason, ReasonLength)})
		}
		j.finish(texts)
		return true
	}
	old := j.lanes
	taken := make([]bool, len(old))
	j.lanes = make([]*lane, j.o.Beams)
	for i, h := range j.beams.running {
		parent := min(h.parent, len(old)-1)
		l := &lane{pending: h.ids[len(h.ids)-1:]}
		if taken[parent] {
			l.sequence, l.logits = old[parent].sequence.Fork(), make([]float32, j.m.vocab())
		} else {
			l.sequence, l.logits = old[parent].sequence, old[parent].logits
			taken[parent] = true
		}
		j.lanes[i] = l
	}
	return false
}

// finish makes the result.
func (j *job) finish(texts []Text) {
	j.result = &Result{Texts: texts, PromptTokens: j.prompt}
	if j.source != nil {
		j.result.PromptTokens = len(j.source)
	}
	for _, t := range texts {
		j.result.Tokens += len(t.IDs)
	}
	for _, l := range j.lanes {
		j.result.CacheBytes += l.sequence.Bytes()
	}
}
