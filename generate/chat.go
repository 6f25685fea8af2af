package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"example.com/searchd/generate/jinja"
)

// ErrNoChat is a chat for a checkpoint that has no chat template.
var ErrNoChat = errors.New("generate: the checkpoint has no chat template; send a prompt instead")

// ErrChat is a chat that the template of the checkpoint refuses.
var ErrChat = errors.New("generate: the chat template refuses the messages")

// chatTemplate turns messages into a prompt.
type chatTemplate struct {
	template *jinja.Template
	special  map[string]string // bos_token and the like
}

// readChatTemplate reads chat_template.jinja or the template in tokenizer_config.json: a string, or
// a list of templates of which the one called default is used. nil: there is none.
func readChatTemplate(fsys fs.FS) (*chatTemplate, error) {
	const settings, file = "tokenizer_config.json", "chat_template.jinja"
	b, err := readFile(fsys, settings, maxConfigBytes)
	if err != nil {
		return nil, err
	}
	raw := map[string]json.RawMessage{}
	if b != nil {
		if err := json.Unmarshal(b, &raw); err != nil {
			return nil, fmt.Errorf("%w: %s: %v", ErrConfig, settings, err)
		}
	}
	c := &chatTemplate{special: map[string]string{}}
	for _, name := range []string{"bos_token", "eos_token", "pad_token", "unk_token"} {
		var text string
		var added struct{ Content string }
		if json.Unmarshal(raw[name], &text) == nil {
			c.special[name] = text
		} else if json.Unmarshal(raw[name], &added) == nil {
			c.special[name] = added.Content
		}
	}
	name := file
	src, err := readFile(fsys, file, maxConfigBytes)
	if err != nil {
		return nil, err
	}
	text := string(src)
	if src == nil {
		if name = settings + ": chat_template"; len(raw["chat_template"]) == 0 || string(raw["chat_template"]) == "null" {
			return nil, nil
		}
		if text, err = defaultTemplate(raw["chat_template"]); err != nil {
			return nil, fmt.Errorf("%w: %s: %v", ErrConfig, name, err)
		}
	}
	if c.template, err = jinja.Parse(text); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrConfig, name, err)
	}
	return c, nil
}

func defaultTemplate(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", errors.New("want a string or a list of templates with names")
	}
	for _, t := range list {
		if t.Name == "default" {
			return t.Template, nil
		}
	}
	return "", errors.New("none of the templates is called default")
}

// Chat returns the prompt for a chat: a JSON array of messages, each with role and content, and
// tools, a JSON array or nil. Where an encoder reads the prompt and there is no template, the
// prompt is the text of the messages. bare is that of a Request. It returns ErrNoChat or ErrChat.
func (m *Model) Chat(messages, tools []byte) (prompt string, bare bool, err error) {
	list, err := jinja.Decode(messages)
	if err != nil {
		return "", false, fmt.Errorf("%w: messages: %v", ErrChat, err)
	}
	if m.chat == nil {
		if !m.Rewrites() {
			return "", false, ErrNoChat
		}
		var plain []struct{ Content string }
		if err := json.Unmarshal(messages, &plain); err != nil {
			return "", false, fmt.Errorf("%w: messages: %v", ErrChat, err)
		}
		var texts []string
		for _, p := range plain {
			texts = append(texts, p.Content)
		}
		return strings.Join(texts, "\n"), false, nil
	}
	var given any
	if len(tools) > 0 {
		if given, err = jinja.Decode(tools); err != nil {
			return "", false, fmt.Errorf("%w: tools: %v", ErrChat, err)
		}
	}
	variables := jinja.NewDict("messages", list, "tools", given, "documents", nil, "add_generation_prompt", true)
	for name, text := range m.chat.special {
		variables.Set(name, text)
	}
	text, err := m.chat.template.Render(variables, time.Now())
	if err != nil {
		return "", false, fmt.Errorf("%w: %v", ErrChat, err)
	}
	return text, true, nil
}
