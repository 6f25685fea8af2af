package extract

import (
	"strings"
	"testing"
)

// Values that are no dates are reported once for each file, in fields that hold dates.
func TestDateWarnings(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a.csv", "id,date,text\n1,2024-03-15,x\n2,15.03.2024,y\n3,March,z\n", `a.csv:3: warning: field "date": 2 of 3 values are not read as dates, such as "15.03.2024"`},
		{"a.jsonl", `{"id":1,"created_at":"2024-01-01T00:00:00","text":"x"}` + "\n" + `{"id":2,"created_at":"2024-01-01 00:00:00 +0100","text":"yesterday"}`, ""},
		{"b.jsonl", `{"text":"x","when":"2024-01-01"}` + "\n" + strings.Repeat(`{"text":"y","when":"2024-01-02"}`+"\n", 4) + `{"text":"z","when":"soon"}`, `field "when": 1 of 6 values are not read as dates, such as "soon"`},
		{"c.jsonl", `{"text":"2024-01-01","title":"words"}`, ""},
		{"d.jsonl", `{"text":"x","date":"2024-02-30"}`, `field "date": the value is not read as dates, such as "2024-02-30"`},
		{"a.md", "---\ndate: next week\n---\ntext", `a.md: warning: field "date": the value is`},
		{"b.md", "---\ndate: 2024-01-15 10:00:00 +0100\nupdated: 2024/1/5\n---\ntext", ""},
		{"a.eml", "From: a@x.org\nDate: sometime\nSubject: s\n\ntext", `field "date": the value is not`},
		{"b.eml", "From: a@x.org\nDate: Mon, 4 Mar 2024 10:00:00 +0100\nSubject: s\n\ntext", ""},
	} {
		out := readBytes(t, []byte(tt.in), tt.name, Options{})
		var got []string
		for _, e := range out.errors {
			got = append(got, e.Error())
		}
		if all := strings.Join(got, "|"); tt.want == "" && all != "" || !strings.Contains(all, tt.want) || len(got) > 1 {
			t.Errorf("%s: %q, want %q", tt.name, all, tt.want)
		}
	}
}
