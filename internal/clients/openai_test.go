// Package clients holds published clients of other servers against a running searchd at
// SEARCHD_URL; see run.sh.
package clients

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func url(t *testing.T) string {
	t.Helper()
	u := os.Getenv("SEARCHD_URL")
	if u == "" {
		t.Fatal("SEARCHD_URL: not set; run.sh starts a server and sets it")
	}
	return u
}

func client(t *testing.T) openai.Client {
	return openai.NewClient(option.WithBaseURL(url(t)+"/v1"), option.WithAPIKey("any"), option.WithMaxRetries(0))
}

func embed(t *testing.T, p openai.EmbeddingNewParams) *openai.CreateEmbeddingResponse {
	t.Helper()
	if p.Model == "" {
		p.Model = openai.EmbeddingModelTextEmbedding3Small
	}
	c := client(t)
	r, err := c.Embeddings.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(list ...string) openai.EmbeddingNewParamsInputUnion {
	return openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: list}
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func TestEmbeddings(t *testing.T) {
	r := embed(t, openai.EmbeddingNewParams{Input: texts("a cat sleeps", "stock markets fell", "a kitten naps")})
	if len(r.Data) != 3 || r.Usage.TotalTokens < 9 || string(r.Object) != "list" {
		t.Fatalf("%d embeddings, usage %+v, object %q", len(r.Data), r.Usage, r.Object)
	}
	for i, d := range r.Data {
		if n := dot(d.Embedding, d.Embedding); d.Index != int64(i) || math.Abs(n-1) > 1e-5 {
			t.Errorf("embedding %d has index %d and squared length %v", i, d.Index, n)
		}
	}
	if dot(r.Data[0].Embedding, r.Data[2].Embedding) <= dot(r.Data[0].Embedding, r.Data[1].Embedding) {
		t.Error("the cat is nearer to the markets than to the kitten")
	}
}

func TestBase64(t *testing.T) {
	input := openai.EmbeddingNewParamsInputUnion{OfString: openai.String("pancakes")}
	want := embed(t, openai.EmbeddingNewParams{Input: input, EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat}).Data[0].Embedding
	c := client(t)
	var raw *http.Response
	_, err := c.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "any", Input: input, EncodingFormat: openai.EmbeddingNewParamsEncodingFormatBase64}, option.WithResponseBodyInto(&raw))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Body.Close()
	var body struct {
		Data []struct{ Embedding string }
	}
	if err := json.NewDecoder(raw.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(body.Data[0].Embedding)
	if err != nil || len(b) != 4*len(want) {
		t.Fatalf("%d bytes of base64, want %d: %v", len(b), 4*len(want), err)
	}
	for i, w := range want {
		if got := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))); math.Abs(got-w) > 1e-7 {
			t.Fatalf("component %d is %v, want %v", i, got, w)
		}
	}
}

func TestTokens(t *testing.T) {
	const text = "Bicycle gears explained."
	want := embed(t, openai.EmbeddingNewParams{Input: texts(text)}).Data[0].Embedding
	ids := tokenize(t, text)
	for name, input := range map[string]openai.EmbeddingNewParamsInputUnion{
		"of one text":   {OfArrayOfTokens: ids},
		"of some texts": {OfArrayOfTokenArrays: [][]int64{ids, ids}},
	} {
		for _, d := range embed(t, openai.EmbeddingNewParams{Input: input}).Data {
			if c := dot(d.Embedding, want); c < 0.99999 {
				t.Errorf("tokens %s: cosine %v with the text's vector", name, c)
			}
		}
	}
}

func tokenize(t *testing.T, text string) (ids []int64) {
	t.Helper()
	r, err := http.Post(url(t)+"/tokenize", "application/json", strings.NewReader(fmt.Sprintf(`{"inputs":%q}`, text)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var lists [][]struct{ ID int64 }
	if err := json.NewDecoder(r.Body).Decode(&lists); err != nil || len(lists) != 1 {
		t.Fatalf("tokenize: %d lists, %v", len(lists), err)
	}
	for _, token := range lists[0] {
		ids = append(ids, token.ID)
	}
	return ids
}

func TestDimensions(t *testing.T) {
	v := embed(t, openai.EmbeddingNewParams{Input: texts("pancakes"), Dimensions: openai.Int(64)}).Data[0].Embedding
	if n := dot(v, v); len(v) != 64 || math.Abs(n-1) > 1e-5 {
		t.Errorf("%d components of squared length %v, want 64 of 1", len(v), n)
	}
}

func TestManyTexts(t *testing.T) {
	list := make([]string, 2048)
	for i := range list {
		list[i] = fmt.Sprint("note ", i)
	}
	if r := embed(t, openai.EmbeddingNewParams{Input: texts(list...)}); len(r.Data) != len(list) || r.Data[2047].Index != 2047 {
		t.Errorf("%d embeddings, want %d", len(r.Data), len(list))
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, param, says string
		p                 openai.EmbeddingNewParams
	}{
		{"empty text", "input/0", "not empty", openai.EmbeddingNewParams{Input: texts("")}},
		{"dimensions", "dimensions", "1 to", openai.EmbeddingNewParams{Input: texts("a"), Dimensions: openai.Int(100000)}},
		{"format", "encoding_format", "base64", openai.EmbeddingNewParams{Input: texts("a"), EncodingFormat: "hex"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t)
			tt.p.Model = "any"
			_, err := c.Embeddings.New(context.Background(), tt.p)
			var typed *openai.Error
			if !errors.As(err, &typed) {
				t.Fatalf("%T: %v, want *openai.Error", err, err)
			}
			if typed.StatusCode != 400 || typed.Code != "invalid_request" || typed.Type != "invalid_request_error" || typed.Param != tt.param || !strings.Contains(typed.Message, tt.says) {
				t.Errorf("status %d, code %q, type %q, param %q, message %q", typed.StatusCode, typed.Code, typed.Type, typed.Param, typed.Message)
			}
		})
	}
}

func TestModels(t *testing.T) {
	c := client(t)
	n := 0
	for pager := c.Models.ListAutoPaging(t.Context()); pager.Next(); n++ {
		m := pager.Current()
		one, err := c.Models.Get(t.Context(), m.ID)
		if err != nil || one.ID != m.ID || one.OwnedBy != "searchd" {
			t.Errorf("model %q: %+v, %v", m.ID, one, err)
		}
	}
	if n != 2 {
		t.Errorf("%d models, want 2: that of vectors, and the generator", n)
	}
	_, err := c.Models.Get(t.Context(), "gpt-0")
	var typed *openai.Error
	if !errors.As(err, &typed) || typed.StatusCode != 404 || typed.Code != "model_not_found" {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestChat wants a streamed answer to be the one that is sent whole.
func TestChat(t *testing.T) {
	c := client(t)
	p := openai.ChatCompletionNewParams{
		Model: "any", Seed: openai.Int(7), Temperature: openai.Float(0.8), MaxTokens: openai.Int(24), Logprobs: openai.Bool(true), TopLogprobs: openai.Int(2),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("What is a class?")},
	}
	whole, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	choice := whole.Choices[0]
	if choice.Message.Content == "" || choice.FinishReason != "length" || whole.Usage.CompletionTokens != 24 || len(choice.Logprobs.Content) != 24 {
		t.Errorf("%+v", whole)
	}
	stream := c.Chat.Completions.NewStreaming(t.Context(), p)
	var all openai.ChatCompletionAccumulator
	chunks := 0
	for stream.Next() {
		all.AddChunk(stream.Current())
		chunks++
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := all.Choices[0]; got.Message.Content != choice.Message.Content || got.FinishReason != choice.FinishReason || chunks < 5 {
		t.Errorf("in %d chunks %q, %s, want %q, %s", chunks, got.Message.Content, got.FinishReason, choice.Message.Content, choice.FinishReason)
	}
}

func TestCompletion(t *testing.T) {
	c := client(t)
	p := openai.CompletionNewParams{Model: "any", Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"the value of", "a class"}},
		Temperature: openai.Float(0), MaxTokens: openai.Int(8)}
	whole, err := c.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Choices) != 2 || whole.Choices[0].Text == "" || whole.Usage.CompletionTokens != 16 {
		t.Errorf("%+v", whole)
	}
	_, err = c.Completions.New(t.Context(), openai.CompletionNewParams{Model: "any", Prompt: p.Prompt, TopP: openai.Float(7)})
	var typed *openai.Error
	if !errors.As(err, &typed) || typed.StatusCode != 400 || typed.Code != "invalid_request" {
		t.Errorf("top_p 7: %v", err)
	}
}
