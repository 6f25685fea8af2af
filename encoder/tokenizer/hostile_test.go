package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const tinyWordPiece = `{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"a":1,"##b":2,"[CLS]":3,"[SEP]":4}}`

func TestNewRefuses(t *testing.T) {
	with := func(rest string) string { return `{"model":` + tinyWordPiece + `,` + rest + `}` }
	model := func(m string) string { return `{"model":` + m + `}` }
	deep := func(open, close string, n int) string { return strings.Repeat(open, n) + strings.Repeat(close, n) }
	list := func(n int, what string) string { return strings.Repeat(what+",", n-1) + what }
	seq := func(key, list string) string {
		return with(`"` + key + `":` + deep(`{"type":"Sequence","`+list+`":[`, `]}`, 17))
	}
	cases := map[string]struct {
		file string
		want []string // parts of the error
	}{
		"empty":                   {"", []string{"unexpected end"}},
		"not JSON":                {"{]", []string{"want '\"'"}},
		"text after":              {with(`"x":1`) + "{}", []string{"after the end"}},
		"no model":                {`{}`, []string{"model is missing"}},
		"key twice":               {`{"model":null,"model":null}`, []string{"model"}},
		"deep JSON":               {`{"x":` + deep("[", "]", 100) + `}`, []string{"nesting deeper than 64"}},
		"lone surrogate":          {model(`{"type":"WordLevel","unk_token":"\ud800","vocab":{"\ud800":0}}`), []string{"surrogate"}},
		"invalid UTF-8":           {model("{\"vocab\":{\"\xff\":0}}"), []string{"UTF-8"}},
		"unknown model":           {model(`{"type":"Magic","vocab":{"a":0}}`), []string{`"Magic"`, "WordPiece, BPE"}},
		"empty vocab":             {model(`{"type":"WordPiece","vocab":{}}`), []string{"vocab is empty"}},
		"negative id":             {model(`{"type":"WordPiece","vocab":{"a":-1}}`), []string{`"a"`, "-1", "0 to"}},
		"id 2^31":                 {model(`{"type":"WordPiece","vocab":{"a":2147483648}}`), []string{"2147483648", "0 to"}},
		"id 1e3":                  {model(`{"type":"WordPiece","vocab":{"a":1e3}}`), []string{"1e3", "integer"}},
		"sparse ids":              {model(`{"type":"WordPiece","unk_token":"a","vocab":{"a":0,"b":2000000000}}`), []string{"2000000000", "up to"}},
		"id twice":                {model(`{"type":"WordPiece","unk_token":"a","vocab":{"a":0,"b":0}}`), []string{"id 0", "one token per id"}},
		"token twice":             {model(`{"type":"WordPiece","unk_token":"a","vocab":{"a":0,"a":1}}`), []string{`"a" given twice`}},
		"long token":              {model(`{"type":"WordPiece","vocab":{"` + strings.Repeat("a", 1025) + `":0}}`), []string{"1025 bytes", "1024"}},
		"no unk":                  {model(`{"type":"WordPiece","unk_token":"[UNK]","vocab":{"a":0}}`), []string{"unk_token", `"[UNK]"`}},
		"no unk in WordLevel":     {model(`{"type":"WordLevel","unk_token":"u","vocab":{"a":0}}`), []string{"unk_token", `"u"`}},
		"no unk in BPE":           {model(`{"type":"BPE","unk_token":"u","vocab":{"a":0},"merges":[]}`), []string{"unk_token", `"u"`}},
		"no unk in Unigram":       {model(`{"type":"Unigram","vocab":[["a",0]]}`), []string{"unk_id is missing"}},
		"unk_id too large":        {model(`{"type":"Unigram","unk_id":1,"vocab":[["a",0]]}`), []string{"unk_id 1", "0 to 0"}},
		"Unigram twice":           {model(`{"type":"Unigram","unk_id":0,"vocab":[["a",0],["a",1]]}`), []string{"given twice"}},
		"Unigram of an object":    {model(`{"type":"Unigram","unk_id":0,"vocab":{"a":0}}`), []string{"list of [token, score]"}},
		"score of text":           {model(`{"type":"Unigram","unk_id":0,"vocab":[["a","b"]]}`), []string{"entry 0", "number"}},
		"merge of unknown":        {model(`{"type":"BPE","vocab":{"a":0},"merges":["a b"]}`), []string{"merges[0]", `"b"`}},
		"merge into unknown":      {model(`{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}`), []string{"merges[0]", `"ab"`}},
		"merge of three":          {model(`{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}`), []string{"entry 0", "one blank"}},
		"dropout":                 {model(`{"type":"BPE","dropout":2,"vocab":{"a":0},"merges":[]}`), []string{"dropout 2", "0 to 1"}},
		"max chars":               {model(`{"type":"WordPiece","max_input_chars_per_word":-1,"vocab":{"[UNK]":0}}`), []string{"max_input_chars_per_word -1"}},
		"added id":                {with(`"added_tokens":[{"id":9,"content":"x"}]`), []string{"added_tokens[0]", "id 9", "want 5"}},
		"added id of the vocab":   {with(`"added_tokens":[{"id":1,"content":"[CLS]"}]`), []string{"id 1", "want 3"}},
		"added empty":             {with(`"added_tokens":[{"id":5,"content":""}]`), []string{"content of 0 bytes"}},
		"CLS missing":             {with(`"post_processor":{"type":"BertProcessing","sep":["[SEP]",4],"cls":["[C]",3]}`), []string{"id 3", `"[C]"`}},
		"template token missing":  {with(`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":null,"special_tokens":{}}`), []string{`"[CLS]"`, "special_tokens"}},
		"template without A":      {with(`"post_processor":{"type":"TemplateProcessing","single":[],"special_tokens":{}}`), []string{"single", "A is missing"}},
		"template wrong id":       {with(`"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"special_tokens":{"x":{"id":"x","ids":[77],"tokens":["x"]}}}`), []string{"id 77"}},
		"stride":                  {with(`"truncation":{"max_length":4,"stride":4}`), []string{"stride 4", "0 to 3"}},
		"length 0":                {with(`"truncation":{"max_length":0,"stride":0}`), []string{"max_length"}},
		"strip start":             {with(`"decoder":{"type":"Strip","content":" ","start":-1,"stop":0}`), []string{"start -1"}},
		"charsmap not base64":     {with(`"normalizer":{"type":"Precompiled","precompiled_charsmap":"?"}`), []string{"precompiled_charsmap"}},
		"charsmap short":          {with(`"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAA="}`), []string{"2 bytes"}},
		"charsmap size":           {with(`"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////wAAAAA="}`), []string{"4294967295", "want"}},
		"look-behind":             {with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?<=a)b"},"behavior":"Isolated","invert":false}`), []string{"(?<=a)b", "look-around"}},
		"look-ahead inside":       {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"a(?!b)"},"content":""}`), []string{"a(?!b)"}},
		"word boundary":           {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"\\bé"},"content":""}`), []string{`\b is not supported`}},
		"class of POSIX":          {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"[[:alpha:]]"},"content":""}`), []string{"is not supported"}},
		"classes in a class":      {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"[a[b-d]e]"},"content":""}`), []string{"is not supported"}},
		"meeting of classes":      {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"[a-z&&\\w]"},"content":""}`), []string{"is not supported"}},
		"growth by content":       {with(`"normalizer":{"type":"Sequence","normalizers":[` + list(2, `{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("a", 17)+`"}`) + `]}`), []string{"more than 256 bytes of one"}},
		"growth by a pattern":     {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"a"},"content":"` + strings.Repeat("a", 257) + `"}`), []string{"more than 256 bytes of one"}},
		"growth by bytes":         {with(`"normalizer":{"type":"Sequence","normalizers":[` + list(9, `{"type":"ByteLevel"}`) + `]}`), []string{"more than 256 bytes of one"}},
		"growth by cuts":          {with(`"pre_tokenizer":{"type":"Sequence","pretokenizers":[` + list(9, `{"type":"ByteLevel"}`) + `]}`), []string{"more than 256 bytes of one"}},
		"growth by decoders":      {with(`"decoder":{"type":"Sequence","decoders":[` + list(2, `{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("a", 17)+`"}`) + `]}`), []string{"decoder", "more than 256 bytes of one"}},
		"growth by a suffix":      {with(`"decoder":{"type":"BPEDecoder","suffix":""}`), []string{"decoder", "suffix is empty"}},
		"decoders":                {with(`"decoder":{"type":"Sequence","decoders":[` + list(65, `{"type":"Fuse"}`) + `]}`), []string{"decoder", "at least 65 steps"}},
		"steps":                   {with(`"normalizer":{"type":"Sequence","normalizers":[` + list(65, `{"type":"Lowercase"}`) + `]}`), []string{"65 steps", "at most 64"}},
		"repeat size":             {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"((a{500}){500}){500}"},"content":""}`), []string{"a{500}"}},
		"long regex":              {with(`"normalizer":{"type":"Replace","pattern":{"Regex":"` + strings.Repeat("a", 1025) + `"},"content":""}`), []string{"1025 bytes", "1024"}},
		"behaviour":               {with(`"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Explode","invert":false}`), []string{`"Explode"`, "Isolated"}},
		"metaspace contradiction": {with(`"pre_tokenizer":{"type":"Metaspace","replacement":"_","add_prefix_space":false,"prepend_scheme":"first"}`), []string{"prepend_scheme"}},
		"metaspace two letters":   {with(`"pre_tokenizer":{"type":"Metaspace","replacement":"__"}`), []string{`"__"`, "one character"}},
		"unknown normalizer":      {with(`"normalizer":{"type":"Rot13"}`), []string{"normalizer", `"Rot13"`, "NFKC"}},
		"unknown pre-tokenizer":   {with(`"pre_tokenizer":{"type":"Rot13"}`), []string{"pre_tokenizer", `"Rot13"`, "Metaspace"}},
		"unknown post-processor":  {with(`"post_processor":{"type":"Rot13"}`), []string{"post_processor", `"Rot13"`}},
		"unknown decoder":         {with(`"decoder":{"type":"Rot13"}`), []string{"decoder", `"Rot13"`}},
		"unknown inside Sequence": {with(`"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Rot13"}]}`), []string{"normalizers[1]", `"Rot13"`}},
		"deep normalizer":         {seq("normalizer", "normalizers"), []string{"deeper than 16"}},
		"deep pre-tokenizer":      {seq("pre_tokenizer", "pretokenizers"), []string{"deeper than 16"}},
		"deep post-processor":     {seq("post_processor", "processors"), []string{"deeper than 16"}},
		"deep decoder":            {seq("decoder", "decoders"), []string{"deeper than 16"}},
		"wrong JSON type":         {with(`"normalizer":{"type":"BertNormalizer","lowercase":"yes"}`), []string{"BertNormalizer", "lowercase"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := New([]byte(c.file), Options{})
			if err == nil {
				t.Fatal("New accepted it")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
	if _, err := New(make([]byte, maxFile+1), Options{}); err == nil || !strings.Contains(err.Error(), "allowed up to") {
		t.Errorf("file of 64 MiB and a byte: %v", err)
	}
	for what, m := range map[string]string{
		"merges":  `{"type":"BPE","vocab":{"a":0,"aa":1},"merges":[` + list(maxEntries+1, `"a a"`) + `]}`,
		"entries": `{"type":"Unigram","unk_id":0,"vocab":[` + list(maxEntries+1, `["a",0]`) + `]}`,
	} {
		if _, err := New([]byte(model(m)), Options{}); err == nil || !strings.Contains(err.Error(), "more than 2097152 "+what) {
			t.Errorf("too many %s: %v", what, err)
		}
	}
	for _, member := range []string{`"x":1`, `"padding":{"strategy":"BatchLongest","pad_id":9,"pad_token":"[PAD]"}`} { // nothing is padded
		if _, err := New([]byte(with(member)), Options{}); err != nil {
			t.Errorf("the file that all are made from, with %s: %v", member, err)
		}
	}
}

// TestLinearTime requires that sixteen times the text takes nowhere near 256 times as long. What a
// busy machine does to one measurement it does not do to twenty in a row.
func TestLinearTime(t *testing.T) {
	texts := map[string]func(n int) string{
		"word":       func(n int) string { return strings.Repeat("a", n) },
		"mixed word": func(n int) string { return strings.Repeat("abcdefghijk", n/11) },
		"marks":      func(n int) string { return "a" + strings.Repeat("\u0301\u0323", n/4) },
		"odd marks":  func(n int) string { return "a" + strings.Repeat("\U0001D165\u0323", n/6) },
		"ideographs": func(n int) string { return strings.Repeat("中", n/3) },
		"blanks":     func(n int) string { return strings.Repeat(" ", n) },
		"lines":      func(n int) string { return strings.Repeat(" \n", n/2) },
		"NUL":        func(n int) string { return strings.Repeat("\x00", n) },
		"not UTF-8":  func(n int) string { return strings.Repeat("\xf0\x9f\xff", n/3) },
		"bidi":       func(n int) string { return strings.Repeat("\u202ea", n/4) },
		"brackets":   func(n int) string { return strings.Repeat("[CLS", n/4) },
		"sigma":      func(n int) string { return strings.Repeat("Σ'", n/3) },
	}
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		tok := load(t, "testdata/"+kind+".json", Options{LowerCase: kind == "unigram"})
		for name, text := range texts {
			t.Run(kind+"/"+name, func(t *testing.T) {
				small, large := text(16<<10), text(256<<10)
				count := func(s string) time.Duration {
					start := time.Now()
					tok.Count(s)
					return time.Since(start)
				}
				a, b := time.Hour, time.Hour
				for range 20 {
					a, b = min(a, count(small)), min(b, count(large))
					if b < 50*a || b < 400*time.Millisecond {
						return
					}
				}
				t.Errorf("16 KiB take %v, 256 KiB %v", a, b)
			})
		}
	}
}

// TestLongText encodes a word of 1 MB and 10 MB of combining marks, which for the kinds that keep
// them are 2 MB here.
func TestLongText(t *testing.T) {
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		tok := load(t, "testdata/"+kind+".json", Options{})
		marks := map[string]int{"wordpiece": 5_000_000, "bpe": 1_000_000, "unigram": 1_000_000}
		for name, text := range map[string]string{
			"word": strings.Repeat("abcdefghij", 100_000), "marks": "e" + strings.Repeat("\u0301", marks[kind])} {
			start := time.Now()
			e := tok.Encode(text, 64)
			if took := time.Since(start); took > 20*time.Second || len(e.IDs) > 64 {
				t.Errorf("%s/%s: %d ids after %v", kind, name, len(e.IDs), took)
			}
		}
	}
}

func TestOddText(t *testing.T) {
	tok := load(t, "testdata/wordpiece.json", Options{})
	unk, _ := tok.ID("[UNK]")
	for name, c := range map[string]struct{ text, like string }{
		"NUL inside a word":     {"th\x00e", "the"},
		"invalid UTF-8 dropped": {"th\xffe", "the"},
		"bidi override":         {"th\u202ee", "the"},
		"accent":                {"thé", "the"},
		"combining accent":      {"the\u0301", "the"},
		"marks only":            {"\u0301\u0302", ""},
		"white space":           {"the\u00a0\u3000the", "the the"},
	} {
		if got, want := tok.EncodeBare(c.text).IDs, tok.EncodeBare(c.like).IDs; !slices.Equal(got, want) {
			t.Errorf("%s: EncodeBare(%q) = %v, want %v", name, c.text, got, want)
		}
	}
	for n, want := range map[int]bool{100: false, 101: true} {
		e := tok.EncodeBare(strings.Repeat("a", n))
		if got := len(e.IDs) == 1 && e.IDs[0] == unk; got != want {
			t.Errorf("word of %d characters: unknown is %v, want %v", n, got, want)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add([]byte(`{"model":`+tinyWordPiece+`}`), "ab [CLS] x")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"pre_tokenizer":{"type":"ByteLevel"}}`), "abab")
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁a",-1.5]]},"pre_tokenizer":{"type":"Metaspace"}}`), "a b")
	f.Add([]byte(`{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0}},"normalizer":{"type":"Replace","pattern":{"Regex":"a+"},"content":"b"}}`), "aa")
	f.Add([]byte(`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAAAAAAAAAAAYQA="},"model":`+tinyWordPiece+`}`), "é")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := New(file, Options{})
		if err != nil {
			return
		}
		e := tok.Encode(text, 0)
		checkSpans(t, tok, text, e)
		for _, id := range e.IDs {
			if int(id) >= tok.Size() {
				t.Fatalf("id %d of %d", id, tok.Size())
			}
		}
		tok.EncodePair(text, text, 5)
		tok.Decode(e.IDs, false)
	})
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "The cat sat.", "naïve café", "[MASK]ed a[SEP]b", "\x00\xff\u0301", "한국어 中文 日本", "'ſ I'LL  \n x"} {
		f.Add(s, 8)
	}
	var toks []*Tokenizer
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		toks = append(toks, load(f, "testdata/"+kind+".json", Options{}), load(f, "testdata/"+kind+".json", Options{LowerCase: true}))
	}
	f.Fuzz(func(t *testing.T, text string, maxLen int) {
		for i, tok := range toks {
			if err := checkText(tok, text, maxLen); err != nil {
				t.Errorf("tokenizer %d: %v", i, err)
			}
		}
	})
}

// checkText checks what must hold for every text.
func checkText(tok *Tokenizer, text string, maxLen int) error {
	bare, full := tok.EncodeBare(text), tok.Encode(text, 0)
	if n := tok.Count(text); n != len(bare.IDs) {
		return fmt.Errorf("Count(%q) = %d, EncodeBare gives %d ids", text, n, len(bare.IDs))
	}
	if !slices.Equal(full.IDs[1:len(full.IDs)-1], bare.IDs) || full.Truncated {
		return fmt.Errorf("Encode(%q) = %v, EncodeBare %v", text, full.IDs, bare.IDs)
	}
	for i, s := range bare.Spans {
		if s.Start < 0 || s.Start > s.End || s.End > len(text) {
			return fmt.Errorf("EncodeBare(%q): span %d is %v", text, i, s)
		}
		if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
			return fmt.Errorf("EncodeBare(%q): span %v cuts a character", text, s)
		}
	}
	if maxLen %= 64; maxLen < 2 {
		return nil
	}
	cut := tok.Encode(text, maxLen)
	want := full.IDs
	if len(want) > maxLen {
		want = append(slices.Clone(want[:maxLen-1]), want[len(want)-1])
	}
	if !slices.Equal(cut.IDs, want) || cut.Truncated != (len(full.IDs) > maxLen) {
		return fmt.Errorf("Encode(%q, %d) = %v %v, want %v", text, maxLen, cut.IDs, cut.Truncated, want)
	}
	return nil
}
