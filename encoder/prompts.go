package encoder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Values of EncodeOptions.Prompt that choose a prompt by what the text is, as encode_query and
// encode_document of sentence-transformers do.
const (
	// PromptQuery is the first of the prompts called "query" and "retrieval.query", or else the
	// default one.
	PromptQuery = "@query"
	// PromptDocument is the first of the prompts called "document", "passage", "corpus" and
	// "retrieval.passage", or else the default one.
	PromptDocument = "@document"
	// PromptNone is no prompt, even if the checkpoint has a default one.
	PromptNone = "@none"
)

// ErrPrompt is a prompt name that the checkpoint does not have.
var ErrPrompt = errors.New("encoder: unknown prompt")

// prompts are the texts that a checkpoint wants before its inputs.
type prompts struct {
	byName      map[string]string
	defaultName string
	similarity  string
	sigmoid     *bool // activation_fn of newer cross-encoders; nil: absent
}

// readPrompts reads config_sentence_transformers.json, which may be absent.
func readPrompts(fsys fs.FS) (prompts, error) {
	p := prompts{byName: map[string]string{}, similarity: "cosine"}
	f, err := readFields(fsys, "config_sentence_transformers.json")
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if o := f.object("prompts"); o != nil {
		for name := range o.raw {
			p.byName[name] = o.string(name, "")
		}
	}
	p.defaultName = f.string("default_prompt_name", "")
	if _, ok := p.byName[p.defaultName]; !ok && p.defaultName != "" {
		f.fail("default_prompt_name", "is %q, %s", p.defaultName, p.allowed())
	}
	if f.has("activation_fn") {
		p.sigmoid = new(f.sigmoid("activation_fn"))
	}
	p.similarity = f.oneOf("similarity_fn_name", "cosine", "cosine", "dot", "euclidean", "manhattan", "maxsim", "MaxSim")
	return p, f.err()
}

// allowed lists the prompts for an error message.
func (p *prompts) allowed() string {
	if len(p.byName) == 0 {
		return "but the checkpoint has no prompts"
	}
	return "want one of " + strings.Join(slices.Sorted(maps.Keys(p.byName)), ", ")
}

// text returns the prompt that name chooses.
func (p *prompts) text(name string) (string, error) {
	chosen, err := p.choose(name)
	return p.byName[chosen], err
}

// choose returns the name of the prompt that name chooses; empty: none.
func (p *prompts) choose(name string) (string, error) {
	var tries []string
	switch name {
	case "":
	case PromptNone:
		return "", nil
	case PromptQuery:
		tries = []string{"query", "retrieval.query"}
	case PromptDocument:
		tries = []string{"document", "passage", "corpus", "retrieval.passage"}
	default:
		if _, ok := p.byName[name]; !ok {
			return "", fmt.Errorf("%w: %.100q, %s", ErrPrompt, name, p.allowed())
		}
		return name, nil
	}
	for _, try := range tries {
		if _, ok := p.byName[try]; ok {
			return try, nil
		}
	}
	return p.defaultName, nil
}

// strip removes white space at both ends, by the definition of Python's str.strip, which adds four
// control characters to Unicode's.
func strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}
