package generate

import (
	"errors"
	"fmt"
	"slices"
)

// Errors of a request.
var (
	ErrOptions  = errors.New("generate: bad option")
	ErrTooLong  = errors.New("generate: the prompt is too long")
	ErrTooLarge = errors.New("generate: the request needs more memory than is allowed")
)

// EarlyStopping is when beam search ends.
type EarlyStopping uint8

// The conditions under which beam search ends.
const (
	StopLikely EarlyStopping = iota // no running beam is likely to become better (false in generation_config.json)
	StopFull                        // as many texts as beams are complete (true)
	StopNever                       // no running beam can become better ("never")
)

// Options control a generation. Model.Defaults returns those of the checkpoint.
type Options struct {
	MaxTokens int // new tokens at most; 0: as many as fit, up to 256
	MinTokens int // the end is not generated before as many new tokens

	Sample      bool    // draw tokens instead of taking the most likely
	Seed        uint64  // of the draws: the same seed gives the same text
	Temperature float64 // the logits are divided by it; 0: no sampling
	TopK        int     // only the k most likely tokens; 0: all
	TopP        float64 // only the most likely tokens with this probability together; 0 or 1: all
	MinP        float64 // only tokens with at least this part of the greatest probability

	RepetitionPenalty float64 // logits of tokens that occurred are divided (if negative, multiplied) by it; 0: 1
	PresencePenalty   float64 // subtracted from logits of tokens that were generated
	FrequencyPenalty  float64 // the same for each time that they were
	NoRepeatNgram     int     // sequences of n tokens do not occur twice; 0: no limit
	BadWords          [][]int32
	Suppress          []int32 // tokens that are never generated
	SuppressFirst     []int32 // tokens that are not generated first

	Beams         int     // beam search with more than 1; without sampling
	LengthPenalty float64 // a text's score is divided by its length to this power
	EarlyStopping EarlyStopping
	Return        int // texts that are returned, the best first; 0: 1; with beam search only

	End      []int32  // tokens that end a text
	Stop     []string // strings that end a text and are not part of it
	Begin    int32    // the token that must come first with an encoder; -1: any
	Last     int32    // the token that must come last if MaxTokens are generated; -1: any
	LogProbs int      // how many alternatives to report for each token; -1: not even its own
}

// Limits of Options.
const (
	maxBeams     = 32
	maxStops     = 16
	maxStopBytes = 256
	maxLogProbs  = 20
	maxBadWords  = 10000
)

// check returns every wrong option at once.
func (o *Options) check(vocab int) error {
	var errs []error
	want := func(ok bool, name string, value any, allowed string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrOptions, name, value, allowed))
		}
	}
	within := func(x, lo, hi float64) bool { return x >= lo && x <= hi }
	want(o.MaxTokens >= 0, "MaxTokens", o.MaxTokens, "0 or more")
	want(o.MinTokens >= 0, "MinTokens", o.MinTokens, "0 or more")
	want(within(o.Temperature, 0, 100), "Temperature", o.Temperature, "0 to 100")
	want(o.TopK >= 0, "TopK", o.TopK, "0 or more")
	want(within(o.TopP, 0, 1), "TopP", o.TopP, "0 to 1")
	want(within(o.MinP, 0, 1), "MinP", o.MinP, "0 to 1")
	want(o.RepetitionPenalty == 0 || within(o.RepetitionPenalty, 0.01, 100), "RepetitionPenalty", o.RepetitionPenalty, "0, or 0.01 to 100")
	want(within(o.PresencePenalty, -2, 2), "PresencePenalty", o.PresencePenalty, "-2 to 2")
	want(within(o.FrequencyPenalty, -2, 2), "FrequencyPenalty", o.FrequencyPenalty, "-2 to 2")
	want(o.NoRepeatNgram >= 0, "NoRepeatNgram", o.NoRepeatNgram, "0 or more")
	want(o.Beams >= 0 && o.Beams <= maxBeams, "Beams", o.Beams, fmt.Sprintf("0 to %d", maxBeams))
	want(within(o.LengthPenalty, -100, 100), "LengthPenalty", o.LengthPenalty, "-100 to 100")
	want(o.Return >= 0 && o.Return <= max(1, o.Beams), "Return", o.Return, "0 to the number of beams")
	want(o.EarlyStopping <= StopNever, "EarlyStopping", o.EarlyStopping, "StopLikely, StopFull or StopNever")
	want(len(o.Stop) <= maxStops, "Stop", fmt.Sprint(len(o.Stop), " strings"), fmt.Sprintf("at most %d", maxStops))
	for _, s := range o.Stop {
		want(s != "" && len(s) <= maxStopBytes, "Stop", fmt.Sprintf("%.40q", s), fmt.Sprintf("strings of 1 to %d bytes", maxStopBytes))
	}
	want(o.LogProbs >= -1 && o.LogProbs <= maxLogProbs, "LogProbs", o.LogProbs, fmt.Sprintf("-1 to %d", maxLogProbs))
	want(o.Beams <= 1 || !o.sampling(), "Beams", o.Beams, "1 with sampling")
	want(o.Beams <= 1 || o.LogProbs < 0, "LogProbs", o.LogProbs, "-1 with beams")
	want(o.Begin >= -1 && int(o.Begin) < vocab, "Begin", o.Begin, "-1 or a token of the vocabulary")
	want(o.Last >= -1 && int(o.Last) < vocab, "Last", o.Last, "-1 or a token of the vocabulary")
	want(len(o.BadWords) <= maxBadWords, "BadWords", fmt.Sprint(len(o.BadWords), " words"), fmt.Sprintf("at most %d", maxBadWords))
	lists := append(slices.Clone(o.BadWords), o.End, o.Suppress, o.SuppressFirst)
	if slices.ContainsFunc(slices.Concat(lists...), func(id int32) bool { return id < 0 || int(id) >= vocab }) {
		errs = append(errs, fmt.Errorf("%w: End, BadWords, Suppress and SuppressFirst hold tokens 0 to %d", ErrOptions, vocab-1))
	}
	for _, word := range o.BadWords {
		want(len(word) > 0, "BadWords", word, "words of at least one token")
	}
	return errors.Join(errs...)
}

// sampling reports whether tokens are drawn.
func (o *Options) sampling() bool { return o.Sample && o.Temperature > 0 }
