// Package reference makes a page for people out of an OpenAPI 3.1 description: operations by tag in
// the order of the file, with parameters, bodies, answers, scopes and a request to copy. It is for
// descriptions of one's own, which are trusted; those parts of OpenAPI that this server's
// description does not use are left out.
package reference

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a description, ready to be shown.
type Document struct {
	Title, Version, Summary string
	Description             string
	Groups                  []Group
	Schemas                 []Schema // those with a name, in the order of the file
	Codes                   []string // of errors
}

// Group is the operations of one tag.
type Group struct {
	Name, Description string
	Operations        []Operation
}

// Operation is one method of one path.
type Operation struct {
	ID, Method, Path, Summary, Description string
	Open                                   bool     // needs no key
	Scopes                                 []string // one of which the key needs; none: any key
	Parameters                             []Parameter
	Body                                   []Media
	BodyRequired                           bool
	Answers                                []Answer
	Curl                                   string
}

// Parameter is one of the path, the query or the headers.
type Parameter struct {
	Name, In string
	Required bool
	Schema   Schema
}

// Media is a body of one media type.
type Media struct {
	Type    string
	Schema  *Schema
	Example string // JSON, or the body itself where it is none
}

// Answer is what an operation answers with a status.
type Answer struct {
	Status, Description string
	Headers             []string
	Media               []Media
}

// Parse reads a description.
func Parse(text []byte) (*Document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if len(root.Content) != 1 {
		return nil, errors.New("reference: want one YAML document")
	}
	r := reader{root: node{root.Content[0]}}
	info := r.root.at("info")
	d := &Document{Title: info.text("title"), Version: info.text("version"), Summary: info.text("summary"), Description: info.text("description")}
	for _, tag := range r.root.at("tags").items() {
		d.Groups = append(d.Groups, Group{Name: tag.text("name"), Description: tag.text("description")})
	}
	for path, item := range r.root.at("paths").members() {
		for method, op := range item.members() {
			if method == "parameters" {
				continue
			}
			i := slices.IndexFunc(d.Groups, func(g Group) bool { return len(op.at("tags").items()) > 0 && g.Name == op.at("tags").items()[0].Value })
			if i < 0 {
				return nil, fmt.Errorf("reference: %s %s: its tag is not in the list of tags", method, path)
			}
			d.Groups[i].Operations = append(d.Groups[i].Operations, r.operation(strings.ToUpper(method), path, item, op))
		}
	}
	schemas := r.root.at("components").at("schemas")
	for name, s := range schemas.members() {
		named := r.schema(s, name)
		d.Schemas = append(d.Schemas, named)
	}
	for _, code := range schemas.at("Problem").at("properties").at("code").at("enum").items() {
		d.Codes = append(d.Codes, code.Value)
	}
	if len(r.missing) > 0 {
		return nil, fmt.Errorf("reference: nothing at %s", strings.Join(r.missing, ", "))
	}
	return d, nil
}

// reader takes a description apart and notes references that lead nowhere.
type reader struct {
	root    node
	missing []string
}

// follow returns what a reference stands for, with its name, or n itself.
func (r *reader) follow(n node) (to node, name string) {
	ref := n.text("$ref")
	if ref == "" {
		return n, ""
	}
	parts := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	to = r.root
	for _, p := range parts {
		to = to.at(p)
	}
	if to.Node == nil {
		r.missing = append(r.missing, ref)
	}
	return to, parts[len(parts)-1]
}

func (r *reader) operation(method, path string, item, op node) Operation {
	o := Operation{ID: op.text("operationId"), Method: method, Path: path, Summary: op.text("summary"), Description: op.text("description")}
	security := op.at("security").items()
	o.Open = len(security) == 0
	for _, s := range security {
		for _, scope := range s.at("bearer").items() {
			o.Scopes = append(o.Scopes, scope.Value)
		}
	}
	for _, list := range []node{item.at("parameters"), op.at("parameters")} {
		for _, p := range list.items() {
			p, _ := r.follow(p)
			s := r.schema(p.at("schema"), "")
			s.Description = p.text("description")
			o.Parameters = append(o.Parameters, Parameter{Name: p.text("name"), In: p.text("in"), Required: p.text("required") == "true", Schema: s})
		}
	}
	body := op.at("requestBody")
	o.BodyRequired = body.text("required") == "true"
	o.Body = r.media(body)
	for status, a := range op.at("responses").members() {
		a, _ := r.follow(a)
		answer := Answer{Status: status, Description: a.text("description"), Media: r.media(a)}
		for name := range a.at("headers").members() {
			answer.Headers = append(answer.Headers, name)
		}
		o.Answers = append(o.Answers, answer)
	}
	o.Curl = curl(o)
	return o
}

func (r *reader) media(n node) (all []Media) {
	for name, m := range n.at("content").members() {
		s := r.schema(m.at("schema"), "")
		if s.Ref != "" { // what it refers to is shown here too
			to, _ := r.follow(m.at("schema"))
			whole := r.schema(to, "")
			whole.Ref, whole.Kind = s.Ref, ""
			s = whole
		}
		out := Media{Type: name, Schema: &s}
		switch e := m.at("example"); {
		case e.Node != nil:
			out.Example = e.json()
		case len(m.at("schema").at("examples").items()) > 0:
			out.Example = m.at("schema").at("examples").items()[0].json()
		}
		all = append(all, out)
	}
	return all
}

// Origin is the address in the requests to copy; the page's script puts its own in its place.
const Origin = "http://127.0.0.1:8080"

// samples stand in paths for the parameters of these names.
var samples = map[string]string{"collection": "docs", "id": "a1", "alias": "live", "model": "searchd", "task": "TASK", "snapshot": "SNAPSHOT", "node": "NODE", "key": "KEY_ID", "of": "INCARNATION", "file": "app.js", "q": "flip pancakes", "follower": "replica-2"}

// curl returns a command that sends a request of an operation.
func curl(o Operation) string {
	path := o.Path
	var query []string
	for _, p := range o.Parameters {
		value := samples[p.Name]
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		case p.In == "query" && (p.Required || p.Name == "q"):
			query = append(query, p.Name+"="+strings.ReplaceAll(value, " ", "+"))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	command := "curl -s"
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || len(o.Body) == 0) {
		command += " -X " + o.Method
	}
	command += " " + quoted(Origin+path)
	if !o.Open {
		command += " \\\n  -H \"Authorization: Bearer $SEARCHD_KEY\""
	}
	i := slices.IndexFunc(o.Body, func(m Media) bool { return m.Example != "" })
	if i < 0 {
		return command
	}
	flag := " -d "
	if strings.Contains(o.Body[i].Example, "\n") {
		flag = " --data-binary "
	}
	return command + " \\\n  -H 'Content-Type: " + o.Body[i].Type + "' \\\n " + flag + quoted(o.Body[i].Example)
}

// quoted quotes a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
