package search_test

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/searchd/search"
)

// TestSnippetsHaveContext: a snippet shows what stands around the query's words, also in scripts
// without spaces, and is a part of the text.
func TestSnippetsHaveContext(t *testing.T) {
	for language, text := range map[string][3]string{
		"en":       {"The cat sat on the mat, and ", "engines", " of search were quiet. "},
		"cjk":      {"我喜欢在周末看电影，也喜欢吃北京烤鸭。", "搜索", "天气很好，我们去公园散步吧。"},
		"ja":       {"パソコンで文章を書いています。 ", "検索", "エンジンは便利ですね。"},
		"standard": {"สวัสดีชาวโลกที่น่ารักทุกคน", " 4711 ", "กรุงเทพมหานครเป็นเมืองใหญ่"},
	} {
		t.Run(language, func(t *testing.T) {
			e := open(t, t.TempDir(), &fakeEmbedder{})
			if language == "ja" {
				language = "cjk"
			}
			if _, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: language}); err != nil {
				t.Fatal(err)
			}
			whole := strings.Repeat(text[0], 20) + text[1] + strings.Repeat(text[2], 20)
			if _, err := e.Ingest(t.Context(), "c", []search.Document{doc("a", fmt.Sprintf(`{"text":%q}`, whole))}); err != nil {
				t.Fatal(err)
			}
			r, err := e.Search(t.Context(), "c", search.Query{Q: text[1], Mode: search.Keyword})
			if err != nil || len(r.Hits) != 1 || len(r.Hits[0].Highlights["text"]) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			snippet := r.Hits[0].Highlights["text"][0]
			before, rest, _ := strings.Cut(snippet, "<mark>")
			marked, after, _ := strings.Cut(rest, "</mark>")
			if marked != strings.TrimSpace(text[1]) || len(before) < 50 || len(after) < 100 || len(snippet) > snippetMost {
				t.Errorf("snippet %q", snippet)
			}
			plain := html.UnescapeString(strings.TrimSuffix(strings.TrimPrefix(before, "… "), " …") + marked + strings.TrimSuffix(after, " …"))
			if !utf8.ValidString(plain) || !strings.Contains(whole, plain) {
				t.Errorf("%q is no part of the text", plain)
			}
		})
	}
}

const snippetMost = 280 // bytes, with marks and ellipses
