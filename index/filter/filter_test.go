package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func mustParse(t testing.TB, s string) Expr {
	t.Helper()
	e, err := Parse(s)
	if err != nil {
		t.Fatalf("Parse(%q) = %v", s, err)
	}
	return e
}

func ExampleParse() {
	e, err := Parse("lang = 'en' AND (year >= 2020 OR tags IN ['classic']) AND NOT draft = true")
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Match(map[string]any{"lang": "en", "year": 1999, "tags": []any{"old", "classic"}}))
	fmt.Println(e.Match(map[string]any{"lang": "en", "year": 2024, "draft": true}))
	_, err = Parse("lang = en")
	fmt.Println(err)
	// Output:
	// true
	// false
	// filter: at byte 7: expected a value ('text', a number, true or false), found "en" without quotes
}

func TestParseWrites(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"comparison", "a=1", "a = 1"},
		{"all operators", "a=1 and b!=2 and c<3 and d<=4 and e>5 and f>=6", "a = 1 AND b != 2 AND c < 3 AND d <= 4 AND e > 5 AND f >= 6"},
		{"precedence", "a=1 or b=2 and not c=3", "a = 1 OR (b = 2 AND NOT c = 3)"},
		{"parentheses", "(a=1 or b=2) and c=3", "(a = 1 OR b = 2) AND c = 3"},
		{"needless parentheses", "((a=1) and ((b=2 and c=3)))", "a = 1 AND b = 2 AND c = 3"},
		{"not of a group", "not (a=1 or b=2)", "NOT (a = 1 OR b = 2)"},
		{"in", "tags in ['a',\"b\", 3 ,true]", "tags IN ['a', 'b', 3, true]"},
		{"in, as SQL writes it", "tags IN ('a', 2)", "tags IN ['a', 2]"},
		{"not in", "tags not in ['a']", "NOT tags IN ['a']"},
		{"parts of strings", "a contains 'b' and not a starts with \"C\" and a not Contains '2024-05-01'", "a CONTAINS 'b' AND NOT a STARTS WITH 'C' AND NOT a CONTAINS '2024-05-01'"},
		{"words as fields", "contains contains 'x' and starts starts with 'y' and with = 1 and like = 2", "contains CONTAINS 'x' AND starts STARTS WITH 'y' AND with = 1 AND like = 2"},
		{"in nothing", "tags in [ ] and tags not in ()", "tags IN [] AND NOT tags IN []"},
		{"exists", "note Exists and other NOT exists", "note EXISTS AND NOT other EXISTS"},
		{"dots and dashes", "a.b-c.d_e = 1", "a.b-c.d_e = 1"},
		{"other letters", "größe.名 = 1", "größe.名 = 1"},
		{"backquotes", "`two words` = 1 and `and` = 2 and `a` = 3", "`two words` = 1 AND `and` = 2 AND a = 3"},
		{"quotes", `a = 'it''s' and b = "it's ""x"""`, `a = 'it''s' AND b = 'it''s "x"'`},
		{"backslash is a character", `a = 'C:\new'`, `a = 'C:\new'`},
		{"numbers", "a = -1.5e3 and b = +.5 and c = -0", "a = -1500 AND b = 0.5 AND c = 0"},
		{"date keeps its text", "a >= '2024-05-01' and b < '2024-05-01T10:00:00+02:00'", "a >= '2024-05-01' AND b < '2024-05-01T10:00:00+02:00'"},
		{"white space", "\n\ta\u00a0=\r\n1 ", "a = 1"},
		{"circle", "at within 5km of (48.9, 2.34) and b.c WITHIN 0.5 mi OF (-17,180)", "at WITHIN 5000 m OF (48.9, 2.34) AND b.c WITHIN 804.672 m OF (-17, 180)"},
		{"box", "at not within box ((48.8, 2.2), (49, 2.5))", "NOT at WITHIN BOX ((49, 2.2), (48.8, 2.5))"},
		{"polygon", "within WITHIN POLYGON ((0,0), (0,1), (1,1), (0,0))", "within WITHIN POLYGON ((0, 0), (0, 1), (1, 1))"},
		{"no space", "a=1and b='x'or(c<2)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				if _, err := Parse(tt.text); !errors.Is(err, ErrSyntax) {
					t.Errorf("Parse(%q) = %v, want ErrSyntax", tt.text, err)
				}
				return
			}
			e := mustParse(t, tt.text)
			if got := e.String(); got != tt.want {
				t.Errorf("Parse(%q) mismatch (-want +got)\n-%s\n+%s", tt.text, tt.want, got)
			}
			if again := mustParse(t, e.String()); !reflect.DeepEqual(again, e) {
				t.Errorf("Parse(String) = %#v, want %#v", again, e)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text string
		pos        int
		want       string
	}{
		{"empty", "", 0, "expected a field name, NOT or (, found the end"},
		{"only space", "  ", 2, "expected a field name"},
		{"no operator", "lang", 4, "expected =, !=, <, <=, >, >=, IN, EXISTS, CONTAINS, STARTS WITH or WITHIN, found the end"},
		{"unknown operator", "a == 1", 2, `found "=="`},
		{"sql's operator", "a <> 1", 2, `found "<>"`},
		{"no value", "a = ", 4, "expected a value"},
		{"bare word", "a = en", 4, `found "en" without quotes`},
		{"bare date", "a > 2024-05-01", 4, "dates and names stand in quotes"},
		{"number and letters", "a = 3rd", 4, `found "3rd"`},
		{"hexadecimal", "a = 0x1p4", 4, `found "0x1p4"`},
		{"list closed otherwise", "a IN ('x']", 9, "expected , or ), found"},
		{"two dots", "a = 1.2.3", 4, "expected a number"},
		{"infinite", "a = 1e999", 4, "expected a finite number"},
		{"lonely minus", "a = -", 4, "expected a number"},
		{"unfinished string", "a = 'x", 6, "expected ' to end the string that begins at byte 4"},
		{"unfinished name", "`a = 1", 6, "expected ` to end the field name"},
		{"empty name", "`` = 1", 0, "expected a field name"},
		{"name of the id", "NOT `" + DocumentID + "` = '7'", 4, "expected a field name"},
		{"dots", "a..b = 1", 0, "names joined by single dots"},
		{"dot at the end", "a. = 1", 0, "names joined by single dots"},
		{"trailing", "a = 1 b = 2", 6, "expected AND, OR or the end of the filter"},
		{"closing", "a = 1)", 5, `found ")"`},
		{"not closed", "(a = 1", 6, "expected AND, OR or )"},
		{"list of a comma", "a IN [,]", 6, "expected a value"},
		{"empty list closed otherwise", "a IN [)", 6, "expected a value"},
		{"list without bracket", "a IN 'x'", 5, "expected [ after IN"},
		{"list not closed", "a IN ['x'", 9, "expected , or ]"},
		{"comma at the end", "a IN ['x',]", 10, "expected a value"},
		{"order of booleans", "a < true", 4, "expected a string or a number after <"},
		{"within what", "at WITHIN (48.9, 2.34)", 10, "expected a distance (5 km OF (48.9, 2.34)), BOX or POLYGON after WITHIN"},
		{"no unit", "at WITHIN 5 OF (48.9, 2.34)", 12, "expected m, km or mi after the distance, found \"OF\"; write 5 km OF (48.9, 2.34)"},
		{"unknown unit", "at WITHIN 5 miles OF (48.9, 2.34)", 12, "expected m, km or mi after the distance, found \"miles\""},
		{"negative distance", "at WITHIN -5 km OF (48.9, 2.34)", 10, "expected a distance of 0 or more"},
		{"distance of what", "at WITHIN 5 km (48.9, 2.34)", 15, "expected OF after the distance"},
		{"no point", "at WITHIN 5 km OF 48.9, 2.34", 18, "expected a point, latitude first: (48.9, 2.34)"},
		{"swapped", "at WITHIN 5 km OF (139.7, 35.6)", 18, "expected a latitude of -90 to 90 and a longitude of -180 to 180, found (139.7, 35.6); write (35.6, 139.7), latitude first"},
		{"box of three", "at WITHIN BOX ((1,2),(3,4),(5,6))", 10, "expected two corners, found 3; write BOX ((49, 2.2), (48.8, 2.5)), the western corner first"},
		{"polygon of two", "at WITHIN POLYGON ((1,2),(3,4))", 10, "a polygon has at least three corners"},
		{"not what", "a NOT = 1", 6, "expected IN, EXISTS, CONTAINS, STARTS WITH or WITHIN"},
		{"starts what", "a STARTS 'x'", 9, "expected WITH after STARTS"},
		{"contains a number", "a CONTAINS 7", 11, "expected a text in quotes after CONTAINS, found \"7\""},
		{"contains a word", "a STARTS WITH b", 14, "expected a text in quotes after STARTS WITH"},
		{"missing operand", "a = 1 AND", 9, "expected a field name"},
		{"keyword as field", "and = 1", 0, "expected a field name"},
		{"strange character", "a = 1 ; b", 6, "found ';'"},
		{"second comparison", "1 < a", 0, "expected a field name"},
		{"not UTF-8", "a = '\xff'", 5, "expected UTF-8, found the byte 0xff"},
		{"too long", strings.Repeat(" ", MaxLength+1), MaxLength, "at most 4096 bytes, this one has 4097"},
		{"too deep", strings.Repeat("(", MaxDepth+1) + "a=1" + strings.Repeat(")", MaxDepth+1), MaxDepth + 1, "nested at most 20 deep"},
		{"too many NOTs", strings.Repeat("NOT ", MaxDepth+1) + "a=1", 4 * (MaxDepth + 1), "nested at most 20 deep"},
		{"too many values", "a IN [" + strings.Repeat("1,", MaxList) + "1]", 6 + 2*MaxList, "at most 1024 values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !errors.Is(err, ErrSyntax) {
				t.Fatalf("Parse(%q) = %v, want a *SyntaxError", tt.text, err)
			}
			if syntax.Pos != tt.pos || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse(%.80q) = %v, want byte %d and %q", tt.text, err, tt.pos, tt.want)
			}
		})
	}
	// The limits themselves are allowed.
	mustParse(t, strings.Repeat("(", MaxDepth)+"a=1"+strings.Repeat(")", MaxDepth))
	mustParse(t, "a IN ["+strings.Repeat("1,", MaxList-1)+"1]")
	mustParse(t, "a = 1"+strings.Repeat(" ", MaxLength-5))
}

func TestParseHints(t *testing.T) {
	for _, tt := range []struct{ text, hint string }{
		{"p = null", "p NOT EXISTS"},
		{"p != NULL", "p EXISTS"},
		{"`a b` = None", "`a b` NOT EXISTS"},
		{"p IS NULL", "p NOT EXISTS"},
		{"p is not null", "p EXISTS"},
		{"p IS 'x'", "p = ..."},
		{"p NOT NULL", "p EXISTS"},
		{"EXISTS p", "p EXISTS"},
		{"a = 1 AND NOT exists (p.q)", "p.q NOT EXISTS"},
		{"EXISTS", "EXISTS after the field name"},
		{"p BETWEEN 1 AND 2", "p >= ... AND p <= ..."},
		{"p LIKE 'x%'", "p CONTAINS '...' or p STARTS WITH '...'"},
		{"p not ends with 'x'", "p CONTAINS '...' or p STARTS WITH '...'"},
		{"p == 1", "="},
		{"p === 1", "="},
		{"p <> 1", "!="},
		{"p => 1", ">="},
		{"!p = 1", "NOT before a condition"},
		{"a = 1 AND !(p = 1)", "NOT before a condition"},
		{"a = 1 && p = 1", "AND"},
		{"a = 1 || p = 1", "OR"},
		{"p:'x'", "= between a field and its value"},
		{"p: 1", "= between a field and its value"},
		{`"p" = 'x'`, "a field name without quotes, or in backquotes"},
		{"p = “x”", "'...' for a text"},
		{"p = ", ""},
		{"p = `null`", ""},
		{"p < null", ""},
	} {
		_, err := Parse(tt.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Hint != tt.hint || tt.hint != "" && !strings.HasSuffix(err.Error(), "; write "+tt.hint) {
			t.Errorf("Parse(%q) = %v, want the hint %q", tt.text, err, tt.hint)
		}
	}
}

func TestMatch(t *testing.T) {
	long := strings.Repeat("x", MaxString)
	doc := map[string]any{
		"lang": "en", "year": 2020, "price": 3.5, "draft": false, "empty": "", "none": nil, "nolist": []any{},
		"tags": []any{"a", "b", 7.0, true}, "sizes": []any{1, 10}, "a.b": json.Number("12"),
		"day": "2024-05-01", "at": "2024-05-01T12:00:00+02:00", "time": "2024-05-01T10:00:00Z",
		"object": map[string]any{"x": 1}, "nan": math.NaN(), "long": long + "a",
		"present": Present{}, "some": []any{Present{}, "a"},
	}
	tests := []struct {
		text string
		want bool
	}{
		{"lang = 'en'", true},
		{"lang = 'EN'", false},
		{"lang CONTAINS 'N' AND lang CONTAINS '' AND lang STARTS WITH 'EN'", true},
		{"lang STARTS WITH 'n' OR lang CONTAINS 'enn'", false},
		{"tags CONTAINS 'b' AND tags STARTS WITH 'a'", true},
		{"tags CONTAINS '7' OR tags CONTAINS 'true' OR year CONTAINS '2' OR missing CONTAINS '' OR some CONTAINS 'b'", false},
		{"missing NOT CONTAINS 'a' AND tags NOT CONTAINS 'c'", true},
		{"day STARTS WITH '2024-05' AND day CONTAINS '2024-05-01'", true},
		{"long STARTS WITH 'XX' AND long NOT CONTAINS 'a' AND long NOT CONTAINS '0'", true},
		{"lang > 'de' AND lang < 'fr'", true},
		{"lang != 'en'", false},
		{"lang != 'de'", true},
		{"missing != 'de'", true},
		{"missing = 'de'", false},
		{"missing < 1 OR missing >= 1", false},
		{"year = 2020 AND year >= 2020 AND year <= 2020", true},
		{"year > 2020 OR year < 2020", false},
		{"year = '2020'", false},
		{"lang > 1", false},
		{"price = 3.5 AND price < 4", true},
		{"draft = false AND draft != true", true},
		{"draft = 0", false},
		{"empty EXISTS AND empty = ''", true},
		{"none EXISTS OR nolist EXISTS OR object EXISTS OR nan EXISTS", false},
		{"none NOT EXISTS", true},
		{"tags = 'a' AND tags = 7 AND tags = true", true},
		{"tags != 'a'", false},
		{"tags IN ['z', 'b']", true},
		{"tags NOT IN ['z']", true},
		{"tags IN [] OR missing IN [] OR empty IN ()", false},
		{"tags NOT IN [] AND missing NOT IN ()", true},
		{"sizes < 2 AND sizes > 9", true},
		{"sizes > 2 AND sizes < 9", true}, // each by another value
		{"a.b = 12", true},
		{"day = '2024-05-01'", true},
		{"day = '2024-05-01T02:00:00+02:00'", true},
		{"day < '2024-05-01T00:00:01Z'", true},
		{"at > '2024-05-01' AND at < '2024-05-02'", true},
		{"at = '2024-05-01T10:00:00Z'", true},
		{"at = '2024-05-01'", false},
		{"at > '2024-04'", true}, // '2024-04' is no date: strings
		{"time = '2024-05-01T10:00:00Z'", true},
		{"time > 'a'", false},
		{"day IN ['2024-05-01T00:00:00Z']", true},
		{"long = '" + long + "a'", true},
		{"long = '" + long + "b'", false},
		{"long > '" + long + "'", true},
		{"NOT (lang = 'en' AND year = 2020)", false},
		{"present EXISTS AND some EXISTS AND some = 'a'", true},
		{"present = '' OR present < 'z' OR present >= 0 OR present IN ['a', 1, true, '2024-05-01']", false},
		{"present != 'a'", true},
		{"lang = 'de' OR year = 2020 AND price > 3", true},
	}
	for _, tt := range tests {
		e := mustParse(t, tt.text)
		if got := e.Match(doc); got != tt.want {
			t.Errorf("%q matches: %v, want %v", tt.text, got, tt.want)
		}
		if got := mustParse(t, e.String()).Match(doc); got != tt.want {
			t.Errorf("%q, written as %q, matches: %v, want %v", tt.text, e, got, tt.want)
		}
	}
}

func TestDates(t *testing.T) {
	for s, want := range map[string]string{
		"2024-01-01":                               "2024-01-01T00:00:00Z",
		"2024-01-01T10:20:30":                      "2024-01-01T10:20:30Z",
		"2024-01-01 10:20:30":                      "2024-01-01T10:20:30Z",
		"2024-01-01t10:20:30z":                     "2024-01-01T10:20:30Z",
		"2024-01-01T10:20":                         "2024-01-01T10:20:00Z",
		"2024-01-01 10:20:30.123456":               "2024-01-01T10:20:30.123456Z",
		"2024-01-01T10:20:30+0100":                 "2024-01-01T09:20:30Z",
		"2024-01-01 10:20:30+05:30":                "2024-01-01T04:50:30Z",
		"2024-01-01 10:20:30 -0800":                "2024-01-01T18:20:30Z",
		"2024-01-01 23:20:30.5-01":                 "2024-01-02T00:20:30.5Z",
		"2024-02-29T10:20Z":                        "2024-02-29T10:20:00Z",
		"2024-01-01 10:20:30.123456789 +00:00":     "2024-01-01T10:20:30.123456Z",
		"0001-01-01T00:00:00":                      "0001-01-01T00:00:00Z",
		"2024-01-01 10:20:30 UTC":                  "2024-01-01T10:20:30Z",
		"2024-01-01 10:20:30 GMT":                  "2024-01-01T10:20:30Z",
		"2024-01-01 10:20:30.5 +0000 UTC":          "2024-01-01T10:20:30.5Z",
		"2024-01-01T10:20:30+01:00[Europe/Berlin]": "2024-01-01T09:20:30Z",
		"2024-01-01T24:00:00":                      "2024-01-02T00:00:00Z",
		"20240101T102030Z":                         "2024-01-01T10:20:30Z",
		"20240101T102030":                          "2024-01-01T10:20:30Z",
		"20240101T102030.25+0100":                  "2024-01-01T09:20:30.25Z",
		"2024/01/01":                               "2024-01-01T00:00:00Z",
		"2024/01/01 10:20:30":                      "2024-01-01T10:20:30Z",
		"Mon, 01 Jan 2024 10:20:30 GMT":            "2024-01-01T10:20:30Z",
		"Mon, 1 Jan 2024 10:20:30 +0100":           "2024-01-01T09:20:30Z",
		"Mon, 1 Jan 2024 10:20:30 -0800 (PST)":     "2024-01-01T18:20:30Z",
		"Mon, 1 Jan 2024 10:20:30 CET":             "",
		"Mon, 32 Jan 2024 10:20:30 GMT":            "",
		"2024/01/01/a":                             "",
		"20241301T102030":                          "",
		"20240101":                                 "",
		"20240101T1020":                            "",
		"01/02/2024":                               "",
		"2024-01-01T10:20:30[Europe/Berlin":        "",
		"2023-02-29T10:20:30":                      "",
		"2024-01-01T24:00:01":                      "",
		"2024-01-01T":                              "",
		"2024-01-01 ":                              "",
		"2024-01-01 noon":                          "",
		"2024-01-01-02":                            "",
		"2024-01-01T10":                            "",
		"2024-01-01T10:20:30+1":                    "",
		"2024-01-01T10:20:30+01:0":                 "",
		"2024-01-01T10:20:30  Z":                   "",
		"2024-01-01T10:20:30 CET":                  "",
		"2024-01-01T10:20:30Z.":                    "",
	} {
		micros, ok := parseDate(s)
		got := ""
		if ok {
			got = time.UnixMicro(micros).UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("the date of %q is %q, want %q", s, got, want)
		}
	}
	e := mustParse(t, "at >= '2024-01-01 00:00:00' AND at < '2024-01-02T00:00:00+0000'")
	if !e.Match(map[string]any{"at": "2024-01-01T00:00:00"}) || e.Match(map[string]any{"at": "2024-01-02 00:00:00"}) {
		t.Errorf("%q does not match by time", e)
	}
}

func TestOpaqueIsEqualToNothing(t *testing.T) {
	v := Values(nil, Present{})[0]
	if _, ok := v.Compare(v); ok {
		t.Error("an opaque value can be compared with itself")
	}
}

func TestValues(t *testing.T) {
	for _, x := range []any{5, 5.0, json.Number("5"), []any{[]any{1}, 5, map[string]any{}, nil}} {
		if got := Values(nil, x); len(got) != 1 || got[0] != (Value{Kind: Number, Num: 5}) {
			t.Errorf("Values(%#v) = %v", x, got)
		}
	}
	for _, x := range []any{nil, map[string]any{}, math.Inf(1), math.NaN(), json.Number("1e999"), []any{[]any{2}}} {
		if got := Values(nil, x); len(got) != 0 {
			t.Errorf("Values(%#v) = %v, want none", x, got)
		}
	}
}

func TestFields(t *testing.T) {
	got := Fields(mustParse(t, "b = 1 AND (a.x EXISTS OR NOT b IN [2]) AND c < 3"))
	if want := []string{"b", "a.x", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Fields = %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"lang = 'en' AND year >= 2020 AND tags IN ['a','b'] AND NOT draft = true AND note EXISTS",
		"NOT NOT (a=1 OR (b<'2024-05-01' AND `x y` NOT IN [1,'it''s']))", "a.b-c != -1e-7", "((((", "a='\u00e9'", "\"a\" = 1",
	} {
		f.Add(s)
	}
	doc := map[string]any{"a": []any{1, "x", "2024-05-01"}, "b": true}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Pos < 0 || syntax.Pos > len(s) {
				t.Fatalf("Parse(%q) = %v, want a *SyntaxError within the text", s, err)
			}
			return
		}
		written := e.String()
		if len(written) > MaxLength {
			return
		}
		again, err := Parse(written)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("Parse(%q), written as %q: %#v, %v, want %#v", s, written, again, err, e)
		}
		if e.Match(doc) != again.Match(doc) {
			t.Fatalf("%q and %q differ", s, written)
		}
	})
}
