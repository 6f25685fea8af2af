package extract

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/searchd/extract/content"
)

// parseAll parses data by repeated parse and returns the records up to the first error.
func parseAll(data []byte, comma byte) (records [][]string, status csvStatus) {
	p := csvParser{comma: comma}
	for len(data) > 0 {
		n, status := p.parse(data, true)
		if status != csvOK {
			return records, status
		}
		empty := data[0] == '\n' || data[0] == '\r' // encoding/csv passes over empty lines
		data = data[n:]
		if empty {
			continue
		}
		var r []string
		for k := range p.ends {
			r = append(r, content.Newlines(string(p.field(k))))
		}
		records = append(records, r)
	}
	return records, csvOK
}

// encoding/csv is the slow twin: what it reads, the parser reads alike.
func compareCSV(t *testing.T, data []byte) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	var want [][]string
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return // bare quotes are errors there and text here
		}
		want = append(want, rec)
	}
	got, status := parseAll(data, ',')
	if status != csvOK || !reflect.DeepEqual(got, want) {
		t.Errorf("parse(%q) = %q, status %d, want %q", data, got, status, want)
	}
}

func TestCSVTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "\"", "\"\"", ",", "\n", "\r\n", " ", "é", "word", ""}
	for range 20_000 {
		// Well-formed: random fields through the writer. Anything: random pieces.
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		for range rng.IntN(4) {
			rec := make([]string, 1+rng.IntN(4))
			for i := range rec {
				for range rng.IntN(4) {
					rec[i] += pieces[rng.IntN(len(pieces))]
				}
			}
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		compareCSV(t, b.Bytes())
		var s string
		for range rng.IntN(12) {
			s += pieces[rng.IntN(len(pieces))]
		}
		compareCSV(t, []byte(s))
		if t.Failed() {
			return
		}
	}
}

// A prefix of a record is never taken for the whole of it.
func TestCSVPrefix(t *testing.T) {
	const rec = "a,\"b\"\"c\nd\",e f\r\n"
	p := csvParser{comma: ','}
	for i := range rec {
		if _, status := p.parse([]byte(rec[:i]), false); status != csvMore {
			t.Errorf("parse(%q) = %d, want more", rec[:i], status)
		}
	}
	if n, status := p.parse([]byte(rec+"next"), false); n != len(rec) || status != csvOK {
		t.Errorf("parse = %d, %d, want %d, OK", n, status, len(rec))
	}
}

func TestSniffDelimiter(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want byte
	}{
		{"a,b\n1,2\n", ','}, {"a;b;c\n1,5;2,5;3\n", ';'}, {"a\tb\n1,2\t3\n", '\t'}, {"a|b\nx, y|z\n", '|'}, {"only\nx\n", ','}, {"", ','},
		{"\"a,b\";c\n\"x,y\";z\n", ';'}, {"name, the;text\nx;y\nz;w\n", ';'}, {"a,b\n\"open", ','},
	} {
		if got := sniffDelimiter([]byte(tt.in), true); got != tt.want {
			t.Errorf("sniffDelimiter(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// A broken row costs itself, wherever the window happens to end.
func TestCSVRecovery(t *testing.T) {
	for _, limit := range []int64{64, 100, 1000, 5000} {
		for _, bad := range []string{"x,\"open,1\n", "\"x\"y,b,1\n", "one field\n", "x,\"open\",2,3,4\n", strings.Repeat("y", 7000) + ",b,1\n"} {
			var b strings.Builder
			b.WriteString("id,text,n\n")
			want := ""
			for i := range 300 {
				if i%100 == 50 {
					b.WriteString(bad)
				}
				fmt.Fprintf(&b, "r%d,word,%d\r\n", i, i)
				want += fmt.Sprintf("r%d@%d ", i, 2+i+(i+50)/100)
			}
			out := readBytes(t, []byte(b.String()), "a.csv", Options{MaxLine: limit})
			got := ""
			for _, d := range out.docs {
				got += fmt.Sprintf("%s@%d ", d.ID, d.Line)
			}
			if got != want {
				t.Errorf("limit %d, bad row %.20q: rows\n%s\nwant\n%s", limit, bad, got, want)
			}
			if len(out.errors) != 3 || out.errors[0].Line != 52 || out.errors[1].Line != 153 || out.errors[2].Line != 254 {
				t.Errorf("limit %d, bad row %.20q: errors %v", limit, bad, out.errors)
			}
		}
	}
}

// rows reads CSV byte by byte and returns ids and errors.
func rows(t *testing.T, name, in string) string {
	t.Helper()
	var out []string
	// With Auto, recognition would fill the buffer first.
	err := Reader(context.Background(), iotest.OneByteReader(strings.NewReader(in)), name, CSV, Options{},
		func(d Document) error { out = append(out, fmt.Sprintf("%s@%d", d.ID, d.Line)); return nil },
		func(e ItemError) error { out = append(out, fmt.Sprintf("!%d", e.Line)); return nil })
	if err != nil {
		t.Error(err)
	}
	return strings.Join(out, " ")
}

func TestCSVRows(t *testing.T) {
	for _, tt := range []struct{ name, file, in, want string }{
		{"two stray quotes swallow nothing", "a.csv", "id,text,n\n1,a,1\n2,\"stray\n3,c,3\n4,d,4\n5,stray\",9,8,7\n6,f,6\n", "1@2 !3 3@4 4@5 !6 6@7"},
		{"text after a quote, CRLF", "a.csv", "id,text\r\n\"1\"x,b\r\n2,c\r\n3,d\r\n", "!2 2@3 3@4"},
		{"text after a quote, CR", "a.csv", "id,text\r\"1\"x,b\r2,c\r", "!2 2@3"},
		{"last line without end", "a.csv", "id,text\n1,a\n2,b", "1@2 2@3"},
		{"lone quote in the last line", "a.tsv", "id\ttext\n1\ta\n2\t\"b", "1@2 2@3"},
		{"two lone quotes", "a.tsv", "id\ttext\n1\t\"a\n2\tb\n3\t\"c\n", "1@2 2@3 3@4"},
		{"quoted line end", "a.tsv", "id\ttext\n1\t\"a\nb\"\n2\tc\n", "1@2 2@4"},
	} {
		if got := rows(t, tt.file, tt.in); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTyped(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want any
	}{
		{"0", 0.0}, {"-12", -12.0}, {"1.50", 1.5}, {"true", true}, {"FALSE", false}, {"123456789012345", 123456789012345.0},
		{"007", "007"}, {"+1", "+1"}, {"1e5", "1e5"}, {"NaN", "NaN"}, {"Inf", "Inf"}, {"0x10", "0x10"}, {"1_000", "1_000"}, {"1,5", "1,5"},
		{".5", ".5"}, {"5.", "5."}, {"12345678901234567", "12345678901234567"}, {"yes", "yes"}, {"", ""}, {"-", "-"}, {"2024-01-02", "2024-01-02"},
	} {
		if got := content.Typed(tt.in); got != tt.want {
			t.Errorf("content.Typed(%q) = %#v, want %#v", tt.in, got, tt.want)
		}
	}
}

// Columns of the same name are told apart, however many.
func TestCSVColumnsTwice(t *testing.T) {
	out := readBytes(t, []byte("name,name_2,name,name\nw,x,y,z\n"), "a.csv", Options{})
	want := map[string]any{"name": "w", "name_2": "x", "name_3": "y", "name_4": "z"}
	if len(out.docs) != 1 || !reflect.DeepEqual(out.docs[0].Fields, want) || len(out.errors) != 1 || !out.errors[0].Warning {
		t.Errorf("got %v, want %v", out, want)
	}
	start := spent()
	out = readBytes(t, []byte(strings.Repeat("a,", 200000)+"a\n"+strings.Repeat("1,", 200000)+"1\n"), "a.csv", Options{})
	if took := spent() - start; len(out.docs) != 1 || len(out.docs[0].Fields) != 200001 || took > 5*time.Second {
		t.Errorf("%d documents in %v, %v", len(out.docs), took, out.errors)
	}
}

// A file with more columns than any table has is refused before they are named.
func TestCSVTooManyColumns(t *testing.T) {
	out := readBytes(t, []byte(strings.Repeat("a,", maxColumns)+"a\n1,2\n"), "a.csv", Options{})
	if len(out.docs) != 0 || len(out.errors) != 1 || out.errors[0].Warning || !strings.Contains(out.errors[0].Error(), "a.csv:1: the header has 262145 columns, more than the limit of 262144") {
		t.Errorf("%d documents, %v", len(out.docs), out.errors)
	}
}
