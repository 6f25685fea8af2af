package filter

import "testing"

func TestWithID(t *testing.T) {
	plain := map[string]any{DocumentID: "7", "year": 2020.0}
	own := map[string]any{DocumentID: "7", "id": []any{"x", 8.0}, "_id": Present{}}
	for _, tc := range []struct {
		filter     string
		plain, own bool
	}{
		{"id = '7'", true, false},
		{"id = 7", true, false},
		{"id = 7.5", false, false},
		{"id != '7'", false, true},
		{"id IN ['6', 7] AND year = 2020", true, false},
		{"id NOT IN ['6', '7']", false, true},
		{"NOT id = '7' OR id = 'y'", false, true},
		{"id = 8", false, true},
		{"id IN ['x', 'y']", false, true},
		{"_id = '7'", true, false},
		{"id > '9'", false, true}, // the field alone
		{"id EXISTS", false, true},
		{"id = true", false, false},
		{"year = 2020", true, false},
	} {
		e := WithID(mustParse(t, tc.filter))
		if a, b := e.Match(plain), e.Match(own); a != tc.plain || b != tc.own {
			t.Errorf("%s: %t, %t, want %t, %t", tc.filter, a, b, tc.plain, tc.own)
		}
		if again := WithID(mustParse(t, e.String())); again.Match(plain) != tc.plain || again.Match(own) != tc.own {
			t.Errorf("%s is written as %s, which is something else", tc.filter, e)
		}
	}
	for text, want := range map[string]string{"id = 18446744073709551615": "18446744073709551615", "id = 1e15": "1000000000000000", "id = '2024-05-01'": "2024-05-01"} {
		if got := WithID(mustParse(t, text)).(OfID).IDs; len(got) != 1 || got[0] != want {
			t.Errorf("%s asks for %q, want %q", text, got, want)
		}
	}
	if names := Fields(WithID(mustParse(t, "id = 'a' AND (year = 1 OR id > 'b')"))); len(names) != 2 || names[0] != "year" || names[1] != "id" {
		t.Errorf("fields %q", names)
	}
}
