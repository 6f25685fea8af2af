package passage

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestCheckBlocks(t *testing.T) {
	const text = "# Títle\n\na | b\n1 | 2\n\nx := 1\n"
	good := []Block{
		{Kind: Heading, Level: 1, Start: 0, End: 8}, {Kind: Table, Start: 10, End: 21, Head: 15}, {Kind: Code, Start: 23, End: 29, Language: "go", Page: 2},
	}
	if err := Check(text, good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(b []Block){
		"block 1: start is 7, allowed: at least 8":         func(b []Block) { b[1].Start = 7 },
		"block 2: end is 99, allowed: more than start, 23": func(b []Block) { b[2].End = 99 },
		"block 2: end is 23":                               func(b []Block) { b[2].End = 23 },
		"block 0: start is 4, allowed: a byte at which":    func(b []Block) { b[0].Start = 4 },
		"block 0: level is 7, allowed: 1 to 6":             func(b []Block) { b[0].Level = 7 },
		"block 0: level is 0, allowed: 1 to 6":             func(b []Block) { b[0].Level = 0 },
		"block 2: level is 1, allowed: 0 to 0":             func(b []Block) { b[2].Level = 1 },
		"block 1: head is 10":                              func(b []Block) { b[1].Head = 10 },
		"block 2: head is 25, allowed: 0 except":           func(b []Block) { b[2].Head = 25 },
		"block 1: language is go":                          func(b []Block) { b[1].Language = "go" },
		"block 2: language is a\nb":                        func(b []Block) { b[2].Language = "a\nb" },
		"block 2: page is -1":                              func(b []Block) { b[2].Page = -1 },
		"block 0: kind is Kind(9)":                         func(b []Block) { b[0].Kind = 9 },
	} {
		b := append([]Block(nil), good...)
		change(b)
		var wrong *BlockError
		if err := Check(text, b); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Check = %v, want %s", err, want)
		}
	}
	if err := Check(text, make([]Block, MaxBlocks+1)); err == nil || !strings.Contains(err.Error(), "at most 262144 blocks") {
		t.Errorf("Check of too many = %v", err)
	}
	fields := map[string][]Block{"text": good, "body": good[:1], "none": {}}
	encoded := Encode(nil, fields)
	delete(fields, "none")
	if got, err := Decode(encoded); err != nil || !reflect.DeepEqual(got, fields) || len(encoded) > 60 {
		t.Errorf("Decode of %d bytes = %v, %v, want %v", len(encoded), got, err, fields)
	}
	var again []Block
	if b, err := json.Marshal(good); err != nil || json.Unmarshal(b, &again) != nil || !reflect.DeepEqual(again, good) || !strings.Contains(string(b), `{"kind":"heading","level":1,"start":0,"end":8}`) {
		t.Errorf("JSON is %s, %v", b, err)
	}
	if err := json.Unmarshal([]byte(`[{"kind":"poem"}]`), &again); err == nil || !strings.Contains(err.Error(), `got "poem", allowed: paragraph`) {
		t.Errorf("an unknown kind: %v", err)
	}
}

func FuzzDecodeBlocks(f *testing.F) {
	f.Add(Encode(nil, map[string][]Block{"text": {{Kind: Heading, Level: 1, End: 8}, {Kind: Table, Start: 10, End: 21, Head: 15}, {Kind: Code, Start: 23, End: 29, Language: "go", Page: 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode(b)
		if err != nil {
			return
		}
		if again, err := Decode(Encode(nil, got)); err != nil || len(again) > len(got) {
			t.Errorf("Decode of what was decoded = %v, %v, want %v", again, err, got)
		}
	})
}
