package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/querytext"
)

func TestParseQueryText(t *testing.T) {
	for _, tc := range []struct {
		name, q, text    string
		phrases, without []string
	}{
		{"words", "flip  pancakes", "flip  pancakes", nil, nil},
		{"phrase", `how to "flip pancakes" well`, "how to flip pancakes well", []string{"flip pancakes"}, nil},
		{"two phrases", `"a b" "c"`, "a b c", []string{"a b", "c"}, nil},
		{"curly quotes", `“flip pancakes”`, "flip pancakes", []string{"flip pancakes"}, nil},
		{"low quote", `„flip pancakes“`, "flip pancakes", []string{"flip pancakes"}, nil},
		{"full-width", "天気 ＂週間　予報＂　－雨 －＂強い 風＂", "天気 週間 予報", []string{"週間 予報"}, []string{"雨", "強い 風"}},
		{"full-width number", "気温 －４０", "気温 －４０", nil, nil},
		{"beside kana", `今日の"天気予報"は`, "今日の 天気予報 は", []string{"天気予報"}, nil},
		{"beside a long vowel", `サーバー"起動 手順"一覧 ｻｰﾊﾞｰ"停止"`, "サーバー 起動 手順 一覧 ｻｰﾊﾞｰ 停止", []string{"起動 手順", "停止"}, nil},
		{"beside decomposed kana", "か\u3099“天気”か\u3099", "か\u3099 天気 か\u3099", []string{"天気"}, nil},
		{"beside Hangul", `"검색 엔진"은 -"한국 음식"을`, "검색 엔진 은 을", []string{"검색 엔진"}, []string{"한국 음식"}},
		{"beside Thai", `ค้นหา"รถไฟ"ไทย`, "ค้นหา รถไฟ ไทย", []string{"รถไฟ"}, nil},
		{"inches beside kana", `27"モニターと32"モニター`, `27"モニターと32"モニター`, nil, nil},
		{"Latin in Han", `请搜索"machine learning"的论文`, "请搜索 machine learning 的论文", []string{"machine learning"}, nil},
		{"beside Latin", `a"天気"b`, `a"天気"b`, nil, nil},
		{"punctuation around", `("flip pancakes"), please`, "( flip pancakes ), please", []string{"flip pancakes"}, nil},
		{"quote inside", `"27" screen"`, `27 screen"`, []string{"27"}, nil},
		{"exclusion", "jaguar -car", "jaguar", nil, []string{"car"}},
		{"exclusion first", "-car jaguar", "jaguar", nil, []string{"car"}},
		{"excluded phrase", `jaguar -"fast car" cat`, "jaguar cat", nil, []string{"fast car"}},
		{"excluded with hyphen", "x -well-known y", "x y", nil, []string{"well-known"}},
		{"only exclusions", "-car", "", nil, []string{"car"}},
		{"stray quote", `5" disk`, `5" disk`, nil, nil},
		{"unclosed quote", `say "hello world`, `say "hello world`, nil, nil},
		{"quote between letters", `O"Brien" x`, `O"Brien" x`, nil, nil},
		{"empty phrase", `a "" b`, `a "" b`, nil, nil},
		{"phrase of punctuation", `a "!?" b`, `a "!?" b`, nil, nil},
		{"lone minus", "a - b -", "a - b -", nil, nil},
		{"flag", "grep --count x", "grep --count x", nil, nil},
		{"number", "at -40 degrees", "at -40 degrees", nil, nil},
		{"hyphen", "well-known", "well-known", nil, nil},
		{"unclosed excluded phrase", `a -"b c`, `a -"b c`, nil, nil},
		{"other languages' operators", `title:x AND /.*/ OR foo^2 ~ * ( NOT`, `title:x AND /.*/ OR foo^2 ~ * ( NOT`, nil, nil},
		{"not UTF-8", "a \xff -b", "a \uFFFD", nil, []string{"b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := querytext.Parse(tc.q)
			if got.Text != tc.text || !slices.Equal(got.Phrases, tc.phrases) || !slices.Equal(got.Without, tc.without) {
				t.Errorf("ParseQueryText(%q) = %+v, want text %q, phrases %q, without %q", tc.q, got, tc.text, tc.phrases, tc.without)
			}
		})
	}
}

// TestManyOpenQuotes: a query of the greatest length whose quotes nothing closes is read in one
// pass, not in one per quote.
func TestManyOpenQuotes(t *testing.T) {
	for _, part := range []string{` "a`, ` -"a`} {
		q := strings.Repeat(part, search.MaxQueryBytes/len(part))
		var got search.QueryText
		took := time.Hour
		for try := 0; try < 20 && took > 100*time.Millisecond; try++ { // the machine may do something else for a while
			began := time.Now()
			got = querytext.Parse(q)
			took = min(took, time.Since(began))
		}
		if got.Text != q || len(got.Phrases)+len(got.Without) > 0 || took > 100*time.Millisecond {
			t.Errorf("%d times %q: %d phrases and exclusions after %v, want the text as it is within 0.1 s", search.MaxQueryBytes/len(part), part, len(got.Phrases)+len(got.Without), took)
		}
	}
}

func FuzzParseQueryText(f *testing.F) {
	for _, s := range []string{`a "b c" -d`, `-"x`, `""`, "-\xff", `“a„`, " - -- ---a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, q string) {
		got := querytext.Parse(q)
		if len(got.Phrases)+len(got.Without) == 0 && got.Text != q {
			t.Errorf("ParseQueryText(%q).Text = %q, want it unchanged", q, got.Text)
		}
		for _, p := range slices.Concat(got.Phrases, got.Without) {
			if strings.TrimSpace(p) != p || p == "" {
				t.Errorf("ParseQueryText(%q) has the phrase %q", q, p)
			}
		}
	})
}

// TestPhrasesInEveryMode compares each mode with a look at the texts: the same documents without
// those that the phrases and exclusions forbid.
func TestPhrasesInEveryMode(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("zebra piano guitar violin trumpet")
	type text struct{ title, body string }
	texts := map[string]text{}
	var docs []search.Document
	some := func(n int) string {
		var b []string
		for range n {
			b = append(b, words[r.IntN(len(words))])
		}
		return strings.Join(b, " ")
	}
	for i := range 150 { // more than one page of texts to read
		id, x := fmt.Sprintf("d%03d", i), text{some(1 + r.IntN(2)), some(1 + r.IntN(4))}
		texts[id] = x
		docs = append(docs, doc(id, fmt.Sprintf(`{"title":%q,"body":%q,"even":%t}`, x.title, x.body, i%2 == 0)))
	}
	put(t, e, search.Created, docs...)
	has := func(s, phrase string) bool { return strings.Contains(" "+s+" ", " "+phrase+" ") }
	for range 60 {
		var with, without []string
		q := "zebra piano guitar violin trumpet"
		fields := search.Fields(nil)
		for range r.IntN(3) {
			p := some(1 + r.IntN(3))
			with = append(with, p)
			q += ` "` + p + `"`
		}
		for range r.IntN(3) {
			p := some(1 + r.IntN(3))
			without = append(without, p)
			q += ` -"` + p + `"`
		}
		if r.IntN(3) == 0 {
			fields = search.Fields{"body"}
		}
		var want []string
		for id, x := range texts {
			in := func(phrases []string, every bool, in ...string) bool {
				for _, p := range phrases {
					held := slices.ContainsFunc(in, func(s string) bool { return has(s, p) })
					if held != every {
						return !every
					}
				}
				return every
			}
			looked := []string{x.title, x.body}
			if fields != nil {
				looked = looked[1:]
			}
			if in(with, true, looked...) && !in(without, false, x.title, x.body) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
			got := strings.Fields(find(t, e, search.Query{Q: q, Mode: mode, Fields: fields, Limit: ptr(200)}))
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%s %s in %v: found %d documents, want %d\n%v\n%v", mode, q, fields, len(got), len(want), got, want)
			}
		}
	}
}

func TestQueryTextRules(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("shoes", `{"title":"Running shoes","text":"A pair of running shoes for the road."}`),
		doc("apart", `{"title":"Running","text":"Shoes are good when running."}`),
		doc("art", `{"text":"The state of the art."}`),
		doc("snake", `{"text":"Call parse_http_header, not parseHTTPHeader alone."}`),
		doc("list", `{"text":"x","colors":["red car","2024-05-01","blue house"],"parts":[{"of":["tall tree","oak\nleaf"]},{"of":"green bush"}]}`))
	for _, tc := range []struct {
		name, q, want string
		query         search.Query
	}{
		{"stems", `"run shoe"`, "shoes", search.Query{}},
		{"stop word at the end", `"running shoes for the"`, "shoes", search.Query{}},
		{"another stop word", `"running shoes are"`, "", search.Query{}},
		{"excluded with a stop word", `running -"shoes are"`, "shoes", search.Query{}},
		{"not across fields", `"running shoes are good"`, "", search.Query{}},
		{"stop words", `"state of the art"`, "art", search.Query{}},
		{"too near", `"state art"`, "", search.Query{}},
		{"element of a list", `"blue house"`, "list", search.Query{}},
		{"not across elements", `"car blue"`, "", search.Query{}},
		{"not across objects of a list", `"leaf green"`, "", search.Query{}},
		{"lines of an element", `"oak leaf"`, "list", search.Query{}},
		{"not excluded across elements", `tree -"tree oak"`, "list", search.Query{}},
		{"excluded in an element", `tree -"green bush"`, "", search.Query{}},
		{"parts of a name", `"http header"`, "snake", search.Query{}},
		{"name", `"call parse_http_header"`, "snake", search.Query{}},
		{"after a name", `"header not parse"`, "snake", search.Query{}},
		{"stop words alone", `"of the" art`, "art", search.Query{}},
		{"no such stop words", `"for the" art`, "", search.Query{}},
		{"excluded", `running -road`, "apart", search.Query{}},
		{"excluded in a name", `state parse -http`, "art", search.Query{}},
		{"plain", `"running" -road`, "shoes apart", search.Query{Syntax: search.Plain}},
		{"and", `good running`, "apart", search.Query{Operator: "and"}},
		{"field", `"running shoes"`, "", search.Query{Fields: search.Fields{"other"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.query.Q, tc.query.Mode = tc.q, search.Keyword
			if got := find(t, e, tc.query); got != tc.want {
				t.Errorf("%s finds %q, want %q", tc.q, got, tc.want)
			}
		})
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: `"of the" road -car`})
	if err != nil || r.Query == nil || r.Query.Text != "of the road" || !slices.Equal(r.Query.Phrases, []string{"of the"}) || len(r.Query.Ignored) > 0 || !slices.Equal(r.Query.Without, []string{"car"}) {
		t.Errorf("Query = %+v, %v", r.Query, err)
	}
	if r, err := e.Search(t.Context(), "docs", search.Query{Q: `road "`}); err != nil || r.Query != nil {
		t.Errorf("Query of words = %+v, %v", r.Query, err)
	}
}

func TestFieldsForms(t *testing.T) {
	for _, tc := range []struct{ name, body, want, fault string }{
		{"list", `["title^3","body"]`, "title^3 body", ""},
		{"object", `{"title":3,"body":0.5}`, "body^0.5 title^3", ""},
		{"null", `null`, "", ""},
		{"string", `"title"`, "", "fields"},
		{"list of numbers", `[1]`, "", "fields"},
		{"text weight", `{"title":"3"}`, "", "fields"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f search.Fields
			err := json.Unmarshal([]byte(tc.body), &f)
			if got := strings.Join(f, " "); got != tc.want || (err != nil) != (tc.fault != "") {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, f := range []search.Fields{{"a^0"}, {"a^101"}, {"a^x"}, {""}, {"a", "a^2"}, make(search.Fields, 33)} {
		if _, err := e.Search(t.Context(), "docs", search.Query{Q: "x", Fields: f}); err == nil || !strings.Contains(err.Error(), "fields") {
			t.Errorf("fields %q: %v, want an error", f, err)
		}
	}
}

// TestFieldWeightsMultiply compares a weight of a query with the same weight of a mapping, and what
// a title weighs by itself.
func TestFieldWeightsMultiply(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	score := func(collection string, f search.Fields) float64 {
		r, err := e.Search(t.Context(), collection, search.Query{Q: "piano", Mode: search.Keyword, Fields: f})
		if err != nil || len(r.Hits) != 1 {
			t.Fatal(r, err)
		}
		return r.Hits[0].Score
	}
	for name, w := range map[string]float64{"unsaid": 0, "two": 2, "six": 6} {
		s := search.Settings{Fields: map[string]search.FieldSettings{"title": {Type: "text", Weight: w}}}
		if _, err := e.CreateCollection(t.Context(), name, s); err != nil {
			t.Fatal(err)
		}
		docs := []search.Document{doc("a", `{"title":"piano","body":"guitar violin"}`), doc("b", `{"title":"zebra horse","body":"trumpet"}`)}
		if _, err := e.Ingest(t.Context(), name, docs); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := score("two", search.Fields{"title^3", "body"}), score("six", nil); a != b {
		t.Errorf("weight 3 on top of 2 scores %v, weight 6 %v", a, b)
	}
	if a, b, c := score("unsaid", nil), score("two", nil), score("unsaid", search.Fields{"title", "body"}); a != b || c != b {
		t.Errorf("a title scores %v, and %v where the query names it; with weight 2 %v", a, c, b)
	}
}

// TestLoosePhrases: texts with the very words of a phrase come first, whatever their scores, and
// the others are marked.
func TestLoosePhrases(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("emerging", `{"text":"Emerging funds, emerging funds."}`),
		doc("exact", `{"text":"Put aside money for an emergency fund, among many other things that have to be paid for later on."}`),
		doc("apart", `{"text":"A fund for an emergency."}`))
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		for q, want := range map[string][]string{`"emergency fund"`: {"exact", "emerging"}, `"funds"`: {"emerging", "exact", "apart"}, `fund -"emerging funds"`: {"exact", "apart"}, `fund -"emergency funds"`: {"exact", "emerging", "apart"}} {
			r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: mode, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, h := range r.Hits {
				got = append(got, h.ID)
				if loose := q[0] == '"' && i > 0; h.Loose != loose {
					t.Errorf("%s %s: %s is loose: %t", mode, q, h.ID, h.Loose)
				}
				if i > 0 && h.Score > r.Hits[i-1].Score {
					t.Errorf("%s %s: %s scores more than the hit before", mode, q, h.ID)
				}
			}
			if q[0] != '"' || q == `"funds"` {
				slices.Sort(got[1:])
				slices.Sort(want[1:])
			}
			if q[0] != '"' {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %s finds %v, want %v", mode, q, got, want)
			}
		}
	}
}
