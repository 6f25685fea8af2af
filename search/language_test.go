package search_test

import (
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestLanguageNames gives languages the names that people write, and wants each to be the same as
// the analysis that suits it.
func TestLanguageNames(t *testing.T) {
	for name, want := range map[string]string{
		"ja": "cjk", "zh": "cjk", "ko": "cjk", "zh-CN": "cjk", "zh-Hant-TW": "cjk", "JA": "cjk", "cjk": "cjk",
		"nb": "no", "nn": "no", "nb-NO": "no", "pt-br": "pt", "en-US": "en", "de-CH-1996": "de", "": "", "standard": "standard", "ckb-IQ": "ckb",
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, t.TempDir(), &fakeEmbedder{})
			info, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: name})
			if err != nil || info.Settings.Language != want {
				t.Fatalf("CreateCollection = %q, %v, want %q", info.Settings.Language, err, want)
			}
			if _, err := e.Ingest(t.Context(), "c", []search.Document{doc("a", `{"text":"黒い猫 walking"}`)}); err != nil {
				t.Fatal(err)
			}
			for _, same := range []string{name, want} {
				info, created, err := e.EnsureCollection(t.Context(), "c", search.Settings{Language: same})
				if err != nil || created || info.Settings.Language != want {
					t.Errorf("EnsureCollection with %q = %q, created %t, %v, want %q", same, info.Settings.Language, created, err, want)
				}
			}
			s := search.Settings{Language: name}
			task, err := e.Reembed(t.Context(), "c", search.ReembedOptions{Settings: &s})
			if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded || s.Language != name {
				t.Fatalf("Reembed: %v, settings are now %+v", err, s)
			}
			if info, err := e.Collection(t.Context(), "c"); err != nil || info.Settings.Language != want {
				t.Errorf("re-embedded with %q, %v, want %q", info.Settings.Language, err, want)
			}
		})
	}
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, name := range []string{"xx", "pl", "ja-", "-ja", "ja--jp", "standard-x", "japanese", "ja jp", "en_US", "de-ätsch"} {
		_, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: name})
		list := fieldErrorsOf(err)
		if len(list) != 1 || list[0].Field != "language" || list[0].Value != name || !strings.Contains(list[0].Allowed, "standard suits") {
			t.Errorf("CreateCollection with %q: %v", name, err)
		}
	}
}

// TestLanguageOfTexts asks for the language that documents look like.
func TestLanguageOfTexts(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	german := strings.Repeat("Die Katze sitzt auf der Bank und wartet, bis der Hund mit dem Kind aus dem Haus kommt, denn sie will nicht allein sein. ", 3)
	for _, tt := range []struct {
		name, set, text string
		want            search.Language
	}{
		{"none", "", "", search.Language{Language: "en"}},
		{"short", "fr", "Die Katze.", search.Language{Language: "fr"}},
		{"german", "", german, search.Language{Language: "en", LooksLike: "de"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := e.CreateCollection(t.Context(), tt.name, search.Settings{Language: tt.set}); err != nil {
				t.Fatal(err)
			}
			if tt.text != "" {
				var docs []search.Document // those that say little fill the first page
				for i := range 20 {
					docs = append(docs, doc(strings.Repeat("0", i+1), `{"title":"README","text":"short"}`))
				}
				for i := range 40 {
					docs = append(docs, doc(strings.Repeat("a", i+1), `{"title":"Titel","text":"`+tt.text+`"}`))
				}
				if _, err := e.Ingest(t.Context(), tt.name, docs); err != nil {
					t.Fatal(err)
				}
			}
			got, err := e.Language(t.Context(), tt.name)
			if err != nil || *got != tt.want {
				t.Errorf("Language = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	if _, err := e.Language(t.Context(), "nowhere"); err == nil {
		t.Error("Language of no collection: no error")
	}
}
