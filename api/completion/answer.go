package completion

import (
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/generate"
)

// completion is what all answers to one request for text share.
type completion struct {
	name, id string
	created  int64
	chat     bool
	stream   bool
	tok      *tokenizer.Tokenizer
}

// Answer is the body of an answer, or one event of a stream.
type Answer struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
}

// Choice is one text or, in a stream, a piece of one.
type Choice struct {
	Index        int              `json:"index"`
	Text         *string          `json:"text,omitempty"`    // of completions
	Message      *Message         `json:"message,omitempty"` // of chats
	Delta        *Message         `json:"delta,omitempty"`   // of chats that are streamed
	LogProbs     any              `json:"logprobs"`
	FinishReason *generate.Reason `json:"finish_reason"`
}

// Message is a message of a chat, or a piece of one.
type Message struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// answer begins an answer.
func (c *completion) answer() *Answer {
	object := "text_completion"
	switch {
	case c.chat && c.stream:
		object = "chat.completion.chunk"
	case c.chat:
		object = "chat.completion"
	}
	return &Answer{ID: c.id, Object: object, Created: c.created, Model: c.name, Choices: []Choice{}}
}

// textLogProbs are the log-probabilities of completions.
type textLogProbs struct {
	Tokens  []string             `json:"tokens"`
	Own     []float32            `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// chatLogProbs are those of chats.
type chatLogProbs struct {
	Content []chatToken `json:"content"`
}

type chatToken struct {
	Token   string      `json:"token"`
	LogProb float32     `json:"logprob"`
	Bytes   []int       `json:"bytes"`
	Top     []chatToken `json:"top_logprobs,omitempty"`
}

// logProbs returns the log-probabilities of tokens, the first of which begins at offset; nil for
// none.
func (c *completion) logProbs(tokens []generate.Token, offset int) any {
	if len(tokens) == 0 {
		return nil
	}
	text := func(id int32) string { return c.tok.Decode([]int32{id}, false) }
	if c.chat {
		l := chatLogProbs{}
		for _, t := range tokens {
			k := newChatToken(text(t.ID), t.LogProb)
			k.Top = []chatToken{}
			for _, o := range t.Top {
				k.Top = append(k.Top, newChatToken(text(o.ID), o.LogProb))
			}
			l.Content = append(l.Content, k)
		}
		return l
	}
	l := textLogProbs{}
	for _, t := range tokens {
		top := map[string]float32{}
		for _, o := range t.Top {
			top[text(o.ID)] = o.LogProb
		}
		s := text(t.ID)
		l.Tokens, l.Own, l.Top, l.Offsets = append(l.Tokens, s), append(l.Own, t.LogProb), append(l.Top, top), append(l.Offsets, offset)
		offset += len(s)
	}
	return l
}

func newChatToken(text string, p float32) chatToken {
	t := chatToken{Token: text, LogProb: p, Bytes: make([]int, len(text))}
	for i := range len(text) {
		t.Bytes[i] = int(text[i])
	}
	return t
}
