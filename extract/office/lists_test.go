package office

import "testing"

func TestListNumber(t *testing.T) {
	for n, want := range map[int]string{1: "A", 26: "Z", 27: "AA", 105: "105", 0: "0"} {
		if got := listNumber("upperLetter", n); got != want {
			t.Errorf("letter %d = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{4: "iv", 1994: "mcmxciv", 4000: "4000"} {
		if got := listNumber("lowerRoman", n); got != want {
			t.Errorf("number %d = %q, want %q", n, got, want)
		}
	}
}
