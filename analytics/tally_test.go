package analytics

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// asked returns events of searches with clicks; each id is used once.
func asked() []Event {
	search := func(id, q string, hits int, score float64) Event {
		return Event{Kind: Search, SearchID: id, Query: q, Mode: "hybrid", Hits: hits, Score: score}
	}
	click := func(id, document string, position int) Event {
		return Event{Kind: Click, SearchID: id, Document: document, Position: position}
	}
	strange := click("2", "a", 1)
	strange.Tenant = "t"
	return []Event{
		search("1", "Pan cakes", 5, 0.9), click("1", "a", 1), click("1", "a", 1), click("1", "b", 3),
		search("2", "pan  cakes ", 5, 0.9), click("2", "b", 3), strange,
		search("3", "pan cakes", 5, 0.9), click("3", "c", 40),
		search("4", "qqq", 0, 0), search("5", "qqq", 2, 0.1),
		search("6", "bread", 1, 0.6),
		click("unknown", "x", 1),
	}
}

func TestReport(t *testing.T) {
	want := `{"since":"0001-01-01T00:00:00Z","searches":6,"no_results":1,"weak":1,"clicked":3,` +
		`"queries":[{"q":"Pan cakes","searches":3,"no_results":0,"weak":0,"clicked":3,"mean_position":11.75},{"q":"qqq","searches":2,"no_results":1,"weak":1,"clicked":0}],` +
		`"unanswered":[{"q":"qqq","searches":2,"no_results":1,"weak":1,"clicked":0}],` +
		`"positions":[{"position":1,"clicks":1},{"position":3,"clicks":2},{"position":10,"clicks":1}]}`
	early := asked()
	slices.SortStableFunc(early, func(a, b Event) int { // all clicks before all searches
		return map[Kind]int{Click: 0, Search: 1}[a.Kind] - map[Kind]int{Click: 0, Search: 1}[b.Kind]
	})
	for name, events := range map[string][]Event{"in order": asked(), "clicks first": early, "twice": append(asked(), asked()...)} {
		tally := NewTally()
		for _, e := range events {
			tally.Add(e)
		}
		got, err := json.Marshal(tally.Report(2))
		if err != nil || string(got) != want {
			t.Errorf("%s: report\n%s\nwant\n%s", name, got, want)
		}
		if got, want := fmt.Sprint(tally.Judgments(1)), "[{Pan cakes map[a:1 b:2 c:1]}]"; got != want {
			t.Errorf("%s: judgments %s, want %s", name, got, want)
		}
		if got, want := fmt.Sprint(tally.Judgments(2)), "[{Pan cakes map[b:2]}]"; got != want {
			t.Errorf("%s: judgments of two searches %s, want %s", name, got, want)
		}
	}
}

func FuzzReadSegment(f *testing.F) {
	line, err := appendLine(nil, &Event{Kind: Search, SearchID: "1", Query: "pan\n"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("xx"), line)
	f.Fuzz(func(t *testing.T, before, after []byte) {
		path := filepath.Join(t.TempDir(), "2030-01-31.0001.log")
		if err := os.WriteFile(path, slices.Concat(before, []byte("\n"), line, after), 0o600); err != nil {
			t.Fatal(err)
		}
		found := false
		if _, err := readSegment(t.Context(), path, func(e Event) error { found = found || e.Query == "pan\n"; return nil }); err != nil || !found {
			t.Errorf("a good line among others is not found: %v", err)
		}
	})
}
