package models

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/encoder"
)

func TestCard(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Card
		err        string
	}{
		{"absent", "", Card{}, ""},
		{"whole", `{"about":"a","limits":"b","data":"c","license":"MIT","languages":["en","de"],"more":1}`, Card{"a", "b", "c", "MIT", []string{"en", "de"}}, ""},
		{"no JSON", `{`, Card{}, "card.json"},
		{"another type", `{"languages":"en"}`, Card{}, "card.json"},
		{"endless", `{"about":"` + strings.Repeat("x", maxCard) + `"}`, Card{}, "allowed: at most 65536"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			if tc.text != "" {
				fsys[CardFile] = &fstest.MapFile{Data: []byte(tc.text)}
			}
			got, err := readCard(fsys)
			if tc.err == "" && (err != nil || !reflect.DeepEqual(got, tc.want)) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("readCard = %+v, %v, want %+v, %q", got, err, tc.want, tc.err)
			}
		})
	}
	c, err := Open("", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Card.About == "" || c.Card.Limits == "" || c.Card.License == "" || len(c.Card.Languages) != 1 {
		t.Errorf("the embedded checkpoint's card: %+v", c.Card)
	}
}
