package notes

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFrontMatter(t *testing.T) {
	for _, tt := range []struct {
		name, in, fields, body string
		bad                    int
	}{
		{"none", "# Title\n", "null", "# Title\n", 0},
		{"a rule only", "---\n\ntext\n", "null", "---\n\ntext\n", 0},
		{"a text between rules", "---\n\nOnce upon a time\n\n---\nthe end", "null", "---\n\nOnce upon a time\n\n---\nthe end", 0},
		{"empty", "---\n---\nbody", "{}", "body", 0},
		{"end of file", "---\na: b\n---", `{"a":"b"}`, "", 0},
		{"dots", "---\na: b\n...\nbody", `{"a":"b"}`, "body", 0},
		{"types", "---\nn: 1.5\nb: true\nd: 2024-05-01\nz: ~\ne:\nq: \"1.5\"\ns: 'it''s'\n---\n", `{"b":true,"d":"2024-05-01","n":1.5,"q":"1.5","s":"it's"}`, "", 0},
		{"escapes", "---\nq: \"a \\\"b\\\" # c\"\n---\n", `{"q":"a \"b\" # c"}`, "", 0},
		{"comment", "---\n# all\na: b # rest\nc: #x\nu: http://x.org/#y\n---\n", `{"a":"b","u":"http://x.org/#y"}`, "", 0},
		{"lists", "---\na: [x, \"y, z\", 3, [n]]\nb:\n- p\n- 2\nc:\n  - q\nd: []\n---\n", `{"a":["x","y, z",3,"n"],"b":["p",2],"c":["q"],"d":[]}`, "", 0},
		{"blocks", "---\na: |\n  one\n  two\nb: >-\n  three\n  four\n---\n", `{"a":"one\ntwo","b":"three four"}`, "", 0},
		{"title is text", "---\ntitle: 1984\n---\n", `{"title":"1984"}`, "", 0},
		{"bad lines", "---\nno colon\n\"q\": x\na:b\n- item\na: b\na: c\ntext: t\n---\n", `{"a":"b","q":"x"}`, "", 4},
		{"nested", "---\nm:\n  k: v\na: b\n---\n", `{"a":"b","m":{"k":"v"}}`, "", 0},
		{"nested, no YAML", "---\nm:\n  k: v\na: b: c\n---\n", `{"a":"b: c","m":{"k":"v"}}`, "", 0},
		{"long values", "---\ntitle: \"A long\n  title\"\nd: one\n  two\ntags: [a,\n  b]\naliases:\n  [c]\n---\n", `{"aliases":["c"],"d":"one two","tags":["a","b"],"title":"A long title"}`, "", 0},
		{"maps in lists", "---\nauthors:\n- name: A\n  url: u\n- name: B\n---\n", `{"authors":[{"name":"A","url":"u"},{"name":"B"}]}`, "", 0},
		{"aliases", "---\na: &x [b]\nc: *x\n---\n", `{"a":["b"]}`, "", 1},
		{"templates", "---\ntitle: {{title}}\nup: [[Note]]\nlink: \"[[Note]]\"\n---\n", `{"link":"[[Note]]","title":"{{title}}","up":["Note"]}`, "", 0},
		{"TOML", "+++\ntitle = \"A \\\"b\\\" # c\" # rest\ndate = 2024-05-01T10:00:00Z\nweight = 1_000\ndraft = false\ntags = ['a',\n \"b\", # c\n]\n\n[params.x]\n k = '''one\ntwo'''\n[[menu]]\nname = 'm'\nurl.path = {a = 1.5}\n+++\nbody",
			`{"date":"2024-05-01T10:00:00Z","draft":false,"menu":[{"name":"m","url":{"path":{"a":1.5}}}],"params":{"x":{"k":"one\ntwo"}},"tags":["a","b"],"title":"A \"b\" # c","weight":1000}`, "body", 0},
		{"bad TOML", "+++\na = \"x\nb = \"y\"\nb = 2\nc\nd = [1\ntext = 'x'\n+++\nbody", `{"b":"y"}`, "body", 5},
		{"blanks behind the rules", "--- \na: b\n---\t\nbody", `{"a":"b"}`, "body", 0},
		{"blanks behind TOML's", "+++\t \na = 'b'\n+++ \nbody", `{"a":"b"}`, "body", 0},
		{"JSON", "{\n\t\"title\": \"A \\\"b\\\" }\",\n\t\"tags\": [\"a\", 1],\n\t\"text\": 1, \"e\": \"\", \"p\": {\"k\":true}\n} \n\nbody", `{"p":{"k":true},"tags":["a",1],"title":"A \"b\" }"}`, "\nbody", 1},
		{"no JSON", "{{< note >}}\nbody", "null", "{{< note >}}\nbody", 0},
		{"JSON in a line", "{\"a\": 1} is an object", "null", "{\"a\": 1} is an object", 0},
		{"JSON cut off", "{\"a\": 1,\n", "null", "{\"a\": 1,\n", 0},
		{"deep JSON", "{\"a\":" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", `{"a":[]}`, "", 1},
		{"plus signs", "+++\nno key\n+++\nbody", "null", "+++\nno key\n+++\nbody", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fields, body, bad := frontMatter(tt.in)
			got, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.fields || body != tt.body || len(bad) != tt.bad {
				t.Errorf("frontMatter(%q) = %s, %q, %v\nwant %s, %q and %d bad lines", tt.in, got, body, bad, tt.fields, tt.body, tt.bad)
			}
		})
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("+++\na = 1\n[b]\nc = ['x', \"\"\"y\"\"\"]\n[[d]]\ne.f = {g = true}\n+++\n")
	f.Add("---\na: b: c\nd: [e\n f: g\n---\n")
	f.Fuzz(func(t *testing.T, s string) {
		fields, body, bad := frontMatter(s)
		for _, b := range bad {
			if b.line < 1 || b.line > 2+strings.Count(s, "\n") || b.reason == "" {
				t.Errorf("bad line %+v", b)
			}
		}
		if _, err := json.Marshal(fields); err != nil || !strings.HasSuffix(s, body) {
			t.Errorf("fields %v, body %q: %v", fields, body, err)
		}
	})
}
