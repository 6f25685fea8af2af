package search_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/search"
)

// openCheckpoint returns an engine over a checkpoint of testdata.
func openCheckpoint(t *testing.T, name string) *search.Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{Model: "../encoder/testdata/" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Tokens given back give the vector of the text.
func TestTokenizeAndEmbedIDs(t *testing.T) {
	e := openCheckpoint(t, "bert-mean")
	texts := []string{"A quick brown fox.", "the lazy dog Ünïcode"}
	want, err := e.Inference().Embed(t.Context(), texts, search.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	toks, err := e.Inference().Tokenize(t.Context(), texts, true, search.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([][]int32, len(toks))
	tokens := 0
	for i, tk := range toks {
		for _, x := range tk.Tokens {
			ids[i] = append(ids[i], x.ID)
		}
		first, last := tk.Tokens[0], tk.Tokens[len(tk.Tokens)-1]
		if !first.Special || !last.Special || tk.Tokens[1].Special || tk.Text != texts[i] {
			t.Errorf("text %d: %+v", i, tk)
		}
		if want.Counts[i] != len(ids[i]) {
			t.Errorf("text %d: %d tokens, Embed counts %d", i, len(ids[i]), want.Counts[i])
		}
		tokens += len(ids[i])
	}
	got, err := e.Inference().EmbedIDs(t.Context(), ids, search.EmbedOptions{})
	if err != nil || got.Tokens != want.Tokens || tokens != want.Tokens {
		t.Fatalf("EmbedIDs: %v, %d tokens, want %d", err, got.Tokens, want.Tokens)
	}
	for i := range want.Vectors {
		for j, x := range want.Vectors[i] {
			if math.Abs(float64(x-got.Vectors[i][j])) > 1e-6 {
				t.Fatalf("text %d: dimension %d is %v from tokens, %v from text", i, j, got.Vectors[i][j], x)
			}
		}
	}
	back, err := e.Inference().Decode(t.Context(), ids, true)
	if err != nil || back[0] != "a quick brown fox." {
		t.Errorf("Decode: %q, %v", back, err)
	}
	bare, err := e.Inference().Tokenize(t.Context(), texts[:1], false, search.EmbedOptions{})
	if err != nil || len(bare[0].Tokens) != len(ids[0])-2 {
		t.Errorf("without special tokens: %+v, %v", bare, err)
	}
	all, err := e.Inference().EmbedTokens(t.Context(), texts, nil, search.EmbedOptions{})
	if err != nil || len(all.Vectors[0]) != len(ids[0]) || len(all.Vectors[0][0]) != e.Inference().Encoder().Hidden {
		t.Errorf("EmbedTokens: %v", err)
	}
	if _, err := e.Inference().EmbedTokens(t.Context(), nil, ids[:1], search.EmbedOptions{}); err != nil {
		t.Errorf("EmbedTokens of ids: %v", err)
	}
	many := search.MaxTokenValues/e.Inference().Encoder().Hidden/e.Inference().Model().MaxTokens + 1 // texts that are too many where each is full
	long, full := strings.Repeat("fox ", e.Inference().Model().MaxTokens), slices.Repeat(ids[0][1:2], 2*e.Inference().Model().MaxTokens)
	for name, call := range map[string]func() (*search.TokenVectors, error){
		"texts": func() (*search.TokenVectors, error) {
			return e.Inference().EmbedTokens(t.Context(), slices.Repeat([]string{long}, many), nil, search.EmbedOptions{})
		},
		"ids": func() (*search.TokenVectors, error) {
			return e.Inference().EmbedTokens(t.Context(), nil, slices.Repeat([][]int32{full}, many), search.EmbedOptions{})
		},
	} {
		var fe *search.FieldError
		if _, err := call(); !errors.As(err, &fe) || fe.Field != "inputs" {
			t.Errorf("EmbedTokens of too many %s: %v, want it refused", name, err)
		}
	}
	if _, err := e.Inference().EmbedIDs(t.Context(), [][]int32{{99999}}, search.EmbedOptions{}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("an id outside the vocabulary: %v", err)
	}
	if _, err := e.Inference().Embed(t.Context(), texts, search.EmbedOptions{Prompt: "nothing"}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("an unknown prompt: %v", err)
	}
	if _, err := e.Inference().EmbedSparse(t.Context(), texts, search.EmbedOptions{}); !errors.Is(err, search.ErrUnsupported) {
		t.Errorf("EmbedSparse of a dense checkpoint: %v", err)
	}
}

func TestAttention(t *testing.T) {
	e := openCheckpoint(t, "bert-mean")
	i := e.Inference().Encoder()
	for head := -1; head < i.Heads; head++ {
		a, err := e.Inference().Attention(t.Context(), "a quick fox", search.AttentionOptions{Layer: i.Layers - 1, Head: head, Norms: true})
		if err != nil {
			t.Fatal(err)
		}
		for n, row := range a.Weights {
			sum := 0.0
			for _, w := range row {
				sum += float64(w)
			}
			if math.Abs(sum-1) > 1e-4 || len(row) != len(a.Tokens) {
				t.Errorf("head %d, row %d sums to %v", head, n, sum)
			}
		}
		if len(a.Norms) != i.Layers+1 || len(a.Norms[0]) != len(a.Tokens) || a.Norms[0][0] <= 0 {
			t.Errorf("norms of %d layers", len(a.Norms))
		}
	}
	var fe *search.FieldError
	if _, err := e.Inference().Attention(t.Context(), "x", search.AttentionOptions{Layer: i.Layers}); !errors.As(err, &fe) || fe.Field != "layer" {
		t.Errorf("a layer too many: %v", err)
	}
	if _, err := e.Inference().Attention(t.Context(), "x", search.AttentionOptions{Head: i.Heads}); !errors.As(err, &fe) || fe.Field != "head" {
		t.Errorf("a head too many: %v", err)
	}
	a, err := e.Inference().Attention(t.Context(), strings.Repeat("fox ", 500), search.AttentionOptions{Head: -1, Maps: true, With: "the lazy dog"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Tokens); n > search.MaxMapTokens || len(a.Maps) != i.Layers || len(a.Maps[0]) != i.Heads || len(a.Maps[0][0]) != n*n || !a.Truncated || len(a.LayerCosines) != i.Layers+1 {
		t.Errorf("maps of %d tokens, %d layers; %d cosines", n, len(a.Maps), len(a.LayerCosines))
	}
	c, err := e.Inference().Contributions(t.Context(), [2]string{"a quick fox", "the lazy dog"}, [2]search.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range c.Texts {
		sum := 0.0
		for _, s := range text.Shares {
			sum += s
		}
		if math.Abs(sum-c.Cosine) > 1e-6 {
			t.Errorf("shares sum to %v, the cosine is %v", sum, c.Cosine)
		}
	}
}

// What only a checkpoint can do is refused by an engine without one.
func TestNoCheckpoint(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for name, call := range map[string]func() error{
		"EmbedIDs": func() error {
			_, err := e.Inference().EmbedIDs(t.Context(), [][]int32{{1}}, search.EmbedOptions{})
			return err
		},
		"EmbedTokens": func() error {
			_, err := e.Inference().EmbedTokens(t.Context(), []string{"x"}, nil, search.EmbedOptions{})
			return err
		},
		"EmbedSparse": func() error {
			_, err := e.Inference().EmbedSparse(t.Context(), []string{"x"}, search.EmbedOptions{})
			return err
		},
		"Tokenize": func() error {
			_, err := e.Inference().Tokenize(t.Context(), []string{"x"}, true, search.EmbedOptions{})
			return err
		},
		"Decode": func() error { _, err := e.Inference().Decode(t.Context(), [][]int32{{1}}, true); return err },
		"Attention": func() error {
			_, err := e.Inference().Attention(t.Context(), "x", search.AttentionOptions{})
			return err
		},
		"Contributions": func() error {
			_, err := e.Inference().Contributions(t.Context(), [2]string{"x", "y"}, [2]search.EmbedOptions{})
			return err
		},
	} {
		if err := call(); !errors.Is(err, search.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", name, err)
		}
	}
}

type fakeSparse struct{}

func (fakeSparse) EncodeSparse(ctx context.Context, texts []string, o encoder.EncodeOptions) (*encoder.SparseResult, error) {
	return &encoder.SparseResult{Vectors: [][]encoder.TokenWeight{{{ID: 3, Weight: 0.5}}}, Tokens: 1, Truncated: []bool{false}}, nil
}

func TestEmbedSparse(t *testing.T) {
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Sparse: fakeSparse{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Inference().EmbedSparse(t.Context(), []string{"x"}, search.EmbedOptions{})
	if err != nil || r.Vectors[0][0].ID != 3 || !e.Inference().Encoder().Sparse {
		t.Errorf("EmbedSparse = %+v, %v", r, err)
	}
}

func TestDeleteDocument(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"one"}`))
	d, err := e.Document(t.Context(), "docs", "a")
	if err != nil {
		t.Fatal(err)
	}
	stale := d.Revision
	put(t, e, search.Updated, doc("a", `{"text":"two"}`))
	if r, err := e.DeleteDocument(t.Context(), "docs", "a", &stale); err != nil || !errors.Is(r.Err, search.ErrConflict) {
		t.Errorf("a stale revision: %+v, %v", r, err)
	}
	if d, err = e.Document(t.Context(), "docs", "a"); err != nil {
		t.Fatalf("it is gone: %v", err)
	}
	if r, err := e.DeleteDocument(t.Context(), "docs", "a", &d.Revision); err != nil || r.Status != search.Deleted {
		t.Errorf("the right revision: %+v, %v", r, err)
	}
	if r, err := e.DeleteDocument(t.Context(), "docs", "a", nil); err != nil || !errors.Is(r.Err, search.ErrDocumentNotFound) {
		t.Errorf("a second time: %+v, %v", r, err)
	}
}

// TestDeleteDocumentsOfBadID: behind more than one transaction takes, too, an id that is none
// leaves everything as it is.
func TestDeleteDocumentsOfBadID(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"one"}`))
	ids := append(slices.Repeat([]string{"a"}, 2000), "")
	if r, err := e.DeleteDocuments(t.Context(), "docs", ids); !errors.Is(err, search.ErrInvalid) || len(r) > 0 {
		t.Errorf("DeleteDocuments with an empty id = %d results, %v", len(r), err)
	}
	if _, err := e.Document(t.Context(), "docs", "a"); err != nil {
		t.Errorf("it is gone: %v", err)
	}
	r, err := e.DeleteDocuments(t.Context(), "docs", []string{"a", "a"})
	if err != nil || r[0].Status != search.Deleted || !errors.Is(r[1].Err, search.ErrDocumentNotFound) {
		t.Errorf("DeleteDocuments of one twice = %+v, %v", r, err)
	}
}
