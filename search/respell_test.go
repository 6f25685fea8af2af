package search_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// lettered knows how some words are spelled.
type lettered struct {
	fakeEmbedder
	known string
}

func (l *lettered) Knows(word string) bool { return strings.Contains(" "+l.known+" ", " "+word+" ") }

func openLettered(t *testing.T, known string) *search.Engine {
	t.Helper()
	e := openWith(t, t.TempDir(), search.Options{Embedder: &lettered{known: known}})
	put(t, e, search.Created,
		doc("bank", `{"tenant":"a","text":"The bank received the money, and you receive a letter."}`),
		doc("times", `{"tenant":"b","text":"A calendar of festivals; Zephyrine keeps it. Environmental notes in the EIGENVALUE style."}`),
		doc("sums", `{"tenant":"c","text":"The amount is small."}`), doc("more", `{"tenant":"c","text":"A larger amount."}`), doc("book", `{"tenant":"c","text":"On account."}`),
		doc("crash", `{"tenant":"b","text":"How to recover after the server crashed.","tags":["Kubernetes"]}`))
	return e
}

func TestRespelled(t *testing.T) {
	e := openLettered(t, "tender")
	for _, tc := range []struct {
		q    search.Query
		text string // "": as it stands
	}{
		{search.Query{Q: "recieve money"}, "receive money"},
		{search.Query{Q: "money (recieved)?"}, "money (received)?"},
		{search.Query{Q: "Recieve and recieve"}, "Receive and receive"},
		{search.Query{Q: "calender"}, "calendar"}, // two edits between the terms, one between the words
		{search.Query{Q: "acount"}, "account"},    // more documents have amount
		{search.Query{Q: "ammount"}, "amount"},
		{search.Query{Q: "zephirine"}, "zephyrine"},
		{search.Query{Q: "environmantal"}, "environmental"},
		{search.Query{Q: "festivalz"}, "festivals"}, // the stem is whole
		{search.Query{Q: "eigenvlaue"}, "eigenvalue"},
		{search.Query{Q: "kuberntes"}, "kubernetes"}, // of a string that is no text
		{search.Query{Q: "recieve", Filter: "tenant = 'a'"}, "receive"},
		{search.Query{Q: "recieve", Syntax: search.Plain, Spelling: search.Corrected}, "receive"},
		{search.Query{Q: "recieve -calendar", Operator: "and"}, "receive"},

		{search.Query{Q: "recieve", Filter: "tenant = 'b'"}, ""}, // that has no such word: nothing is told of others
		{search.Query{Q: "recieve", Spelling: search.Exact}, ""},
		{search.Query{Q: "recieve", Syntax: search.Plain}, ""},
		{search.Query{Q: "receive crashing festival"}, ""}, // documents have them
		{search.Query{Q: "tender"}, ""},                    // one edit from sender, but known
		{search.Query{Q: "eceive"}, ""},                    // another first letter
		{search.Query{Q: "mooney cras mony"}, "money cras mony"},
		{search.Query{Q: "rceeiev"}, ""}, // too far
		{search.Query{Q: "RECIEVE reCieve rec1eve recieve_x x.recieve"}, ""},
		{search.Query{Q: strings.Repeat("x ", 64) + "recieve"}, ""},
	} {
		t.Run(tc.q.Q[:min(30, len(tc.q.Q))], func(t *testing.T) {
			for _, mode := range []search.Mode{search.Keyword, search.Hybrid, search.Semantic} {
				q := tc.q
				q.Mode = mode
				got, err := e.Search(t.Context(), "docs", q)
				if err != nil {
					t.Fatal(err)
				}
				if tc.text == "" {
					if got.Query != nil && got.Query.Respelled != nil {
						t.Errorf("%s: respelled: %v", mode, got.Query.Respelled)
					}
					continue
				}
				if got.Query == nil || got.Query.Text != tc.text || len(got.Query.Respelled) == 0 {
					t.Fatalf("%s: read as %+v, want %q", mode, got.Query, tc.text)
				}
				q.Spelling, q.Q = search.Exact, strings.Replace(tc.text, "recieve", "receive", 1)
				if len(got.Query.Without) > 0 {
					q.Q += " -" + got.Query.Without[0]
				}
				want, err := e.Search(t.Context(), "docs", q)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got.Hits, want.Hits) || len(got.Hits) == 0 {
					t.Errorf("%s: %+v, want the hits of %q: %+v", mode, got.Hits, q.Q, want.Hits)
				}
			}
		})
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "Recieve and recieve", Mode: search.Keyword})
	if err != nil {
		t.Fatal(err)
	}
	if want := []search.Respelling{{Word: "Recieve", As: "Receive"}, {Word: "recieve", As: "receive"}}; !reflect.DeepEqual(r.Query.Respelled, want) {
		t.Errorf("respelled = %v, want %v", r.Query.Respelled, want)
	}
	if h := r.Hits[0].Highlights["text"]; len(h) != 1 || !strings.Contains(h[0], "<mark>receive</mark>") {
		t.Errorf("highlights = %q", h)
	}
	x, err := e.Explain(t.Context(), "docs", "bank", search.Query{Q: "recieve", Mode: search.Keyword})
	if err != nil || x.Rank != 1 || x.Query == nil || x.Query.Text != "receive" {
		t.Errorf("Explain = %+v, %v", x, err)
	}
}

// TestUnfinished: the last word of a text that is being typed is read as one that begins with it.
func TestUnfinished(t *testing.T) {
	e := openLettered(t, "cal rec")
	for _, tc := range []struct {
		q    search.Query
		text string // "": as it stands
	}{
		{search.Query{Q: "money let", Mode: search.Keyword}, "money letter"},
		{search.Query{Q: "festiva", Mode: search.Keyword}, "festivals"}, // the term is shorter than what is typed
		{search.Query{Q: "Zeph"}, "Zephyrine"},
		{search.Query{Q: "kuber"}, "kubernetes"},
		{search.Query{Q: "cal", Mode: search.Keyword}, "calendar"}, // known, but found nowhere
		{search.Query{Q: "recieve let", Mode: search.Keyword}, "receive letter"},
		{search.Query{Q: "zephirine"}, "zephyrine"}, // finished, and misspelled

		{search.Query{Q: "cal", Mode: search.Semantic}, ""},
		{search.Query{Q: "le", Mode: search.Keyword}, ""},
		{search.Query{Q: "zzz"}, ""},
		{search.Query{Q: "let "}, ""}, // finished
		{search.Query{Q: "zeph", Filter: "tenant = 'a'"}, ""},
		{search.Query{Q: "zeph", Spelling: search.Exact}, ""},
	} {
		tc.q.Unfinished = true
		r, err := e.Search(t.Context(), "docs", tc.q)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tc.text == "" && r.Query != nil:
			t.Errorf("%q: read as %+v", tc.q.Q, r.Query)
		case tc.text != "" && (r.Query == nil || r.Query.Text != tc.text || len(r.Hits) == 0):
			t.Errorf("%q: read as %+v with %d hits, want %q", tc.q.Q, r.Query, len(r.Hits), tc.text)
		}
	}
}

// TestRespelledFarForm: where none of the first documents with a term has a word that is spelled
// much like the one asked for, later ones are looked through. One that an early document has is
// taken without them.
func TestRespelledFarForm(t *testing.T) {
	b, e := openReading(t, &lettered{})
	const n = backend.MaxNearRefs
	for i := range n - 1 {
		put(t, e, search.Created, doc(fmt.Sprint("a", i), `{"text":"A festive letter, one account."}`), doc(fmt.Sprint("b", i), `{"text":"A lamp."}`))
	}
	put(t, e, search.Created, doc("far", `{"text":"Letters of festivals and accounts."}`))
	for _, tc := range []struct {
		q    search.Query
		text string // "": as it stands
		most int    // documents that are fetched
	}{
		{search.Query{Q: "lettters"}, "letters", n},
		{search.Query{Q: "Lettters"}, "Letters", n},
		{search.Query{Q: "lettters", Filter: "id = 'far'"}, "letters", 1},
		{search.Query{Q: "lettters", Filter: "NOT id = 'far'"}, "", n}, // two edits from letter
		{search.Query{Q: "letterrs"}, "letters", n},
		{search.Query{Q: "accounts"}, "", 0}, // a form of what documents have
		{search.Query{Q: "acount"}, "account", 1},
		{search.Query{Q: "lettering"}, "", 0},
		{search.Query{Q: "festiva", Unfinished: true}, "festivals", n},
		{search.Query{Q: "lampss"}, "", n},
	} {
		b.fetched = 0
		tc.q.Mode, tc.q.Limit = search.Keyword, new(int)
		r, err := e.Search(t.Context(), "docs", tc.q)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if r.Query != nil {
			text = r.Query.Text
		}
		if text != tc.text || b.fetched > tc.most {
			t.Errorf("%q with %q: read as %q by %d documents, want %q by at most %d", tc.q.Q, tc.q.Filter, text, b.fetched, tc.text, tc.most)
		}
	}
}

// TestUnfinishedKnownWord: a hybrid search completes a word that the checkpoint knows for the
// keyword search alone, so that it finds what the answer by words has found.
func TestUnfinishedKnownWord(t *testing.T) {
	e := openLettered(t, "cal rec")
	words, err := e.Search(t.Context(), "docs", search.Query{Q: "money cal", Mode: search.Keyword, Unfinished: true})
	if err != nil {
		t.Fatal(err)
	}
	both, err := e.Search(t.Context(), "docs", search.Query{Q: "money cal", Unfinished: true, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if q := both.Query; q == nil || q.Text != "money cal" || q.Completed == nil || *q.Completed != (search.Respelling{Word: "cal", As: "calendar"}) {
		t.Fatalf("read as %+v", both.Query)
	}
	scores := map[string]float64{}
	for _, h := range both.Hits {
		scores[h.ID] = h.Explain.Keyword.Score
	}
	for _, h := range words.Hits {
		if scores[h.ID] != h.Score {
			t.Errorf("%s: BM25 is %v by words and %v in the hybrid search", h.ID, h.Score, scores[h.ID])
		}
	}
	if marks := fmt.Sprint(both.Hits[slices.IndexFunc(both.Hits, func(h search.Hit) bool { return h.ID == "times" })].Highlights); !strings.Contains(marks, "<mark>calendar</mark>") {
		t.Errorf("marked: %s", marks)
	}
}

// TestBreaksAreNotRespelled: words that documents write together or apart are not misspelled,
// though others are spelled much like them; they are marked.
func TestBreaksAreNotRespelled(t *testing.T) {
	e := openLettered(t, "")
	put(t, e, search.Created, doc("apart", `{"text":"An account book of notes."}`), doc("one", `{"text":"The accountholder, no accountbooz."}`), doc("near", `{"text":"Molder."}`))
	for _, tc := range []struct{ q, text, id, marked string }{
		{"accountbook", "", "apart", "An <mark>account book</mark> of notes."},
		{"account molder", "", "", ""},
		{"account holder", "", "one", "The <mark>accountholder</mark>, no accountbooz."},
		{"acount holder", "account holder", "one", "The <mark>accountholder</mark>, no accountbooz."},
	} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: search.Keyword, Operator: "and"})
		if err != nil {
			t.Fatal(err)
		}
		id, marked, text := "", "", ""
		for _, h := range r.Hits {
			id, marked = id+h.ID, marked+strings.Join(h.Highlights["text"], "")
		}
		if r.Query != nil {
			text = r.Query.Text
		}
		if id != tc.id || marked != tc.marked || text != tc.text {
			t.Errorf("%s finds %q, marked %q, read as %q, want %+v", tc.q, id, marked, text, tc)
		}
	}
}

// TestUnfinishedBreak: the last word is completed also where it and the one before are a word of
// documents without its ending. One that is whole is not respelled.
func TestUnfinishedBreak(t *testing.T) {
	e := openLettered(t, "")
	put(t, e, search.Created, doc("apart", `{"text":"A web sites list."}`), doc("one", `{"text":"Websitx, the index."}`), doc("whole", `{"text":"An adress book, addressbooz."}`))
	for _, tc := range []struct{ q, ids, text string }{{"web sitx", "one", ""}, {"web sit", "apart", "web sites"}, {"adressbook", "whole", ""}} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: search.Keyword, Operator: "and", Unfinished: true})
		if err != nil {
			t.Fatal(err)
		}
		ids, text := "", ""
		for _, h := range r.Hits {
			ids += h.ID
		}
		if r.Query != nil {
			text = r.Query.Text
		}
		if ids != tc.ids || text != tc.text {
			t.Errorf("%s finds %q, read as %q, want %+v", tc.q, ids, text, tc)
		}
	}
	put(t, e, search.Created, doc("stem", `{"text":"Websites, an index."}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "web sit", Mode: search.Keyword, Operator: "and", Unfinished: true})
	if err != nil || len(r.Hits) != 2 {
		t.Errorf("web sit finds %+v, %v, want web sites and Websites", r, err)
	}
}

// TestPhrasesAreNotRespelled: what stands in quotes must occur as it stands.
func TestPhrasesAreNotRespelled(t *testing.T) {
	e := openLettered(t, "")
	for _, q := range []string{`"recieve"`, `"recieve money" letter`} {
		if got := find(t, e, search.Query{Q: q}); got != "" {
			t.Errorf("%s found %s", q, got)
		}
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: `"the money" recieve`, Mode: search.Keyword})
	if err != nil || len(r.Hits) != 1 || r.Query.Text != "the money receive" {
		t.Errorf("%+v, %v", r.Query, err)
	}
}

// TestRespelledIsBounded: of very many unknown words only the first are looked for.
func TestRespelledIsBounded(t *testing.T) {
	e := openLettered(t, "")
	var q strings.Builder
	for i := range 40 {
		fmt.Fprintf(&q, "unknown%c%c ", 'a'+i/26, 'a'+i%26)
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: q.String() + "recieve", Mode: search.Keyword})
	if err != nil || r.Query != nil {
		t.Errorf("%+v, %v", r.Query, err)
	}
}

// TestRespelledBehindKnownWords: words that documents have, or the checkpoint knows, are not among
// those that are looked for, however many there are.
func TestRespelledBehindKnownWords(t *testing.T) {
	e := openLettered(t, "right known words before others quite every where there again")
	for _, before := range []string{"right known words before others quite every where there again", "received money letter calendar festivals environmental notes eigenvalue style small amount"} {
		for _, q := range []search.Query{{Q: before + " recieve"}, {Q: before + " zephyr", Unfinished: true}} {
			want := before + " receive"
			if q.Unfinished {
				want = before + " zephyrine"
			}
			q.Mode = search.Keyword
			r, err := e.Search(t.Context(), "docs", q)
			if err != nil {
				t.Fatal(err)
			}
			if r.Query == nil || r.Query.Text != want {
				t.Errorf("%q is read as %+v, want %q", q.Q, r.Query, want)
			}
		}
	}
}

// TestRespelledAccents: accents may be left out, as where documents have the word.
func TestRespelledAccents(t *testing.T) {
	for _, tc := range []struct{ language, text, q, unfinished, want string }{
		{"en", "Trains to Zürich.", "zurch", "zur", "zürich"},
		{"en", "Trains to Zürich.", "zürch", "zür", "zürich"},
		{"de", "Ein Kühlschrank.", "kuhlschrnk", "kühlsch", "kühlschrank"},
		{"de", "Ein Kühlschrank.", "kühlschrnk", "kuhlsch", "kühlschrank"},
		{"fr", "Le réfrigérateur.", "refrigerater", "refr", "réfrigérateur"},
		{"fr", "Le réfrigérateur.", "réfrigératuer", "réfr", "réfrigérateur"}, // further from the stem than two edits, but for its end
		{"en", "The Éclair.", "eclaer", "ecl", "éclair"},
		{"ru", "Большой самолёт.", "самалет", "само", "самолёт"},
	} {
		e, err := search.Open(t.TempDir(), search.Options{Embedder: &lettered{}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Language: tc.language}); err != nil {
			t.Fatal(err)
		}
		put(t, e, search.Created, doc("a", fmt.Sprintf(`{"text":%q}`, tc.text)))
		for _, q := range []search.Query{{Q: tc.q}, {Q: tc.unfinished, Unfinished: true}} {
			q.Mode = search.Keyword
			r, err := e.Search(t.Context(), "docs", q)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Query; got == nil || got.Text != tc.want || len(r.Hits) != 1 {
				t.Errorf("%s: %s is read as %+v, want %s; %d hits", tc.language, q.Q, got, tc.want, len(r.Hits))
			}
		}
	}
}

// reading counts the documents that are fetched, and their bytes.
type reading struct {
	backend.Backend
	fetched, bytes int
}

func (r *reading) Fetch(ctx context.Context, q backend.FetchRequest) (backend.FetchResponse, error) {
	out, err := r.Backend.Fetch(ctx, q)
	r.fetched += len(out.Documents)
	for _, d := range out.Documents {
		r.bytes += len(d.Fields)
	}
	return out, err
}

// openReading opens an engine with an empty collection over what counts.
func openReading(t *testing.T, embedder search.Embedder) (*reading, *search.Engine) {
	t.Helper()
	inner, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &reading{Backend: inner}
	e, err := search.Open("", search.Options{Embedder: embedder, Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	return b, e
}

// TestRespellingReadsLittle: what is read of long documents for one word has a bound, and each
// document is read once for it.
func TestRespellingReadsLittle(t *testing.T) {
	b, e := openReading(t, &lettered{})
	var words strings.Builder
	for _, c := range "bcfhjkmpqt" {
		fmt.Fprintf(&words, "car%cvansxrye ", c) // two edits from the query
	}
	const size = 400_000
	for i := range 8 {
		put(t, e, search.Created, doc(fmt.Sprint(i), fmt.Sprintf(`{"text":%q}`, words.String()+strings.Repeat("the of and to in a ", size/19))))
	}
	for _, tc := range []struct {
		q    string
		most int
	}{{"caravansfrye", 2<<20 + 2*size}, {"caravansfrye caravansgrye", 2 * (2<<20 + 2*size)}} {
		b.bytes = 0
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: search.Keyword, Limit: new(int)})
		if err != nil || r.Query == nil || r.Query.Respelled == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if b.bytes > tc.most {
			t.Errorf("%s: %d bytes read, want at most %d", tc.q, b.bytes, tc.most)
		}
	}
}
