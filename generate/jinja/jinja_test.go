package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTemplates compares renderings with those of transformers; training/chats.py wrote them.
func TestTemplates(t *testing.T) {
	b, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Template            string
		Messages, Tools     json.RawMessage
		AddGenerationPrompt bool    `json:"add_generation_prompt"`
		Text                *string // nil: the template refuses
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		src, err := os.ReadFile(filepath.Join("testdata", c.Template+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := Parse(string(src))
		if err != nil {
			t.Fatalf("%s: %v", c.Template, err)
		}
		messages, err := Decode(c.Messages)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := Decode(c.Tools)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(NewDict("messages", messages, "tools", tools, "add_generation_prompt", c.AddGenerationPrompt,
			"bos_token", "<s>", "eos_token", "</s>"), time.Now())
		switch {
		case c.Text == nil && !errors.Is(err, ErrRender):
			t.Errorf("case %d, %s: error %v, want ErrRender", i, c.Template, err)
		case c.Text != nil && (err != nil || got != *c.Text):
			t.Errorf("case %d, %s: error %v\n got %q\nwant %q", i, c.Template, err, got, *c.Text)
		}
	}
}

// TestHostile wants an error, soon, for templates that would take for ever or fill the memory.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, src := range []string{
		"{% for i in range(10**12) %}{% endfor %}",
		"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
		"{{ 'a' * 10**10 }}",
		"{% set ns = namespace(s='aa') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"{% set ns = namespace(s='aa') %}{% for i in range(99) %}{% set ns.s = ns.s | replace('a', 'aaaaaaaa') %}{% endfor %}",
		"{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
		"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns.a | tojson }}",
		"{{ " + deep + " }}", "{% if x %}" + strings.Repeat("{% if x %}", 5000),
		"{{ 1 / 0 }}", "{{ missing.member }}", "{{ 'x'.split('') }}", "{{ x() }}", "{{ 'a'[:1:0] }}", "{{ 5 % 0 }}", "{{ range(1, 2, 0) }}",
		"{% include '/etc/passwd' %}", "{{ ''.__class__.__mro__ }}", "{% endif %}", "{{", "{% for %}", "{# ", "{{ 'a }}", "{{ 1 | nofilter }}",
		"{{ [1] | map('map', 'map', 'map') }}", "{{ (1).x.y }}",
	} {
		began := time.Now()
		tmpl, err := Parse(src)
		if err == nil {
			_, err = tmpl.Render(NewDict("x", true), time.Now())
		}
		if err == nil {
			t.Errorf("%.60s: no error", src)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%.60s: took %v", src, took)
		}
	}
}

func FuzzRender(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jinja")
	if err != nil || len(files) == 0 {
		f.Fatal(len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), `[{"role":"user","content":"x"}]`)
	}
	f.Fuzz(func(t *testing.T, src, messages string) {
		m, err := Decode([]byte(messages))
		if err != nil {
			m = nil
		}
		tmpl, err := Parse(src)
		if err != nil {
			return
		}
		if text, err := tmpl.Render(NewDict("messages", m), time.Unix(0, 0)); err == nil && len(text) > maxOutput {
			t.Errorf("%d bytes of output", len(text))
		}
	})
}
