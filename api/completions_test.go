package api

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/searchd/api/completion"
	"example.com/searchd/encoder"
	"example.com/searchd/generate"
)

// generatorServer is a server with a small generator.
func generatorServer(t *testing.T, folder string) *fixture {
	t.Helper()
	m, err := generate.Load(os.DirFS("../encoder/testdata/decoders/"+folder), encoder.Options{Threads: 2}, generate.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return newFixture(t, Options{Generator: &completion.Generator{Name: folder, Model: m}})
}

// TestCompletions wants a streamed text to be the one that is sent whole, and both to be those of
// package generate.
func TestCompletions(t *testing.T) {
	for _, folder := range []string{"gpt2", "t5"} {
		h := generatorServer(t, folder)
		for path, body := range map[string]string{
			"/v1/completions":      `{"prompt": "the value of", "max_tokens": 12, "temperature": 0.9, "seed": 4, "logprobs": 2`,
			"/v1/chat/completions": `{"messages": [{"role": "user", "content": [{"type": "text", "text": "the value of"}]}], "max_tokens": 12, "temperature": 0, "logprobs": true, "top_logprobs": 2`,
		} {
			if folder == "gpt2" && strings.Contains(path, "chat") { // it has no template
				if w := h.do("POST", path, body+"}"); w.Code != 400 || !strings.Contains(w.Body.String(), "chat template") {
					t.Errorf("a chat without a template: %d %s", w.Code, w.Body)
				}
				continue
			}
			w := h.do("POST", path, body+"}")
			var whole completion.Answer
			if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || w.Code != 200 || len(whole.Choices) != 1 {
				t.Fatalf("%s: %d %s, %v", path, w.Code, w.Body, err)
			}
			text := ""
			if c := whole.Choices[0]; c.Message != nil {
				text = *c.Message.Content
			} else {
				text = *c.Text
			}
			w = h.do("POST", path, body+`, "stream": true, "stream_options": {"include_usage": true}}`)
			if got := w.Header().Get("Content-Type"); got != "text/event-stream" {
				t.Fatalf("%s: Content-Type %q: %s", path, got, w.Body)
			}
			streamed, last := "", ""
			var usage *completion.Usage
			for lines := bufio.NewScanner(w.Body); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				var a completion.Answer
				if last = data; json.Unmarshal([]byte(data), &a) != nil {
					continue
				}
				if a.Usage != nil {
					usage = a.Usage
				}
				for _, c := range a.Choices {
					if c.Delta != nil && c.Delta.Content != nil {
						streamed += *c.Delta.Content
					} else if c.Text != nil {
						streamed += *c.Text
					}
				}
			}
			if streamed != text || text == "" || last != "[DONE]" || usage == nil || *usage != *whole.Usage {
				t.Errorf("%s of %s: streamed %q, whole %q, last event %q, usage %v and %v", path, folder, streamed, text, last, usage, whole.Usage)
			}
		}
	}
}

// TestCompletionErrors wants errors that name the member, its value and what is allowed.
func TestCompletionErrors(t *testing.T) {
	h := generatorServer(t, "t5")
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/completions", `{}`, 400, "prompt"},
		{"/v1/completions", `{"prompt": "x", "n": 1000}`, 400, "n: got 1000"},
		{"/v1/completions", `{"prompt": "x", "top_p": 3}`, 400, "TopP is 3"},
		{"/v1/completions", `{"prompt": "x", "max_tokens": 0}`, 400, "max_tokens"},
		{"/v1/completions", `{"prompt": [99999999]}`, 400, "prompt"},
		{"/v1/completions", `{"prompt": "x", "echo": true}`, 422, "echo"},
		{"/v1/completions", `{"prompt": "x", "nosuch": 1}`, 400, "nosuch"},
		{"/v1/completions", `{"prompt": "x", "logit_bias": {"5": 1}}`, 400, "logit_bias"},
		{"/v1/chat/completions", `{"messages": []}`, 400, "messages"},
		{"/v1/chat/completions", `{"messages": [{"content": "x"}]}`, 400, "messages[0].role"},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, 400, "messages[0].content[0].type"},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}}`, 400, "response_format"},
	} {
		w := h.do("POST", c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s, want %d with %q", c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	if w := newFixture(t, Options{}).do("POST", "/v1/completions", `{"prompt": "x"}`); w.Code != 422 || !strings.Contains(w.Body.String(), "--generator") {
		t.Errorf("without a generator: %d %s", w.Code, w.Body)
	}
}
