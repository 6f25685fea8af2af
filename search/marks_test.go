package search_test

import (
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.com/searchd/search"
)

// TestMarksChangeNothing marks random texts of several scripts and spellings, and wants the texts
// as they are once the marks are taken out.
func TestMarksChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	e := open(t, t.TempDir(), &fakeEmbedder{})
	words := strings.Fields("Bäume Straße İstanbul IŞIK ışık cœur l’école ёлка كتاب کتاب‌ها ٢٠٢٤ हिन्दी ภาษาไทย น้ำ 佐々木さん ﾊﾟﾅｿﾆｯｸ １２３ 한국어 엔진입니다 parseHTTPHeader max_seq_length ﬁnd " +
		"<b>bold</b> &amp; \"quoted\" 😀👩‍👩‍👧 Ṛ̇ώ ㌔ ខ្មែរ")
	text := func(n int) string {
		var b strings.Builder
		for range n {
			w := words[r.IntN(len(words))]
			if r.IntN(3) == 0 {
				w = norm.NFD.String(w)
			}
			b.WriteString(w + []string{" ", " ", "", "\n", "。", ", ", "\u200b", "\n\n"}[r.IntN(8)])
		}
		return b.String()
	}
	for _, language := range []string{"en", "cjk", "standard", "tr", "fa", "fr"} {
		c := "c-" + language
		if _, err := e.CreateCollection(t.Context(), c, search.Settings{Language: language}); err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		var docs []search.Document
		for i := range 8 {
			id := fmt.Sprint("d", i)
			texts[id] = text(1 + r.IntN(200))
			docs = append(docs, doc(id, fmt.Sprintf(`{"text":%q,"tag":["x",%q]}`, texts[id], "y")))
		}
		if _, err := e.Ingest(t.Context(), c, docs); err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer("<mark>", "", "</mark>", "")
		marked := 0
		for range 15 {
			q := search.Query{Q: text(1 + r.IntN(3)), Syntax: search.Plain, Mode: []search.Mode{search.Keyword, search.Hybrid}[r.IntN(2)], Passages: ptr(5), Operator: []string{"or", "and"}[r.IntN(2)]}
			res, err := e.Search(t.Context(), c, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range res.Hits {
				for _, p := range h.Passages {
					if got := html.UnescapeString(plain.Replace(p.Marked)); got != p.Text || p.Text != texts[h.ID][p.Start:p.End] || !utf8.ValidString(p.Text) {
						t.Fatalf("%s: %q marks %q as %q", language, q.Q, p.Text, p.Marked)
					}
					marked += strings.Count(p.Marked, "<mark>")
				}
				for _, s := range h.Highlights["text"] {
					got := html.UnescapeString(plain.Replace(strings.TrimSuffix(strings.TrimPrefix(s, "… "), " …")))
					if !utf8.ValidString(got) || !strings.Contains(texts[h.ID], got) || !strings.Contains(s, "<mark>") || strings.Contains(s, "<mark></mark>") || len(got) > 500 {
						t.Fatalf("%s: %q has the snippet %q", language, q.Q, s)
					}
				}
				if q.Mode == search.Keyword && len(h.Highlights) == 0 {
					t.Fatalf("%s: %q finds %q without a mark", language, q.Q, texts[h.ID])
				}
			}
		}
		if marked < 30 {
			t.Errorf("%s: %d marks", language, marked)
		}
	}
}
