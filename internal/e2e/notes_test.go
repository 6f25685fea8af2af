package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"example.com/searchd/extract"
)

const notesDir = "../../testdata/notes"

// query is a line of testdata/notes-queries.tsv.
type query struct {
	id, text   string
	paraphrase bool // the query shares no content word with its document
}

func readNotes(t *testing.T) map[string]extract.Document {
	t.Helper()
	notes := make(map[string]extract.Document)
	_, err := extract.Walk(context.Background(), []string{notesDir}, extract.Options{},
		func(d extract.Document) error { notes[d.ID] = d; return nil },
		func(e extract.ItemError) error { t.Error(e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

func readQueries(t *testing.T) []query {
	t.Helper()
	f, err := os.Open("../../testdata/notes-queries.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var queries []query
	err = extract.Reader(context.Background(), f, filepath.Base(f.Name()), extract.Auto, extract.Options{},
		func(d extract.Document) error {
			q := query{id: d.ID, text: d.Fields["query"].(string)}
			switch d.Fields["kind"] {
			case "paraphrase":
				q.paraphrase = true
			case "words":
			default:
				t.Errorf("line %d: kind is %v; allowed are paraphrase and words", d.Line, d.Fields["kind"])
			}
			queries = append(queries, q)
			return nil
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return queries
}

func TestNotes(t *testing.T) {
	notes := readNotes(t)
	if len(notes) < 45 {
		t.Errorf("%d notes, want at least 45", len(notes))
	}
	topics := make(map[string]int)
	for id, d := range notes {
		topic, _ := d.Fields["topic"].(string)
		topics[topic]++
		year, _ := d.Fields["year"].(float64)
		if topic == "" || year < 2000 || year > 2030 || d.Fields["lang"] != "en" || d.Fields["title"] == strings.TrimSuffix(id, ".md") {
			t.Errorf("%s: fields %v", id, d.Fields)
		}
		if n := len(strings.Fields(d.Fields["text"].(string))); n < 60 || n > 220 {
			t.Errorf("%s has %d words, want 60 to 220", id, n)
		}
	}
	if len(topics) < 12 {
		t.Errorf("%d topics, want at least 12: %v", len(topics), topics)
	}
}

// A query marked paraphrase can be answered by meaning only; one marked words also by words.
func TestNotesQueries(t *testing.T) {
	notes := readNotes(t)
	paraphrases := 0
	queries := readQueries(t)
	for _, q := range queries {
		d, ok := notes[q.id]
		if !ok {
			t.Errorf("query %q: there is no note %s", q.text, q.id)
			continue
		}
		in := stems(d.Fields["title"].(string) + " " + d.Fields["text"].(string) + " " + d.Fields["topic"].(string) + " " + strings.TrimSuffix(d.ID, ".md"))
		var shared []string
		for stem := range stems(q.text) {
			if in[stem] {
				shared = append(shared, stem)
			}
		}
		switch {
		case q.paraphrase:
			paraphrases++
			if len(shared) > 0 {
				t.Errorf("paraphrase %q shares %q with %s", q.text, shared, q.id)
			}
		case len(shared) == 0:
			t.Errorf("query %q shares no word with %s; mark it as a paraphrase", q.text, q.id)
		}
	}
	if len(queries) < 40 || paraphrases < 20 {
		t.Errorf("%d queries, %d of them paraphrases; want at least 40 and 20", len(queries), paraphrases)
	}
}

// stopWords carry no meaning of their own. Verbs such as make or keep are not among them, so the
// claim is on the strict side.
var stopWords = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(`a about after again all already also always an and another any are as at be because been before being but by
		can could did do does done down for from get got had has have her here his how i if in into is it its itself just many may me mine more
		most much must my no not nothing now of off on once one only or other our out over own should so some someone something such t s than
		that the their them then there these they this those to too under until up us very was we were what when where which while who whose
		why will with without would you your`) {
		m[w] = true
	}
	return m
}()

// stems returns the words of s that are not stop words, lower-case, without a plural ending, cut to
// five letters.
func stems(s string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if stopWords[w] {
			continue
		}
		if len(w) > 3 {
			w = strings.TrimSuffix(strings.TrimSuffix(w, "s"), "e")
		}
		if r := []rune(w); len(r) > 5 {
			w = string(r[:5])
		}
		m[w] = true
	}
	return m
}
