package inference

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search/fault"
)

func TestCheckRequest(t *testing.T) {
	words := func(n int) string { return strings.Repeat("word ", n) }
	for name, tt := range map[string]struct {
		texts       []string
		extra, most int
		want        string // in the error; empty: none
		counted     int    // calls of count
	}{
		"nothing":                      {nil, 0, 256, "", 0},
		"short texts are not counted":  {slices.Repeat([]string{"a b"}, 60_000), 0, 256, "", 0},
		"long texts are cut":           {slices.Repeat([]string{words(1000)}, 1171), 0, 256, "", 0},
		"one cut text more":            {slices.Repeat([]string{words(1000)}, 1172), 0, 256, "300032 tokens in the first 1172 of 1172 texts, allowed: at most 300000 tokens", 1172},
		"counting ends early":          {slices.Repeat([]string{words(1000)}, 16384), 0, 256, "300032 tokens in the first 1172 of 16384 texts", 1172},
		"bytes say more than tokens":   {slices.Repeat([]string{words(100)}, 2941), 0, 0, "", 2941},
		"tokens with the special ones": {slices.Repeat([]string{words(100)}, 2942), 0, 0, "300084 tokens", 2942},
		"a query beside each text":     {slices.Repeat([]string{"a"}, 10_000), 100, 512, "tokens in the first", 0},
		"one text of any length":       {[]string{words(400_000)}, 0, 0, "", 1},
	} {
		counted := 0
		err := checkRequest(t.Context(), tt.texts, tt.extra, tt.most, func(text string) int { counted++; return len(strings.Fields(text)) })
		var fe *fault.FieldError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (!errors.As(err, &fe) || fe.Field != "inputs" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if tt.counted > 0 && counted != tt.counted {
			t.Errorf("%s: %d texts were counted, want %d", name, counted, tt.counted)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkRequest(gone, slices.Repeat([]string{words(1000)}, 16384), 0, 256, func(string) int { return 1 }); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: %v", err)
	}
}
