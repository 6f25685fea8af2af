package keyword

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestWholeNamesRank: a name is found before texts that have its parts apart, which are found, too,
// whatever asks for them.
func TestWholeNamesRank(t *testing.T) {
	x := openTemp(t, Options{})
	texts := []string{
		"path of an os: os.remove, then join the path of the os, and join it again, path by path",
		"paths are put together by os.path.join, which is in a module that has many other functions beside this one",
		"os path join",
		"something else",
	}
	var entries []Entry
	for i, text := range texts {
		entries = append(entries, Entry{No: uint32(i), Text: []Field{{"text", text}}})
	}
	apply(t, x, 1, entries...)
	ctx := context.Background()
	ranked := func(q Query) (nos []uint32) {
		t.Helper()
		found, err := x.Find(ctx, q, 10, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if found.All.GetCardinality() != uint64(found.Total) {
			t.Errorf("%q: %v, of %d in total", q.Text, found.All, found.Total)
		}
		for _, h := range found.Hits {
			nos = append(nos, h.No)
			if h.Score > found.Ceiling {
				t.Errorf("%q: score %v, ceiling %v", q.Text, h.Score, found.Ceiling)
			}
		}
		scores, err := x.Score(ctx, q, nos)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range found.Hits {
			if scores[i] != h.Score {
				t.Errorf("%q: Score of %d is %v, Search has %v", q.Text, h.No, scores[i], h.Score)
			}
		}
		return nos
	}
	if got := ranked(Query{Text: "os.path.join"}); len(got) != 3 || got[0] != 1 {
		t.Errorf("os.path.join finds %v, want 1 before two others", got)
	}
	for _, q := range []Query{{Text: "os.path.join", Operator: And}, {Text: "os_path_join", Operator: And}, {Text: "os path join", Operator: And}} {
		got := ranked(q)
		if slices.Sort(got); !slices.Equal(got, []uint32{0, 1, 2}) {
			t.Errorf("all of %q find %v, want 0, 1 and 2", q.Text, got)
		}
	}
	for _, phrase := range []string{"os.path.join", "os path join"} {
		p := x.Phrase(phrase)
		for i, want := range []bool{false, true, true, false} {
			if got := x.Holds(texts[i], nil, p)[0] != NotHeld; got != want {
				t.Errorf("%q in %q: %t", phrase, texts[i], got)
			}
		}
	}
	if name, parts := x.Length("os.path.join"), x.Length("os path join"); name != parts {
		t.Errorf("the length of a name is %d, of its parts %d", name, parts)
	}
	lacking, err := x.Find(ctx, Query{Text: "os_path_join"}, 0, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	apart, err := x.Find(ctx, Query{Text: "os path join"}, 0, nil, false)
	if err != nil || fmt.Sprintf("%.9f", lacking.Ceiling) != fmt.Sprintf("%.9f", apart.Ceiling) || apart.Ceiling == 0 {
		t.Errorf("the ceiling of a name that is nowhere is %v, of its parts %v, %v", lacking.Ceiling, apart.Ceiling, err)
	}
}

// TestJoinedNames: words with hyphens and those without find one another. Where letters alone
// have hyphens, their words are asked for.
func TestJoinedNames(t *testing.T) {
	x := openTemp(t, Options{})
	texts := []string{"the wi-fi at home", "the wifi at home", "an AB-1234-C is needed", "an AB1234C is needed", "gpt 4 is a model", "A.I. is a field", "an AI is a program", "the U.S. and us", "the U.S.", "the U.K. and France", "the UK", "at 5 p.m."}
	for i, text := range texts {
		apply(t, x, uint64(i+1), Entry{No: uint32(i), Text: []Field{{"text", text}}})
	}
	for _, tc := range []struct {
		query string
		want  []uint32
	}{
		{"wifi", []uint32{0, 1}}, {"wi-fi", []uint32{0, 1}}, {"AB1234C", []uint32{2, 3}}, {"ab-1234-c", []uint32{2, 3}}, {"ab 1234 c", []uint32{2, 3}},
		{"GPT-4", []uint32{4}}, {"AI", []uint32{5, 6}}, {"A.I.", []uint32{5, 6}}, {"U.S.", []uint32{7, 8, 9}}, {"us", []uint32{7}},
		{"UK", []uint32{9, 10}}, {"U.K.", []uint32{7, 8, 9, 10}}, {"pm", []uint32{11}},
	} {
		hits, _, err := x.Search(context.Background(), Query{Text: tc.query}, 10, nil)
		var got []uint32
		for _, h := range hits {
			got = append(got, h.No)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s finds %v, %v, want %v", tc.query, got, err, tc.want)
		}
	}
	if terms, _ := x.queryTerms(Query{Text: "wi-fi A.I. GPT-4 U.S."}, nil); len(terms) != 8 {
		t.Errorf("there are %d terms, want wi, fi, ai, gpt4, gpt, 4, u and s", len(terms))
	}
}

// TestDates: a date is found by its parts, and by the same one with other signs.
func TestDates(t *testing.T) {
	for _, language := range []string{"en", "de", "fr", "ru", "cjk"} {
		x := openTemp(t, Options{Language: language})
		apply(t, x, 1, Entry{No: 1, Text: []Field{{"text", "am 15.03.2024 bezahlt"}}}, Entry{No: 2, Text: []Field{{"text", "15/03/2024"}}}, Entry{No: 3, Text: []Field{{"text", "2024-03-15"}}}, Entry{No: 4, Text: []Field{{"text", "15.032 20.24"}}})
		for _, query := range []string{"2024", "15.03.2024", "2024-03-15", "15/03/2024", "2024.03.15"} {
			if got := found(t, x, Query{Text: query, Operator: And}); !slices.Equal(got, []uint32{1, 2, 3}) {
				t.Errorf("%s: %s finds %v, want 1, 2 and 3", language, query, got)
			}
		}
		if hits, _, err := x.Search(t.Context(), Query{Text: "15.03.2024"}, 1, nil); err != nil || len(hits) != 1 || hits[0].No != 1 {
			t.Errorf("%s: 15.03.2024 finds %v, %v, want 1 first", language, hits, err)
		}
	}
}

// TestSignedNamesRank: a name is found before texts that have its words apart; the words find what
// they found.
func TestSignedNamesRank(t *testing.T) {
	x := openTemp(t, Options{})
	for i, tc := range []struct{ query, name, words string }{
		{"C++", "a course in C++ for those who know other languages well", "c and c"},
		{"C#", "a course in C#, for those who know other languages well", "c and c"},
		{"--follow-key-file", "start it with `--follow-key-file=PATH` and the other options of before", "follow the key file"},
		{"std::io::Write", "it implements std::io::Write, as the others in this module do", "std io write: write std io"},
		{"utf8.DecodeRune", "it calls utf8.DecodeRune(b) for each of the characters of a text", "utf8 and, in a sentence of its own, DecodeRune"},
		{"/etc/hosts", "names are looked for in /etc/hosts before anybody is asked for them", "hosts etc hosts"},
	} {
		with, without := uint32(2*i), uint32(2*i+1)
		apply(t, x, uint64(i+1), Entry{No: with, Text: []Field{{"text", tc.name}}}, Entry{No: without, Text: []Field{{"text", tc.words}}})
		hits, _, err := x.Search(context.Background(), Query{Text: tc.query}, 2, nil)
		if err != nil || len(hits) < 2 || hits[0].No != with {
			t.Errorf("%s finds %v, %v, want %d first", tc.query, hits, err, with)
		}
	}
	if _, total, err := x.Search(context.Background(), Query{Text: "C"}, 10, nil); err != nil || total != 4 {
		t.Errorf("C finds %d, %v, want 4", total, err)
	}
}
