package keyword

import (
	"fmt"
	"strings"
	"testing"
)

// TestUsualForms checks what a text gives and where, where the spelling of its terms is not its own.
func TestUsualForms(t *testing.T) {
	for _, tt := range []struct {
		name, language, text string
		want                 string // term[matched text]
	}{
		{"shrinking capital", "tr", "İstanbul'da İzmir", "istanbul[İstanbul'da] izmir[İzmir]"},
		{"sharp s", "de", "GROẞmutter Großmutter", "grossmutt[GROẞmutter] grossmutt[Großmutter]"},
		{"joiners", "fa", "می‌خواهم کتاب‌ها", "خواهم[خواهم] كتاب[کتاب]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAnalyzer(tt.language)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tok := range (&Index{analyzer: a}).Analyze(tt.text) {
				got = append(got, fmt.Sprintf("%s[%s]", tok.Term, tt.text[tok.Start:tok.End]))
			}
			if got, want := strings.Join(got, " "), tt.want; got != want {
				t.Errorf("Analyze(%q) mismatch (-want +got)\n-%s\n+%s", tt.text, want, got)
			}
		})
	}
}
