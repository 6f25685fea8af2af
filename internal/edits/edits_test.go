package edits

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"recieve", "receive", 1}, {"acount", "account", 1}, {"calender", "calendar", 1}, {"goverment", "government", 1},
		{"ca", "abc", 3}, // no character is edited twice
		{"Bäume", "Baume", 1}, {"日本", "本日", 1},
	} {
		if got := Between(c.a, c.b); got != c.want {
			t.Errorf("Between(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestBare(t *testing.T) {
	for word, want := range map[string]string{
		"": "", "plain": "plain", "Zürich": "Zurich", "Zu\u0308rich": "Zurich", "ngữ": "ngu", "самолёт": "самолет", "Straße": "Straße", "हिन्दी": "हिन्दी", "한국어": "한국어", "が": "が",
	} {
		if got := Bare(word); got != want {
			t.Errorf("Bare(%q) = %q, want %q", word, got, want)
		}
	}
}

// slow is Between by its definition.
func slow(x, y []rune) int {
	switch {
	case len(x) == 0 || len(y) == 0:
		return len(x) + len(y)
	}
	i, j := len(x)-1, len(y)-1
	exchanged := slow(x[:i], y[:j])
	if x[i] != y[j] {
		exchanged++
	}
	best := min(exchanged, slow(x[:i], y)+1, slow(x, y[:j])+1)
	if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
		best = min(best, slow(x[:i-1], y[:j-1])+1)
	}
	return best
}

func TestBetweenTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		w := make([]rune, r.IntN(6))
		for i := range w {
			w[i] = 'a' + rune(r.IntN(3))
		}
		return string(w)
	}
	for range 2000 {
		a, b := word(), word()
		if got, want := Between(a, b), slow([]rune(a), []rune(b)); got != want || Between(b, a) != got {
			t.Fatalf("Between(%q, %q) = %d, %d backwards, want %d", a, b, got, Between(b, a), want)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, known, want string }{
		{"stauts", "lang status year", "status"}, {"Year", "lang year", "year"}, {"yaer", "lang Year", "Year"},
		{"lang_code", "lang year", "lang"}, {"unit", "lang unit_price", "unit_price"}, {"unitprice", "unit_price", "unit_price"},
		{"year", "year", ""}, {"x", "year lang", ""}, {"y", "year", ""}, {strings.Repeat("y", 65), strings.Repeat("y", 66), ""},
	} {
		if got := Nearest(c.name, strings.Fields(c.known)); got != c.want {
			t.Errorf("Nearest(%q, %s) = %q, want %q", c.name, c.known, got, c.want)
		}
	}
}
