package tokenizer

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSides(t *testing.T) {
	raw, err := os.ReadFile("testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	stored := func(direction string) []byte {
		field := fmt.Appendf(nil, `"truncation": {"max_length":7,"stride":0,"strategy":"LongestFirst"%s}`, direction)
		return bytes.Replace(raw, []byte(`"truncation": null`), field, 1)
	}
	left := stored(`,"direction":"Left"`)
	long := strings.Repeat("the cat sat on a mat, ", 90) + "the end"
	for _, c := range []struct {
		name string
		file []byte
		side Side
		left bool
	}{
		{"nothing said", raw, SideOfFile, false},
		{"none in the file", stored(""), SideOfFile, false},
		{"right in the file", stored(`,"direction":"Right"`), SideOfFile, false},
		{"left in the file", left, SideOfFile, true},
		{"left over nothing", raw, Left, true},
		{"right over left", left, Right, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := New(c.file, Options{Truncate: c.side})
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []Side{SideOfFile, Right, Left} {
				other, err := New(c.file, Options{Truncate: cmp.Or(side, c.side)})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := tok.EncodeSide(long, 17, side), other.Encode(long, 17); !slices.Equal(got.IDs, want.IDs) || !got.Truncated {
					t.Errorf("EncodeSide(%d): %v, want %v", side, got.IDs, want.IDs)
				}
			}
			for _, text := range []string{"", "the", "the cat", long} {
				all := tok.EncodeBare(text)
				for _, limit := range []int{0, 1, 2, 3, 4, 5, 17, 64, 2000} {
					got := tok.Encode(text, limit)
					n := len(all.IDs)
					if limit > 0 {
						n = min(n, max(0, limit-2))
					}
					ids, spans := all.IDs[:n], all.Spans[:n]
					if c.left {
						ids, spans = all.IDs[len(all.IDs)-n:], all.Spans[len(all.IDs)-n:]
					}
					inner := got.IDs[min(1, len(got.IDs)):max(min(1, len(got.IDs)), len(got.IDs)-1)]
					if !slices.Equal(inner, ids) || n > 0 && !slices.Equal(got.Spans[1:n+1], spans) || got.Truncated != (limit > 0 && limit-2 < len(all.IDs)) {
						t.Errorf("Encode(%.20q, %d): ids %v, spans %v, truncated %v, want %v, %v", text, limit, inner, got.Spans, got.Truncated, ids, spans)
					}
				}
			}
			whole, pair := tok.EncodeBare(long).IDs, tok.EncodePair("the cat", long, 20)
			want := whole[:15]
			if c.left {
				want = whole[len(whole)-15:]
			}
			if got := pair.IDs[4 : len(pair.IDs)-1]; !slices.Equal(got, want) || !pair.Truncated {
				t.Errorf("EncodePair: second text %v, want %v", got, want)
			}
		})
	}
	if _, err := New(stored(`,"direction":"Up"`), Options{}); err == nil || !strings.Contains(err.Error(), `truncation.direction "Up"`) {
		t.Errorf("direction Up: %v", err)
	}
}

func TestBertSettings(t *testing.T) {
	const file = `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":%s,"lowercase":%s},
		"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"u","vocab":{"u":0,"É":1,"é":2,"E":3,"e":4,"中":5,"中é":6}}}`
	yes, no := true, false
	for _, c := range []struct {
		accents, lower string // of the file
		settings       *BertSettings
		want           []int32 // of É 中é
		replaced       bool
	}{
		{"null", "true", nil, []int32{4, 5, 4}, false},
		{"null", "true", &BertSettings{LowerCase: true, ChineseChars: true}, []int32{4, 5, 4}, false},
		{"true", "true", &BertSettings{LowerCase: true, ChineseChars: true}, []int32{4, 5, 4}, false},
		{"null", "true", &BertSettings{ChineseChars: true}, []int32{1, 5, 2}, true},
		{"null", "false", &BertSettings{LowerCase: true, ChineseChars: true}, []int32{4, 5, 4}, true},
		{"false", "true", &BertSettings{LowerCase: true, StripAccents: &yes, ChineseChars: true}, []int32{4, 5, 4}, true},
		{"null", "true", &BertSettings{LowerCase: true, StripAccents: &no}, []int32{2, 6}, true},
		{"null", "false", &BertSettings{StripAccents: &yes, ChineseChars: true}, []int32{3, 5, 4}, true},
	} {
		tok, err := New(fmt.Appendf(nil, file, c.accents, c.lower), Options{Bert: c.settings})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.EncodeBare("É 中é").IDs; !slices.Equal(got, c.want) || (tok.Replaced() != "") != c.replaced {
			t.Errorf("strip_accents %s, lowercase %s, settings %+v: ids %v, replaced %q, want %v, %v", c.accents, c.lower, c.settings, got, tok.Replaced(), c.want, c.replaced)
		}
	}
	tok := load(t, "testdata/unigram.json", Options{Bert: &BertSettings{LowerCase: true}})
	if want := load(t, "testdata/unigram.json", Options{}).EncodeBare("The É").IDs; tok.Replaced() != "" || !slices.Equal(tok.EncodeBare("The É").IDs, want) {
		t.Error("a normalizer of another kind was replaced")
	}
}

func TestPrefixSpace(t *testing.T) {
	const file = `{"model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2},"merges":[]},"pre_tokenizer":%s}`
	const level = `{"type":"ByteLevel","add_prefix_space":%t,"trim_offsets":true}`
	yes, no := true, false
	for _, c := range []struct {
		cut      string
		prefix   *bool
		want     []int32
		replaced string
	}{
		{fmt.Sprintf(level, false), nil, []int32{0, 2, 1}, ""},
		{fmt.Sprintf(level, false), &no, []int32{0, 2, 1}, ""},
		{fmt.Sprintf(level, false), &yes, []int32{2, 0, 2, 1}, " prefix=true"},
		{fmt.Sprintf(level, true), &no, []int32{0, 2, 1}, " prefix=false"},
		{fmt.Sprintf(`{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},`+level+`]}`, false), &yes, []int32{0, 2, 1}, ""},
	} {
		tok, err := New(fmt.Appendf(nil, file, c.cut), Options{PrefixSpace: c.prefix})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.EncodeBare("a b").IDs; !slices.Equal(got, c.want) || tok.Replaced() != c.replaced {
			t.Errorf("%s: ids %v, replaced %q, want %v, %q", c.cut, got, tok.Replaced(), c.want, c.replaced)
		}
	}
}

func TestWrap(t *testing.T) {
	const file = `{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1,"b":2,"<s>":3,"</s>":4}},
		"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":%s}`
	const both = `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
		"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<s>","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],
		"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}}`
	for _, c := range []struct {
		processor, begin, end string
		single, pair          []int32 // of a, and of a and b
		replaced              string
	}{
		{"null", "", "", []int32{1}, []int32{1, 2}, ""},
		{"null", "", "</s>", []int32{1, 4}, []int32{1, 4, 2, 4}, " end=4"},
		{"null", "<s>", "</s>", []int32{3, 1, 4}, []int32{3, 1, 4, 3, 2, 4}, " begin=3 end=4"},
		{both, "<s>", "", []int32{3, 1}, []int32{3, 1, 3, 2}, ""},
		{both, "<s>", "</s>", []int32{3, 1, 4}, []int32{3, 1, 4, 3, 2, 4}, " end=4"},
	} {
		tok, err := New(fmt.Appendf(nil, file, c.processor), Options{Begin: c.begin, End: c.end})
		if err != nil {
			t.Fatal(err)
		}
		single, pair := tok.Encode("a", 0).IDs, tok.EncodePair("a", "b", 0).IDs
		if !slices.Equal(single, c.single) || !slices.Equal(pair, c.pair) || tok.Replaced() != c.replaced {
			t.Errorf("%.30s, %q, %q: %v and %v, replaced %q, want %v and %v, %q", c.processor, c.begin, c.end, single, pair, tok.Replaced(), c.single, c.pair, c.replaced)
		}
		if got := tok.Encode("a a a a a a", len(c.single)+1).IDs; len(got) != len(c.single)+1 || got[len(got)-1] != c.single[len(c.single)-1] {
			t.Errorf("%q, %q: cut to %v", c.begin, c.end, got)
		}
	}
	const around = `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
		"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"SpecialToken":{"id":"<s>","type_id":1}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],
		"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[4],"tokens":["</s>"]}}}`
	for _, c := range []struct {
		processor    string
		o            Options
		single, pair []int32 // of a, and of a and b
		replaced     string
	}{
		{around, Options{}, []int32{3, 1, 4}, []int32{3, 1, 4, 3, 2, 4}, ""},
		{around, Options{NotBegin: "<s>"}, []int32{1, 4}, []int32{1, 4, 2, 4}, " not begin=3"},
		{around, Options{NotEnd: "</s>"}, []int32{3, 1}, []int32{3, 1, 3, 2}, " not end=4"},
		{around, Options{NotBegin: "<s>", NotEnd: "</s>"}, []int32{1}, []int32{1, 2}, " not begin=3 not end=4"},
		{around, Options{NotBegin: "</s>", NotEnd: "<s>"}, []int32{3, 1, 4}, []int32{3, 1, 4, 3, 2, 4}, ""}, // they are there, but not on that side
		{around, Options{NotBegin: "<bos>", NotEnd: "<eos>"}, []int32{3, 1, 4}, []int32{3, 1, 4, 3, 2, 4}, ""},
		{both, Options{NotBegin: "<s>", End: "</s>"}, []int32{1, 4}, []int32{1, 4, 2, 4}, " not begin=3 end=4"},
		{`{"type":"RobertaProcessing","sep":["</s>",4],"cls":["<s>",3]}`, Options{NotEnd: "</s>"}, []int32{3, 1}, []int32{3, 1, 2}, " not end=4"},
		{"null", Options{NotBegin: "<s>", NotEnd: "</s>"}, []int32{1}, []int32{1, 2}, ""},
	} {
		tok, err := New(fmt.Appendf(nil, file, c.processor), c.o)
		if err != nil {
			t.Fatal(err)
		}
		single, pair := tok.Encode("a", 0).IDs, tok.EncodePair("a", "b", 0).IDs
		if !slices.Equal(single, c.single) || !slices.Equal(pair, c.pair) || tok.Replaced() != c.replaced {
			t.Errorf("%.30s, %+v: %v and %v, replaced %q, want %v and %v, %q", c.processor, c.o, single, pair, tok.Replaced(), c.single, c.pair, c.replaced)
		}
	}
	if _, err := New(fmt.Appendf(nil, file, "null"), Options{End: "<eos>"}); err == nil || !strings.Contains(err.Error(), `"<eos>" is not in the vocabulary`) {
		t.Errorf("a token that is not there: %v", err)
	}
}
