package reference

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const small = `
openapi: 3.1.0
info: { title: small, version: "2", summary: A test., description: "One <b>paragraph</b>.\n\nAnother with ` + "`code <x>`" + `." }
tags: [{ name: things, description: What there is }]
paths:
  /things/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string, maxLength: 5 } }]
    put:
      tags: [things]
      operationId: putThing
      security: [{ bearer: [write] }]
      summary: Write a thing
      parameters: [{ $ref: "#/components/parameters/dry" }]
      requestBody: { required: true, content: { application/json: { example: { it's: 1, b: [true, null] }, schema: { $ref: "#/components/schemas/Thing" } } } }
      responses: { "200": { description: Written }, default: { $ref: "#/components/responses/Bad" } }
components:
  parameters: { dry: { name: dry_run, in: query, description: Only look, schema: { type: boolean, default: false } } }
  responses: { Bad: { description: It was not, content: { text/plain: { schema: { type: string } } } } }
  schemas:
    Problem: { type: object, properties: { code: { enum: [bad, worse] } } }
    Thing:
      type: object
      required: [name]
      properties:
        name: { type: string, description: "Of <it>" }
        kind: { enum: [a, b] }
        parts: { type: array, items: { $ref: "#/components/schemas/Thing" } }
        size: { oneOf: [{ type: integer, minimum: 1 }, { type: object, properties: { w: { type: number } } }] }
`

func TestParse(t *testing.T) {
	d, err := Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	if d.Title != "small" || d.Version != "2" || len(d.Groups) != 1 || len(d.Groups[0].Operations) != 1 || len(d.Schemas) != 2 || strings.Join(d.Codes, " ") != "bad worse" {
		t.Fatalf("document = %+v", d)
	}
	o := d.Groups[0].Operations[0]
	if o.Method != "PUT" || o.Open || strings.Join(o.Scopes, " ") != "write" || !o.BodyRequired || len(o.Parameters) != 2 || len(o.Answers) != 2 {
		t.Errorf("operation = %+v", o)
	}
	if p := o.Parameters[1]; p.Name != "dry_run" || p.In != "query" || p.Required || p.Schema.Description != "Only look" || strings.Join(p.Schema.Limits, " ") != "default false" {
		t.Errorf("parameter = %+v", p)
	}
	want := `curl -s -X PUT '` + Origin + `/things/a1' \
  -H "Authorization: Bearer $SEARCHD_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"it'\''s": 1, "b": [true, null]}'`
	if o.Curl != want {
		t.Errorf("curl:\n%s\nwant:\n%s", o.Curl, want)
	}
	thing := d.Schemas[1]
	if len(thing.Members) != 4 || !thing.Members[0].Required || thing.Members[1].Required || thing.Members[2].Schema.Items.Ref != "Thing" || len(thing.Members[3].Schema.OneOf) != 2 {
		t.Errorf("schema = %+v", thing)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ old, with, want string }{
		"a reference that leads nowhere": {"schemas/Thing\" } } } }", "schemas/Thong\" } } } }", "#/components/schemas/Thong"},
		"a tag without a description":    {"tags: [things]", "tags: [others]", "list of tags"},
		"no YAML":                        {"openapi: 3.1.0", "openapi: [", "reference: "},
	} {
		if _, err := Parse([]byte(strings.Replace(small, tt.old, tt.with, 1))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
		}
	}
	if _, err := Parse(nil); err == nil {
		t.Error("nothing: no error")
	}
}

// TestRender looks at the page of the server's own description and at that of the small one.
func TestRender(t *testing.T) {
	own, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"small": small, "own": string(own)} {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(name, err)
		}
		var b bytes.Buffer
		if err := d.Render(&b); err != nil {
			t.Fatal(name, err)
		}
		page := b.String()
		root, err := html.Parse(&b)
		if err != nil {
			t.Fatal(name, err)
		}
		ids, links := map[string]bool{}, map[string]bool{}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				switch {
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("%s: two elements have the id %s", name, a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
					links[a.Val[1:]] = true
				case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
					t.Errorf("%s: <%s %s=%q>, which the policy does not let run", name, n.Data, a.Key, a.Val)
				case (a.Key == "src" || a.Key == "href") && strings.Contains(a.Val, "//"):
					t.Errorf("%s: <%s %s=%q> is elsewhere", name, n.Data, a.Key, a.Val)
				}
			}
			if n.Type == html.ElementNode && (n.Data == "style" || n.Data == "b" || n.Data == "x" || n.Data == "it") {
				t.Errorf("%s: an element <%s>", name, n.Data)
			}
		}
		for id := range links {
			if !ids[id] {
				t.Errorf("%s: a link to #%s, which is not there", name, id)
			}
		}
		for _, g := range d.Groups {
			for _, o := range g.Operations {
				if !ids[o.ID] {
					t.Errorf("%s: nothing about %s", name, o.ID)
				}
			}
		}
		if name == "small" && (!strings.Contains(page, "<p>One &lt;b&gt;paragraph&lt;/b&gt;.</p><p>Another with <code>code &lt;x&gt;</code>.</p>") || !strings.Contains(page, "Of &lt;it&gt;")) {
			t.Errorf("descriptions: %s", page)
		}
	}
}
