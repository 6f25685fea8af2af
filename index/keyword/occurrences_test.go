package keyword

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Looking for terms finds those of all tokens, whatever the cache of chunks holds.
func TestOccurrencesOfTerms(t *testing.T) {
	files, err := filepath.Glob("../../testdata/notes/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := []string{"USB C and R & D, TCP / IP; vitamin b iPhone15's l'été O´Brien m² ½ 2024-03-15T14:30:00Z wi-fi the who \"to be\" 東京都 " + strings.Repeat("x", 100), "", " a", "a b", "a & b"}
	for _, name := range files[:min(len(files), 20)] {
		if b, err := os.ReadFile(name); err == nil {
			texts = append(texts, string(b))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, language := range []string{"en", "de", "fr", "tr", "cjk", "ar"} {
		a, err := NewAnalysis(language)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 40 {
			for _, text := range texts {
				all := a.Occurrences(text, nil)
				wanted := []string{"nowhere"}
				for range rng.IntN(5) {
					if len(all) > 0 {
						wanted = append(wanted, all[rng.IntN(len(all))].Term)
					}
				}
				got := a.Occurrences(text, NewTerms(slices.Values(wanted)))
				want := slices.DeleteFunc(all, func(t Token) bool { return !slices.Contains(wanted, t.Term) })
				if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, round %d: %q in %.200q: got %v, want %v", language, round, wanted, text, got, want)
				}
			}
		}
	}
}

func BenchmarkOccurrences(b *testing.B) {
	a, err := NewAnalysis("")
	if err != nil {
		b.Fatal(err)
	}
	notes, err := os.ReadFile("testdata/notes.txt")
	if err != nil {
		b.Fatal(err)
	}
	for name, wanted := range map[string]*Terms{"all": nil, "four": NewTerms(slices.Values([]string{"bread", "garden", "river", "engin"}))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(notes)))
			for b.Loop() {
				a.Occurrences(string(notes), wanted)
			}
		})
	}
}
