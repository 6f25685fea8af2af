package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRepeatedMembers: a record that names a member twice is an error of its line, as the server
// says it is, and not the last of the two values.
func TestRepeatedMembers(t *testing.T) {
	for record, want := range map[string]string{
		`{"id":"d","text":"x","text":"y"}`:                        `member "text": given more than once`,
		`{"id":"d","id":"e","text":"y"}`:                          `member "id": given more than once`,
		`{"id":"d","t\u0065xt":"x","text":"x"}`:                   `member "text": given more than once`,
		`{"id":"d","text":"x","a/b":[1,{"c":{"e":1,"e":{}}}]}`:    `member "e" in /a~1b/1/c: given more than once`,
		`{"id":"d","text":"x","text":{"a":1}}`:                    `member "text": given more than once`,
		`{"id":"d","text":"a: \"b\": \\","a":{"text":[{},{}]}}`:   "",
		`{"id":"d","text":"x","a":{"b":{"a":1}},"b":[{"a":":"}]}`: "",
	} {
		for form, file := range map[string]string{"lines": "{\"text\":\"first\"}\n%s\n{\"text\":\"last\"}\n", "array": "[{\"text\":\"first\"},\n%s,\n{\"text\":\"last\"}]"} {
			out := readBytes(t, fmt.Appendf(nil, file, record), "f.jsonl", Options{})
			var texts []string
			for _, d := range out.docs {
				texts = append(texts, fmt.Sprint(d.Fields["text"]))
			}
			if want == "" {
				if len(out.errors) > 0 || len(texts) != 3 {
					t.Errorf("%s of %s: %s", form, record, out)
				}
			} else if len(out.errors) != 1 || !strings.HasSuffix(out.errors[0].Error(), want) || out.errors[0].Line != 2 || !slices.Equal(texts, []string{"first", "last"}) {
				t.Errorf("%s of %s: %s, want %s at line 2", form, record, out, want)
			}
		}
	}
}
