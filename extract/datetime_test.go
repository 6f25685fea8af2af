package extract

import (
	"reflect"
	"testing"
)

// Dates of front matter are dates for whoever filters and sorts, however they are written there.
func TestFrontMatterDates(t *testing.T) {
	for in, want := range map[string]string{
		"2024-01-01 00:00:00":              "2024-01-01T00:00:00Z",
		"2024-01-01T00:00:00":              "2024-01-01T00:00:00Z",
		"2024-01-15 10:00:00 +0100":        "2024-01-15T10:00:00+01:00",
		"2024-01-15T10:00:00+0100":         "2024-01-15T10:00:00+01:00",
		"2001-12-14 21:59:43.10 -5":        "2001-12-14T21:59:43.10-05:00",
		"2001-12-14t21:59:43z":             "2001-12-14T21:59:43Z",
		"2024-01-15 10:00":                 "2024-01-15T10:00:00Z",
		"2024-01-15 9:05 UTC":              "2024-01-15T09:05:00Z",
		"2012/12/10 00:00:00":              "2012-12-10T00:00:00Z",
		"2024-1-5":                         "2024-01-05",
		"2024/01/05":                       "2024-01-05",
		"2024-01-15":                       "2024-01-15",
		"2024-01-15T10:00:00Z":             "2024-01-15T10:00:00Z",
		"2024-01-15T10:00:00.123456+05:30": "2024-01-15T10:00:00.123456+05:30",
		"2024-02-30 10:00:00":              "2024-02-30 10:00:00",
		"2024-01-15 25:00":                 "2024-01-15 25:00",
		"2024-01/05":                       "2024-01/05",
		"1.2024-01-05":                     "1.2024-01-05",
		"see 2024-01-05":                   "see 2024-01-05",
	} {
		for _, note := range []string{"---\ndate: " + in + "\nlist:\n- \"" + in + "\"\n---\ntext", "+++\ndate = \"" + in + "\"\nlist = [\"" + in + "\"]\n+++\ntext", "{\"date\": \"" + in + "\", \"list\": [\"" + in + "\"]}\ntext"} {
			out := readBytes(t, []byte(note), "a.md", Options{})
			if len(out.docs) != 1 || out.docs[0].Fields["date"] != want || !reflect.DeepEqual(out.docs[0].Fields["list"], []any{want}) {
				t.Errorf("%q: %v, want %q", note, out, want)
			}
		}
	}
}
