package reference

import "strings"

// Schema is what a value may be.
type Schema struct {
	Name        string   // of one that stands by itself
	Ref         string   // the name of the schema that this one refers to; the rest is then empty
	Kind        string   // "string", "integer or null", "object", ...
	Limits      []string // "at least 1", "default 10", ...
	Values      []string // of which it must be one
	Description string
	Example     string
	Members     []Member
	Items       *Schema  // of an array
	Others      *Schema  // of an object: what members without a description are
	OneOf       []Schema // of which it must be one
	AllOf       []Schema // which it must be at once
}

// Member is a named part of an object.
type Member struct {
	Name     string
	Required bool
	Schema   Schema
}

// bounds are pairs of keywords, either of which may be absent, and the unit of what they count.
var bounds = []struct{ least, most, unit string }{
	{"minimum", "maximum", ""}, {"minLength", "maxLength", " characters"}, {"minItems", "maxItems", " items"}, {"minProperties", "maxProperties", " members"},
}

// limitsOf tells the bounds of a value in words.
func limitsOf(n node) (all []string) {
	for _, b := range bounds {
		least, most := n.at(b.least).json(), n.at(b.most).json()
		switch {
		case least != "" && most != "":
			all = append(all, least+" to "+most+b.unit)
		case least != "":
			all = append(all, "at least "+least+b.unit)
		case most != "":
			all = append(all, "at most "+most+b.unit)
		}
	}
	for _, k := range []struct{ key, text string }{{"exclusiveMinimum", "more than "}, {"pattern", "like "}, {"format", ""}, {"contentEncoding", ""}, {"default", "default "}} {
		if v := n.at(k.key); v.Node != nil {
			all = append(all, k.text+v.json())
		}
	}
	return all
}

// schema reads a schema. name is set for those under components/schemas. A $ref is recorded by name
// and not expanded.
func (r *reader) schema(n node, name string) Schema {
	s := Schema{Name: name}
	if ref := n.text("$ref"); ref != "" {
		_, s.Ref = r.follow(n)
		s.Description = n.text("description")
		return s
	}
	s.Description = n.text("description")
	var kinds []string
	if t := n.at("type"); t.Node != nil {
		for _, k := range t.items() {
			kinds = append(kinds, k.Value)
		}
		if len(kinds) == 0 {
			kinds = []string{t.Value}
		}
	}
	s.Kind = strings.Join(kinds, " or ")
	s.Limits = limitsOf(n)
	for _, v := range n.at("enum").items() {
		s.Values = append(s.Values, v.json())
	}
	if v := n.at("const"); v.Node != nil {
		s.Values = []string{v.json()}
	}
	if e := n.at("examples").items(); len(e) > 0 {
		s.Example = e[0].json()
	}
	required := map[string]bool{}
	for _, v := range n.at("required").items() {
		required[v.Value] = true
	}
	for name, p := range n.at("properties").members() {
		s.Members = append(s.Members, Member{Name: name, Required: required[name], Schema: r.schema(p, "")})
	}
	if len(s.Members) == 0 {
		for _, v := range n.at("required").items() { // of a part of an allOf
			s.Members = append(s.Members, Member{Name: v.Value, Required: true})
		}
	}
	if items := n.at("items"); items.Node != nil {
		of := r.schema(items, "")
		s.Items = &of
	}
	if more := n.at("additionalProperties"); more.Node != nil && len(more.Content) > 0 {
		of := r.schema(more, "")
		s.Others = &of
	}
	for _, v := range n.at("oneOf").items() {
		s.OneOf = append(s.OneOf, r.schema(v, ""))
	}
	for _, v := range n.at("allOf").items() {
		s.AllOf = append(s.AllOf, r.schema(v, ""))
	}
	return s
}

// Word says what a value is in a few words: a kind, or the name of a schema.
func (s Schema) Word() string {
	switch {
	case s.Ref != "":
		return s.Ref
	case s.Kind == "array" && s.Items != nil:
		return "array of"
	case s.Others != nil:
		return "object, each member"
	case len(s.OneOf) > 0:
		return "one of"
	case s.Kind == "" && len(s.AllOf) == 0 && len(s.Values) == 0:
		return "any value"
	}
	return s.Kind
}

// Deep says whether there is more to show than a line holds.
func (s Schema) Deep() bool {
	return len(s.Members) > 0 || len(s.OneOf) > 0 || len(s.AllOf) > 0 || s.Items != nil && s.Items.Deep() || s.Others != nil && s.Others.Deep()
}
