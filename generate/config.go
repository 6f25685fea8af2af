package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrConfig is a setting of a checkpoint that is malformed or not supported.
var ErrConfig = errors.New("generate: bad checkpoint setting")

// maxConfigBytes bounds the JSON files that are read here.
const maxConfigBytes = 4 << 20

// config holds the members of generation_config.json, or of config.json in older checkpoints.
type config struct {
	Begin             *int32        `json:"bos_token_id"`
	End               tokens        `json:"eos_token_id"`
	Start             tokens        `json:"decoder_start_token_id"`
	ForcedBegin       *int32        `json:"forced_bos_token_id"`
	ForcedEnd         tokens        `json:"forced_eos_token_id"`
	MaxLength         *int          `json:"max_length"`
	MaxNewTokens      *int          `json:"max_new_tokens"`
	MinLength         *int          `json:"min_length"`
	MinNewTokens      *int          `json:"min_new_tokens"`
	Sample            *bool         `json:"do_sample"`
	Temperature       *float64      `json:"temperature"`
	TopK              *int          `json:"top_k"`
	TopP              *float64      `json:"top_p"`
	MinP              *float64      `json:"min_p"`
	RepetitionPenalty *float64      `json:"repetition_penalty"`
	NoRepeatNgram     *int          `json:"no_repeat_ngram_size"`
	BadWords          [][]int32     `json:"bad_words_ids"`
	Suppress          []int32       `json:"suppress_tokens"`
	SuppressFirst     []int32       `json:"begin_suppress_tokens"`
	Beams             *int          `json:"num_beams"`
	LengthPenalty     *float64      `json:"length_penalty"`
	EarlyStopping     earlyStopping `json:"early_stopping"`
	Return            *int          `json:"num_return_sequences"`
	Stop              words         `json:"stop_strings"`
}

// tokens is one id or a list of ids.
type tokens []int32

// UnmarshalJSON implements json.Unmarshaler.
func (t *tokens) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]int32)(t))
	}
	*t = make(tokens, 1)
	return json.Unmarshal(b, &(*t)[0])
}

// words is one string or a list of strings.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*w = make(words, 1)
		return json.Unmarshal(b, &(*w)[0])
	}
	return json.Unmarshal(b, (*[]string)(w))
}

// earlyStopping is true, false or "never".
type earlyStopping struct{ EarlyStopping }

// UnmarshalJSON implements json.Unmarshaler.
func (e *earlyStopping) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null", "false":
		e.EarlyStopping = StopLikely
	case "true":
		e.EarlyStopping = StopFull
	case `"never"`:
		e.EarlyStopping = StopNever
	default:
		return fmt.Errorf("early_stopping is %.40s, want true, false or \"never\"", b)
	}
	return nil
}

// readFile reads a file of at most limit bytes, or nil if there is none.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%w: %s is longer than %d bytes", ErrConfig, name, limit)
	}
	return b, err
}

// readConfig reads generation_config.json and, without it, the same members of config.json.
func readConfig(fsys fs.FS) (c config, err error) {
	for _, name := range []string{"generation_config.json", "config.json"} {
		b, err := readFile(fsys, name, maxConfigBytes)
		if err != nil {
			return c, err
		}
		if b == nil {
			continue
		}
		if name == "config.json" { // what only config.json has is used, too
			var plain config
			if err := json.Unmarshal(b, &plain); err != nil {
				return c, fmt.Errorf("%w: %s: %v", ErrConfig, name, err)
			}
			fill(&c.Start, plain.Start)
			fill(&c.End, plain.End)
			if c.Begin == nil {
				c.Begin = plain.Begin
			}
			return c, nil
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return c, fmt.Errorf("%w: %s: %v", ErrConfig, name, err)
		}
	}
	return c, nil
}

func fill(dst *tokens, src tokens) {
	if *dst == nil {
		*dst = src
	}
}

// options returns the settings as Options; with an encoder the start token counts in lengths.
func (c *config) options(encoder bool) Options {
	o := Options{
		Temperature: value(c.Temperature, 1), TopK: value(c.TopK, 50), TopP: value(c.TopP, 1), MinP: value(c.MinP, 0),
		Sample: value(c.Sample, false), RepetitionPenalty: value(c.RepetitionPenalty, 1), NoRepeatNgram: value(c.NoRepeatNgram, 0),
		BadWords: c.BadWords, Suppress: c.Suppress, SuppressFirst: c.SuppressFirst,
		Beams: value(c.Beams, 1), LengthPenalty: value(c.LengthPenalty, 1), EarlyStopping: c.EarlyStopping.EarlyStopping, Return: value(c.Return, 1),
		End: c.End, Stop: c.Stop, Begin: -1, Last: -1, LogProbs: -1,
		MaxTokens: value(c.MaxNewTokens, 0), MinTokens: value(c.MinNewTokens, 0),
	}
	if encoder {
		if c.MaxNewTokens == nil && c.MaxLength != nil {
			o.MaxTokens = max(1, *c.MaxLength-1)
		}
		o.MinTokens = max(o.MinTokens, value(c.MinLength, 0)-1)
		o.Begin = value(c.ForcedBegin, -1)
	}
	if len(c.ForcedEnd) > 0 {
		o.Last = c.ForcedEnd[0]
	}
	if o.Beams > 1 {
		o.Sample = false
	}
	return o
}

func value[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
