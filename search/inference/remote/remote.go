// Package remote has texts encoded by other servers: those of OpenAI and of everybody who speaks
// its protocol, Ollama, Text Embeddings Inference (TEI), and Cohere.
//
// The rules:
//  1. Only servers are asked that the operator lists in the environment variable EMBEDDER_HOSTS,
//     or that are the public ones of OpenAI and Cohere: whoever may make a collection must not
//     reach into the operator's network, nor have keys sent elsewhere.
//  2. Keys are in environment variables whose names begin with EMBEDDER_KEY. Settings have the
//     name; a key is read for each request, and is in no error.
//  3. A request that was not answered, or with 408, 429 or a 5xx, is sent again after a pause
//     that doubles, or that the server asks for.
package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"example.com/searchd/models"
	"example.com/searchd/search/embedder"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
)

// Limits.
const (
	passageTokens = 512
	maxTokens     = 8192

	attempts     = 5
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
	requestTime  = time.Minute
	maxNumber    = 32      // bytes of a number in an answer
	maxOther     = 1 << 20 // bytes of an answer beside its numbers
	maxMessage   = 200     // bytes of an error that are shown
)

// ErrFailed is matched by the errors of servers that did not encode what they were sent.
var ErrFailed = fault.ErrEmbedder

// protocol is what a source is sent and answers.
type protocol struct {
	request func(c embedder.Config, texts []string, query bool) any
	vectors func(answer []byte) ([][]float32, error)
}

var protocols = map[string]protocol{
	"openai": {
		request: func(c embedder.Config, texts []string, _ bool) any {
			body := map[string]any{"model": c.Model, "input": texts, "encoding_format": "float"}
			if strings.HasPrefix(c.Model, "text-embedding-3") {
				body["dimensions"] = c.Dimension
			}
			return body
		},
		vectors: func(answer []byte) ([][]float32, error) {
			var a struct {
				Data []struct {
					Index     int       `json:"index"`
					Embedding []float32 `json:"embedding"`
				} `json:"data"`
			}
			if err := json.Unmarshal(answer, &a); err != nil {
				return nil, err
			}
			out := make([][]float32, len(a.Data))
			for _, d := range a.Data {
				if d.Index < 0 || d.Index >= len(out) || out[d.Index] != nil {
					return nil, fmt.Errorf("vector with the index %d of %d", d.Index, len(out))
				}
				out[d.Index] = d.Embedding
			}
			return out, nil
		}},
	"ollama": {
		request: func(c embedder.Config, texts []string, _ bool) any {
			return map[string]any{"model": c.Model, "input": texts, "truncate": true}
		},
		vectors: func(answer []byte) ([][]float32, error) {
			var a struct {
				Embeddings [][]float32 `json:"embeddings"`
			}
			err := json.Unmarshal(answer, &a)
			return a.Embeddings, err
		}},
	"tei": {
		request: func(_ embedder.Config, texts []string, _ bool) any {
			return map[string]any{"inputs": texts, "normalize": true, "truncate": true}
		},
		vectors: func(answer []byte) (out [][]float32, err error) {
			return out, json.Unmarshal(answer, &out)
		}},
	"cohere": {
		request: func(c embedder.Config, texts []string, query bool) any {
			kind := "search_document"
			if query {
				kind = "search_query"
			}
			return map[string]any{"model": c.Model, "texts": texts, "input_type": kind, "embedding_types": []string{"float"}, "truncate": "END"}
		},
		vectors: func(answer []byte) ([][]float32, error) {
			var a struct {
				Embeddings struct {
					Float [][]float32 `json:"float"`
				} `json:"embeddings"`
			}
			err := json.Unmarshal(answer, &a)
			return a.Embeddings.Float, err
		}},
}

// ModelOf describes the vectors of a config.
func ModelOf(c embedder.Config) inference.ModelInfo {
	sum := sha256.Sum256([]byte(c.Identity()))
	return inference.ModelInfo{Name: strings.TrimSuffix(c.Source+":"+c.Model, ":"), SHA256: hex.EncodeToString(sum[:]), Dimension: c.Dimension, Pooling: "remote", MaxTokens: maxTokens, PassageTokens: passageTokens}
}

// Embedder is the [inference.Embedder] of a config.
type Embedder struct {
	config  embedder.Config
	address *url.URL
	client  *http.Client
	limit   *rate.Limiter
	wait    func(context.Context, time.Duration) error // tests replace it
}

// New returns the embedder of a config. It asks nobody yet.
func New(c embedder.Config) (*Embedder, error) {
	if err := c.Faults().Err(); err != nil {
		return nil, err
	}
	u, err := c.Address()
	if err != nil {
		return nil, err
	}
	e := &Embedder{config: c, address: u, wait: pause, limit: rate.NewLimiter(rate.Inf, 1)}
	if c.Rate > 0 {
		e.limit = rate.NewLimiter(rate.Limit(c.Rate), max(1, int(c.Rate)))
	}
	e.client = &http.Client{
		Transport:     models.GuardedTransport(u, embedder.Trusted(u)),
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// CountTokens implements [inference.Embedder]. It is an estimate: a token of English has four
// letters.
func (*Embedder) CountTokens(text string) int { return (len(text) + 3) / 4 }

// Model implements [inference.Embedder].
func (e *Embedder) Model() inference.ModelInfo { return ModelOf(e.config) }

// Calibration implements [inference.Embedder].
func (*Embedder) Calibration() models.Calibration { return models.Calibration{} }

// Elsewhere implements [inference.Remote].
func (*Embedder) Elsewhere() {}

// Embed implements [inference.Embedder].
func (e *Embedder) Embed(ctx context.Context, texts []string, o inference.EmbedOptions) (*inference.Embeddings, error) {
	if o.Dimensions != 0 && o.Dimensions != e.config.Dimension {
		return nil, fault.Field("dimensions", o.Dimensions, strconv.Itoa(e.config.Dimension))
	}
	prompt := e.config.DocumentPrompt
	if o.Query {
		prompt = e.config.QueryPrompt
	}
	out := &inference.Embeddings{Model: e.Model(), Vectors: make([][]float32, 0, len(texts)), Truncated: make([]bool, len(texts))}
	for part := range slices.Chunk(texts, e.config.BatchSize()) {
		prompted := make([]string, len(part))
		for i, t := range part {
			prompted[i] = prompt + t
		}
		vectors, err := e.part(ctx, prompted, o.Query)
		if err != nil {
			return nil, err
		}
		out.Vectors = append(out.Vectors, vectors...)
	}
	return out, nil
}

// part encodes the texts of one request, which is sent again where that may help.
func (e *Embedder) part(ctx context.Context, texts []string, query bool) ([][]float32, error) {
	body, err := json.Marshal(protocols[e.config.Source].request(e.config, texts, query))
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		if err := e.limit.Wait(ctx); err != nil {
			return nil, err
		}
		vectors, after, err := e.ask(ctx, body, len(texts))
		if err == nil || after < 0 || n == attempts || ctx.Err() != nil {
			return vectors, err
		}
		if after == 0 {
			after = firstPause << (n - 1)
			after = after/2 + rand.N(after/2) // not all at the same time
		}
		if stopped := e.wait(ctx, after); stopped != nil {
			return nil, fmt.Errorf("%w while waiting to try again after: %w", stopped, err)
		}
	}
}

// ask sends one request. after is how long to wait before it may be sent again: 0 where the server
// does not say, negative: never.
func (e *Embedder) ask(ctx context.Context, body []byte, n int) (vectors [][]float32, after time.Duration, err error) {
	failed := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s at %s: %w", ErrFailed, e.config.Source, e.address.Host, fmt.Errorf(format, args...))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, -1, failed("%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	key := ""
	if e.config.KeyEnv != "" {
		if key = strings.TrimSpace(os.Getenv(e.config.KeyEnv)); key == "" {
			return nil, -1, failed("the environment variable %s, which embedder.key_env names, is empty", e.config.KeyEnv)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := e.client.Do(req)
	if err != nil {
		if errors.Is(err, models.ErrRefused) {
			return nil, -1, failed("%w", err)
		}
		return nil, 0, failed("%w", unwrapped(err))
	}
	defer res.Body.Close()
	limit := int64(n)*int64(e.config.Dimension)*maxNumber + maxOther
	answer, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, 0, failed("%w", err)
	case int64(len(answer)) > limit:
		return nil, -1, failed("an answer of more than %d bytes to %d texts", limit, n)
	case res.StatusCode != http.StatusOK:
		text := string(answer)
		if key != "" {
			text = strings.ReplaceAll(text, key, "…")
		}
		return nil, again(res), failed("%s: %s", res.Status, fault.Quote(text[:min(len(text), maxMessage)]))
	}
	if vectors, err = protocols[e.config.Source].vectors(answer); err != nil {
		return nil, -1, failed("an answer that is not one of this protocol: %w", err)
	}
	if len(vectors) != n {
		return nil, -1, failed("%d vectors for %d texts", len(vectors), n)
	}
	for _, v := range vectors {
		if len(v) != e.config.Dimension {
			return nil, -1, failed("vectors of %d components, and embedder.dimension is %d", len(v), e.config.Dimension)
		}
	}
	return vectors, 0, nil
}

// unwrapped is the reason of an error of http.Client, which names the URL.
func unwrapped(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if timeout, ok := u.Err.(net.Error); ok && timeout.Timeout() {
			return errors.New("no answer in time")
		}
		return u.Err
	}
	return err
}

// again returns how long to wait before a request that was answered so is sent again; 0: the server
// does not say, negative: never.
func again(res *http.Response) time.Duration {
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
	default:
		return -1
	}
	if n, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64); err == nil && n > 0 {
		return time.Duration(min(n*float64(time.Second), float64(longestPause)))
	}
	return 0
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
