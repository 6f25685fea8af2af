package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/api/output"
	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
)

var discard = slog.New(slog.DiscardHandler)

// overCheckpoints is a server over the small BERT, a cross-encoder and nothing sparse.
func overCheckpoints(t *testing.T) *fixture {
	t.Helper()
	c, err := models.Open("../encoder/testdata/cross-xlmr", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := search.NewReranker(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := search.Open(t.TempDir(), search.Options{Model: "../encoder/testdata/bert-mean", Reranker: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s := newServer(t, Options{Engine: e, Inference: e.Inference(), Logger: discard, Version: "1.2.3", Revision: "abc"})
	return &fixture{t: t, server: s}
}

func near(a, b []float32) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 2e-5 {
			return false
		}
	}
	return true
}

// TestTEIRoutes takes the goldens of a checkpoint through the routes.
func TestTEIRoutes(t *testing.T) {
	f := overCheckpoints(t)
	data, err := os.ReadFile("../encoder/testdata/bert-mean/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text      string
		IDs       []int32
		Embedding []float32
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) < 2 {
		t.Fatal(err, len(golden))
	}
	var texts []string
	var ids [][]int32
	var want [][]float32
	for _, g := range golden {
		if strings.TrimSpace(g.Text) != "" && len(ids) < 4 {
			texts, ids, want = append(texts, g.Text), append(ids, g.IDs), append(want, output.Unit(g.Embedding))
		}
	}
	body := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	var rows [][]float32
	a := f.do("POST", "/embed", body(map[string]any{"inputs": texts})).want(200, &rows)
	for i := range want {
		if !near(rows[i], want[i]) {
			t.Errorf("/embed: text %d differs from the golden", i)
		}
	}
	for _, name := range []string{"X-Compute-Type", "X-Compute-Time", "X-Compute-Tokens", "X-Compute-Characters", "X-Total-Time", "X-Queue-Time", "X-Tokenization-Time", "X-Inference-Time", "X-Truncated-Inputs"} {
		if a.Header().Get(name) == "" {
			t.Errorf("/embed: no header %s", name)
		}
	}
	f.do("POST", "/embed", body(map[string]any{"inputs": ids})).want(200, &rows)
	var list struct {
		Data []struct{ Embedding []float32 }
	}
	f.do("POST", "/v1/embeddings", body(map[string]any{"input": ids[1]})).want(200, &list)
	if !near(rows[1], want[1]) || !near(output.Unit(list.Data[0].Embedding), want[1]) {
		t.Error("from token ids the vector is another")
	}
	f.do("POST", "/embed", body(map[string]any{"inputs": texts[1], "dimensions": 8})).want(200, &rows)
	if len(rows[0]) != 8 || !near(rows[0], output.Unit(want[1][:8])) {
		t.Errorf("/embed with 8 dimensions: %v", rows)
	}
	var all [][][]float32
	f.do("POST", "/embed_all", body(map[string]any{"inputs": texts[:2]})).want(200, &all)
	if len(all) != 2 || len(all[1]) != len(ids[1]) || len(all[1][0]) != 48 {
		t.Errorf("/embed_all: %d texts", len(all))
	}
	var sims []float32
	f.do("POST", "/similarity", body(map[string]any{"inputs": map[string]any{"source_sentence": texts[0], "sentences": []string{texts[0], texts[1]}}})).want(200, &sims)
	dot := 0.0
	for i, x := range want[0] {
		dot += float64(x) * float64(want[1][i])
	}
	if len(sims) != 2 || math.Abs(float64(sims[0])-1) > 1e-5 || math.Abs(float64(sims[1])-dot) > 5e-5 {
		t.Errorf("/similarity: %v, want 1 and %v", sims, dot)
	}
	var toks [][]teiToken
	f.do("POST", "/tokenize", body(map[string]any{"inputs": texts})).want(200, &toks)
	for i, row := range toks {
		for j, tok := range row {
			if tok.ID != ids[i][j] {
				t.Fatalf("/tokenize: text %d, token %d is %d, want %d", i, j, tok.ID, ids[i][j])
			}
			if runes := []rune(texts[i]); !tok.Special && string(runes[*tok.Start:*tok.Stop]) != tok.Text {
				t.Errorf("/tokenize: token %q at [%d,%d)", tok.Text, *tok.Start, *tok.Stop)
			}
		}
		if !row[0].Special || row[0].Start != nil {
			t.Errorf("/tokenize: first token %+v", row[0])
		}
	}
	var decoded []string
	f.do("POST", "/decode", body(map[string]any{"ids": ids[1]})).want(200, &decoded)
	if len(decoded) != 1 || strings.Contains(decoded[0], "[CLS]") {
		t.Errorf("/decode: %q", decoded)
	}
	var ranks []teiRank
	f.do("POST", "/rerank", `{"query":"how many people live in berlin","texts":["Berlin has a population of 3.5 million registered inhabitants."],"raw_scores":true}`).want(200, &ranks)
	if math.Abs(ranks[0].Score-0.492879) > 2e-5 {
		t.Errorf("/rerank: %+v, want the golden logit", ranks)
	}
	var i map[string]any
	f.do("GET", "/info", "").want(200, &i)
	for _, name := range []string{"model_id", "model_sha", "model_dtype", "served_model_name", "model_type", "max_concurrent_requests", "max_input_length", "max_batch_tokens",
		"max_batch_requests", "max_client_batch_size", "auto_truncate", "tokenization_workers", "version", "sha", "docker_label"} {
		if _, ok := i[name]; !ok {
			t.Errorf("/info lacks %s", name)
		}
	}
	if i["sha"] != "abc" || i["encoder"].(map[string]any)["reranker"] == nil {
		t.Errorf("/info: %v", i)
	}
}

func TestTEIRefusals(t *testing.T) {
	f := overCheckpoints(t)
	long := strings.Repeat("fox ", 300)
	for _, tt := range []struct{ path, body, want string }{
		{"/embed", `{}`, "inputs: got nothing"},
		{"/embed", `{"inputs":""}`, "inputs:"},
		{"/embed", `{"inputs":[]}`, "inputs:"},
		{"/embed", `{"inputs":[[5],[818]]}`, "inputs[1][0]: got 818"},
		{"/embed", `{"inputs":["x",null]}`, "inputs[1]: got null"},
		{"/embed", `{"inputs":[[5,null]]}`, "inputs[0][1]: got null"},
		{"/embed", `{"inputs":"x","truncation_direction":"Up"}`, "truncation_direction: got \"Up\", allowed: Left, Right"},
		{"/similarity", `{"inputs":{"source_sentence":"x","sentences":["y"]},"parameters":{"truncation_direction":"Up"}}`, "truncation_direction"},
		{"/rerank", `{"query":"x","texts":["y"],"truncation_direction":"Left"}`, "truncation_direction"},
		{"/embed", `{"inputs":"x","prompt_name":"none"}`, "prompt_name: got \"none\", allowed: null, or left out: the checkpoint has no prompts"},
		{"/embed", `{"inputs":["x","` + long + `"],"truncate":false}`, "inputs[1]"},
		{"/embed", `{"inputs":"x","output_dtype":"int3"}`, "output_dtype"},
		{"/embed", `{"inputs":"x","dimensions":49}`, "dimensions"},
		{"/embed", `{"inputs":"x"`, "cut off"},
		{"/embed_all", `{"inputs":[` + strings.Repeat(`"x",`, maxTokenTexts) + `"x"]}`, "inputs"},
		{"/similarity", `{"inputs":{"source_sentence":"","sentences":["x"]}}`, "source_sentence"},
		{"/similarity", `{"inputs":{"source_sentence":"x","sentences":[]}}`, "sentences"},
		{"/similarity", `{"inputs":{"source_sentence":"x","sentences":["a",""]}}`, "inputs.sentences[1]: got \"\""},
		{"/similarity", `{"inputs":{"source_sentence":"x","sentences":["a",null]}}`, "inputs.sentences[1]: got null"},
		{"/tokenize", `{"inputs":[1,2]}`, "inputs"},
		{"/decode", `{"ids":["x"]}`, "ids"},
		{"/decode", `{"ids":[-1]}`, "ids[0]"},
		{"/rerank", `{"query":"","texts":["x"]}`, "query"},
	} {
		var e teiError
		f.do("POST", tt.path, tt.body).want(422, &e)
		if !strings.Contains(e.Error, tt.want) || e.Type != "Validation" || e.Code == "" {
			t.Errorf("%s %.60s: %+v, want %q", tt.path, tt.body, e, tt.want)
		}
	}
	a := f.do("POST", "/v1/embeddings", `{"input":["x","`+long+`"]}`)
	var list embeddingList
	a.want(200, &list)
	if list.Usage.Truncated != 1 || !list.Data[1].Truncated || a.Header().Get("X-Truncated-Inputs") != "1" {
		t.Errorf("truncation: usage %+v, header %q", list.Usage, a.Header().Get("X-Truncated-Inputs"))
	}
}

// TestTEIDirection cuts a text at either end, as texts and as token ids.
func TestTEIDirection(t *testing.T) {
	f := overCheckpoints(t)
	head, tail := strings.Repeat("the engine needs oil ", 200), strings.Repeat("flip the pancakes ", 200)
	var toks [][]teiToken
	f.do("POST", "/tokenize", fmt.Sprintf(`{"inputs":%q}`, head+tail)).want(200, &toks)
	ids := make([]int32, len(toks[0]))
	for i, tok := range toks[0] {
		ids[i] = tok.ID
	}
	max := f.server.o.Inference.Model().MaxTokens
	embed := func(inputs any, direction string) (v []float32) {
		t.Helper()
		q := map[string]any{"inputs": inputs, "truncation_direction": direction}
		if direction == "" {
			delete(q, "truncation_direction")
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]float32
		f.do("POST", "/embed", string(b)).want(200, &rows)
		return rows[0]
	}
	whole := func(ids ...[]int32) []float32 { return embed([][]int32{slices.Concat(ids...)}, "") }
	n := len(ids)
	for direction, want := range map[string][]float32{
		"": whole(ids[:max-1], ids[n-1:]), "Right": whole(ids[:max-1], ids[n-1:]), "Left": whole(ids[:1], ids[n-max+1:]),
	} {
		if !near(embed(head+tail, direction), want) {
			t.Errorf("direction %q: another vector than that of the tokens there", direction)
		}
	}
	if !near(embed([][]int32{ids}, "Left"), whole(ids[n-max:])) || !near(embed([][]int32{ids}, "Right"), whole(ids[:max])) {
		t.Error("token ids are cut elsewhere")
	}
	var all [][][]float32
	f.do("POST", "/embed_all", fmt.Sprintf(`{"inputs":%q,"truncation_direction":"Left"}`, head+tail)).want(200, &all)
	var same [][][]float32
	b, _ := json.Marshal(map[string]any{"inputs": [][]int32{slices.Concat(ids[:1], ids[n-max+1:])}})
	f.do("POST", "/embed_all", string(b)).want(200, &same)
	if len(all[0]) != max || !near(all[0][max/2], same[0][max/2]) {
		t.Error("/embed_all: other tokens")
	}
	var sims []float32
	f.do("POST", "/similarity", fmt.Sprintf(`{"inputs":{"source_sentence":%q,"sentences":[%q]},"parameters":{"truncation_direction":"Left"}}`, head+tail, tail)).want(200, &sims)
	if sims[0] < 0.999 {
		t.Errorf("/similarity of what is left of both: %v", sims)
	}
}

func TestTEIOverload(t *testing.T) {
	f := newFixture(t, Options{})
	f.engine.Hook = func(context.Context, string) error { return fmt.Errorf("%w: full", search.ErrBusy) }
	var e teiError
	a := f.do("POST", "/embed", `{"inputs":"x"}`).want(http.StatusTooManyRequests, &e)
	if e.Type != "Overloaded" || a.Header().Get("Retry-After") == "" {
		t.Errorf("busy: %+v, Retry-After %q", e, a.Header().Get("Retry-After"))
	}
	if got := f.do("POST", "/v1/embeddings", `{"input":"x"}`); got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("/v1/embeddings: %d", got.Code)
	}
	f.engine.Hook = func(context.Context, string) error { return errors.New("secret") }
	f.do("POST", "/embed", `{"inputs":"x"}`).want(500, &e)
	if strings.Contains(e.Error, "secret") {
		t.Error("the cause of a failure is told")
	}
}

func TestSparseRoute(t *testing.T) {
	f := newFixture(t, Options{})
	var rows [][]teiSparseValue
	f.do("POST", "/embed_sparse", `{"inputs":["a fox a","dog"]}`).want(200, &rows)
	if len(rows) != 2 || len(rows[0]) != 2 || len(rows[1]) != 1 || rows[0][0].Index > rows[0][1].Index {
		t.Errorf("/embed_sparse: %+v", rows)
	}
	long := strings.Repeat("fox ", 17)
	var e teiError
	f.do("POST", "/embed_sparse", `{"inputs":"`+long+`"}`).want(200, &rows)
	f.do("POST", "/embed_sparse", `{"inputs":"`+long+`","truncate":false}`).want(422, &e)
	if !strings.Contains(e.Error, "at most 16 tokens") { // those of the sparse checkpoint
		t.Errorf("a text that would be cut: %+v", e)
	}
}

func TestAttentionRoute(t *testing.T) {
	f := overCheckpoints(t)
	var a attentionAnswer
	f.do("POST", "/v1/attention", `{"text":"the quick fox","layer":0,"head":1,"norms":true}`).want(200, &a)
	if a.Attention == nil || a.Attention.Head != 1 || len(a.Attention.Weights) != len(a.Tokens) || len(a.Norms) != a.Layers+1 || a.Cosine != nil {
		t.Errorf("one text: %+v", a)
	}
	for _, row := range a.Attention.Weights {
		sum := 0.0
		for _, x := range row {
			sum += float64(x)
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("a row sums to %v", sum)
		}
	}
	a = attentionAnswer{}
	f.do("POST", "/v1/attention", `{"text":"the quick fox","with":"a lazy dog"}`).want(200, &a)
	if a.Attention != nil || a.Cosine == nil || a.With == nil {
		t.Fatalf("two texts: %+v", a)
	}
	for _, shares := range [][]float64{a.Shares, a.With.Shares} {
		sum := 0.0
		for _, x := range shares {
			sum += x
		}
		if math.Abs(sum-*a.Cosine) > 1e-6 {
			t.Errorf("shares sum to %v, cosine %v", sum, *a.Cosine)
		}
	}
	a = attentionAnswer{}
	f.do("POST", "/v1/attention", `{"text":"the quick fox","with":"a lazy dog","layerwise":true}`).want(200, &a)
	if n := len(a.LayerCosines); a.Attention != nil || n != a.Layers+1 || math.Abs(a.LayerCosines[n-1]-*a.Cosine) > 1e-5 {
		t.Errorf("cosines after the layers: %v, of the vectors: %v", a.LayerCosines, *a.Cosine)
	}
	a = attentionAnswer{}
	f.do("POST", "/v1/attention", `{"text":"the quick fox","maps":true}`).want(200, &a)
	if n := len(a.Tokens); len(a.Maps) != a.Layers || len(a.Maps[0]) != a.Heads || len(a.Maps[0][0]) != n*n || len(a.LayerCosines) != 0 {
		t.Errorf("maps: %+v", a)
	}
	for body, pointer := range map[string]string{
		`{"text":"x","layerwise":true}`:                                  "/layerwise",
		`{"text":""}`:                                                    "/text",
		`{"text":"x","layer":99}`:                                        "/layer",
		`{"text":"x","layer":-1}`:                                        "/layer",
		`{"text":"x","head":99}`:                                         "/head",
		`{"text":"x","input_type":"other"}`:                              "/input_type",
		`{"text":"x","with":"y","with_input_type":"other"}`:              "/with_input_type",
		`{"text":"` + strings.Repeat("x", search.MaxQueryBytes+1) + `"}`: "/text",
	} {
		f.do("POST", "/v1/attention", body).problem(400, "invalid_request", pointer)
	}
}

// TestTooManyTokens sends each route that embeds or re-ranks texts as many of them as a request may
// have, all long. The answer comes before the work, and names the member and the limit.
func TestTooManyTokens(t *testing.T) {
	f := overCheckpoints(t)
	text := strings.Repeat("fox ", 64)
	texts, _ := json.Marshal(slices.Repeat([]string{text}, 10_000))
	ids, _ := json.Marshal(slices.Repeat([][]int32{slices.Repeat([]int32{5}, 64)}, 10_000))
	for name, tt := range map[string]struct{ path, body, field string }{
		"openai":     {"/v1/embeddings", `{"input":` + string(texts) + `}`, "input"},
		"openai ids": {"/v1/embeddings", `{"input":` + string(ids) + `}`, "input"},
		"embed":      {"/embed", `{"inputs":` + string(texts) + `}`, "inputs"},
		"embed ids":  {"/embed", `{"inputs":` + string(ids) + `}`, "inputs"},
		"similarity": {"/similarity", `{"inputs":{"source_sentence":"fox","sentences":` + string(texts) + `}}`, "inputs"},
		"rerank":     {"/rerank", `{"query":"fox","texts":` + string(texts) + `}`, "texts"},
		"cohere":     {"/v2/rerank", `{"query":"fox","documents":` + string(texts) + `}`, "documents"},
	} {
		a := f.do("POST", tt.path, tt.body)
		if a.Code != 400 && a.Code != 422 || !strings.Contains(a.Body.String(), tt.field+": got ") || !strings.Contains(a.Body.String(), "allowed: at most 300000 tokens in one request") {
			t.Errorf("%s: %d %.300s", name, a.Code, a.Body)
		}
	}
}
