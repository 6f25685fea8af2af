package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/searchd/client"
	"example.com/searchd/search"
)

func TestRerank(t *testing.T) {
	c, engine := server(t, nil)
	ctx := t.Context()
	ranked, err := c.Rerank(ctx, "flip pancakes", []string{"ships", "pancakes", "how to flip pancakes"}, client.RerankOptions{TopN: 2, Raw: true})
	if err != nil || fmt.Sprint(ranked) != "[{2 1} {1 0}]" {
		t.Errorf("Rerank = %v, %v", ranked, err)
	}
	engine.Hook = func(context.Context, string) error { return fmt.Errorf("%w: no such head", search.ErrUnsupported) }
	var e *client.Error
	if _, err := c.Rerank(ctx, "q", []string{"x"}, client.RerankOptions{}); !errors.As(err, &e) || e.Code != "not_supported" || e.Status != 422 {
		t.Errorf("Rerank without a re-ranker: %v", err)
	}
}

// TestAnswersOfTooFew: what stands before the server may answer in its place.
func TestAnswersOfTooFew(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/rerank":
			fmt.Fprint(w, `{"results":[{"index":0},{"index":2}]}`)
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	defer srv.Close()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, two := t.Context(), []string{"a", "b"}
	for name, call := range map[string]func() error{
		"Embed":       func() error { _, err := c.Embed(ctx, two, client.EmbedOptions{}); return err },
		"SearchBatch": func() error { _, err := c.SearchBatch(ctx, "docs", []client.Query{{Q: "a"}}); return err },
		"Rerank, too many": func() error {
			_, err := c.Rerank(ctx, "q", []string{"a", "b", "c"}, client.RerankOptions{TopN: 1})
			return err
		},
		"Rerank, too few": func() error {
			_, err := c.Rerank(ctx, "q", []string{"a", "b", "c"}, client.RerankOptions{})
			return err
		},
		"Rerank, no such text": func() error { _, err := c.Rerank(ctx, "q", two, client.RerankOptions{}); return err },
	} {
		if err := call(); err == nil || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("%s = %v, want an error that tells of the answer", name, err)
		}
	}
	if _, err := c.DeleteDocuments(ctx, "docs", two); !errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("DeleteDocuments = %v, want ErrOutcomeUnknown", err)
	}
}

func ExampleClient_Rerank() {
	// In place of a server that was started with --reranker.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"results":[{"index":1,"relevance_score":0.93},{"index":0,"relevance_score":0.02}]}`)
	}))
	defer srv.Close()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		panic(err)
	}
	texts := []string{"Ships carry goods.", "Flip a pancake when bubbles form."}
	ranked, err := c.Rerank(context.Background(), "how to flip pancakes", texts, client.RerankOptions{})
	if err != nil {
		panic(err)
	}
	for _, r := range ranked {
		fmt.Println(r.Score, texts[r.Index])
	}
	// Output:
	// 0.93 Flip a pancake when bubbles form.
	// 0.02 Ships carry goods.
}
