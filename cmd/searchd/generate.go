package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/encoder"
	"example.com/searchd/generate"
	"example.com/searchd/internal/lines"
	"example.com/searchd/models"
)

// generatorUsage describes --model of the commands that need a decoder.
const generatorUsage = "model that generates text: its folder, or OWNER/NAME of a pulled one; needed"

// openGenerator loads the decoder that --model names.
func (f *modelFlags) openGenerator() (*generate.Model, error) {
	if f.model == "" {
		return nil, errors.New("name a model that generates text: --model DIR, or OWNER/NAME of a pulled one")
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	fsys, label, err := models.Find(f.model)
	if err != nil {
		return nil, err
	}
	m, err := generate.Load(fsys, o, generate.Limits{})
	if errors.Is(err, encoder.ErrNotDecoder) {
		return nil, fmt.Errorf("--model %s: %w; a decoder does, such as GPT-2, Llama, Qwen3, T5 or BART", label, err)
	}
	return m, err
}

// generateFlags are the options of a generation. Those that are not given are the checkpoint's.
type generateFlags struct {
	maxTokens, topK, beams     int
	temperature, topP, penalty float64
	seed                       uint64
	stop                       []string
	chat                       bool
}

func (f *generateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.maxTokens, "max-tokens", 0, "new tokens at most (default the checkpoint's, or 256)")
	flags.Float64Var(&f.temperature, "temperature", 0, "draw tokens at this temperature; 0 takes the most likely (default the checkpoint's)")
	flags.IntVar(&f.topK, "top-k", 0, "draw from the k most likely tokens (default the checkpoint's)")
	flags.Float64Var(&f.topP, "top-p", 0, "draw from the tokens that have this probability together (default the checkpoint's)")
	flags.Uint64Var(&f.seed, "seed", 0, "of the draws: the same seed gives the same text")
	flags.Float64Var(&f.penalty, "repetition-penalty", 0, "divides the logits of tokens that occurred (default the checkpoint's)")
	flags.IntVar(&f.beams, "beams", 0, "beam search with so many beams (default the checkpoint's)")
	flags.StringArrayVar(&f.stop, "stop", nil, "string that ends a text; may be given several times")
	flags.BoolVar(&f.chat, "chat", false, "the prompt is a user's message: apply the checkpoint's chat template")
}

// options are the checkpoint's with those that were given.
func (f *generateFlags) options(cmd *cobra.Command, m *generate.Model) generate.Options {
	o := m.Defaults()
	given := cmd.Flags().Changed
	if given("max-tokens") {
		o.MaxTokens = f.maxTokens
	}
	if given("temperature") {
		o.Temperature, o.Sample = f.temperature, f.temperature > 0
	}
	if given("top-k") {
		o.TopK = f.topK
	}
	if given("top-p") {
		o.TopP = f.topP
	}
	if given("repetition-penalty") {
		o.RepetitionPenalty = f.penalty
	}
	if given("beams") {
		o.Beams = f.beams
	}
	if o.Sample && !given("beams") {
		o.Beams = 1
	}
	o.Seed = f.seed
	o.Stop = append(o.Stop, f.stop...)
	return o
}

// request makes the request for a prompt.
func (f *generateFlags) request(m *generate.Model, prompt string, o generate.Options) (generate.Request, error) {
	r := generate.Request{Text: prompt, Options: o}
	if !f.chat {
		return r, nil
	}
	messages, err := json.Marshal([]map[string]string{{"role": "user", "content": prompt}})
	if err != nil {
		return r, err
	}
	r.Text, r.Bare, err = m.Chat(messages, nil)
	return r, err
}

func newGenerateCommand() *cobra.Command {
	var f modelFlags
	var g generateFlags
	cmd := &cobra.Command{
		Use: "generate [PROMPT]", Short: "Generate text from a prompt",
		Long: `Writes the text that a model generates from PROMPT, as it comes. Without PROMPT it reads a line for each prompt, either a
JSON string or an object {"text": "..."}, and writes a line {"text": "...", "tokens": n, "reason": "stop" or "length"} for each,
in order; prompts run together. The last line on standard error has texts, tokens, seconds and tokens per second.`,
		Args: cobra.MaximumNArgs(1), PreRunE: command.Fill,
	}
	f.addModel(cmd, generatorUsage)
	g.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := f.openGenerator()
		if err != nil {
			return err
		}
		o := g.options(cmd, m)
		if len(args) == 1 {
			return g.one(cmd, m, args[0], o)
		}
		return g.all(cmd, m, o)
	}
	return cmd
}

// one generates from one prompt and writes the text while it comes.
func (f *generateFlags) one(cmd *cobra.Command, m *generate.Model, prompt string, o generate.Options) error {
	r, err := f.request(m, prompt, o)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	began := time.Now()
	if o.Beams <= 1 {
		r.Stream = func(d generate.Delta) error {
			_, err := fmt.Fprint(out, d.Text)
			return err
		}
	}
	result, err := m.Generate(cmd.Context(), r)
	if err != nil {
		return err
	}
	if o.Beams > 1 {
		fmt.Fprint(out, result.Texts[0].Text)
	}
	fmt.Fprintln(out)
	return reportGenerated(cmd, 1, result.Tokens, time.Since(began))
}

// reportGenerated writes the last line.
func reportGenerated(cmd *cobra.Command, texts, tokens int, took time.Duration) error {
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%d texts, %d tokens, %.3f s, %.0f tokens/s\n", texts, tokens, took.Seconds(), float64(tokens)/max(took.Seconds(), 1e-9))
	return err
}

// generateBatch is how many prompts are read before texts are generated.
const generateBatch = 256

// all generates from the prompts on standard input.
func (f *generateFlags) all(cmd *cobra.Command, m *generate.Model, o generate.Options) error {
	w := bufio.NewWriter(cmd.OutOrStdout())
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var batch []generate.Request
	texts, tokens := 0, 0
	began := time.Now()
	flush := func() error {
		rs := batch
		batch = nil
		results, err := m.GenerateAll(context.WithoutCancel(cmd.Context()), rs)
		if err != nil {
			return err
		}
		for _, r := range results {
			texts, tokens = texts+1, tokens+r.Tokens
			line := struct {
				Text   string          `json:"text"`
				Tokens int             `json:"tokens"`
				Reason generate.Reason `json:"reason"`
				Others []string        `json:"others,omitempty"`
			}{r.Texts[0].Text, r.Tokens, r.Texts[0].Reason, nil}
			for _, t := range r.Texts[1:] {
				line.Others = append(line.Others, t.Text)
			}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	err := lines.Read(lines.Until(cmd.Context(), cmd.InOrStdin()), maxInputLine, func(n int, line []byte) error {
		text, err := textOf(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		r, err := f.request(m, text, o)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if batch = append(batch, r); len(batch) == generateBatch {
			return flush()
		}
		return nil
	})
	if len(batch) > 0 { // what was read before an error is answered, too
		err = errors.Join(err, flush())
	}
	return errors.Join(err, w.Flush(), reportGenerated(cmd, texts, tokens, time.Since(began)))
}

func newScoreCommand() *cobra.Command {
	var f modelFlags
	var tokens bool
	cmd := &cobra.Command{
		Use: "score", Short: "Report how likely texts are after their contexts",
		Long: `Reads a line {"context": "...", "text": "..."} for each pair and writes a line {"log_likelihood": x, "tokens": n} for each, in
order: the sum of the log-probabilities of the tokens of text after context, which is the prompt or, for a model with an encoder,
what it reads. With --tokens a line has {"pieces": [{"token": "...", "log_likelihood": x}, ...]} too.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.addModel(cmd, generatorUsage)
	cmd.Flags().BoolVar(&tokens, "tokens", false, "write the log-likelihood of each token too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, err := f.openGenerator()
		if err != nil {
			return err
		}
		return scoreAll(cmd, m, tokens)
	}
	return cmd
}

// scoredToken is a token with its log-likelihood.
type scoredToken struct {
	Token         string  `json:"token"`
	LogLikelihood float32 `json:"log_likelihood"`
}

// scoreAll scores the pairs on standard input.
func scoreAll(cmd *cobra.Command, m *generate.Model, tokens bool) error {
	w := bufio.NewWriter(cmd.OutOrStdout())
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var pairs []generate.Pair
	flush := func() error {
		batch := pairs
		pairs = nil
		scores, err := m.Score(context.WithoutCancel(cmd.Context()), batch)
		if err != nil {
			return err
		}
		for _, s := range scores {
			line := struct {
				LogLikelihood float64       `json:"log_likelihood"`
				Tokens        int           `json:"tokens"`
				Pieces        []scoredToken `json:"pieces,omitempty"`
			}{s.LogProb, len(s.IDs), nil}
			if tokens {
				for k, id := range s.IDs {
					token, _ := m.Tokenizer().Token(id)
					line.Pieces = append(line.Pieces, scoredToken{token, s.Tokens[k]})
				}
			}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	err := lines.Read(lines.Until(cmd.Context(), cmd.InOrStdin()), maxInputLine, func(n int, line []byte) error {
		var p struct{ Context, Text *string }
		if err := json.Unmarshal(line, &p); err != nil || p.Context == nil || p.Text == nil {
			return fmt.Errorf("line %d: want {\"context\": ..., \"text\": ...}: %v", n, err)
		}
		pairs = append(pairs, generate.Pair{Context: *p.Context, Text: *p.Text})
		if len(pairs) == generateBatch {
			return flush()
		}
		return nil
	})
	if len(pairs) > 0 {
		err = errors.Join(err, flush())
	}
	return errors.Join(err, w.Flush())
}
