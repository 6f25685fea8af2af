package extract

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/searchd/extract/content"
)

func pack(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostile(t *testing.T) {
	row := `{"id":"%s","text":"fine"}` + "\n"
	long := func(n int) string { return `{"text":"` + strings.Repeat("x", n) + "\"}\n" }
	for _, tt := range []struct {
		name, file, in string
		o              Options
		ids            string
		fails          []string // the whole of each error
	}{
		{"5 MB line", "a.jsonl", fmt.Sprintf(row, "1") + long(5_000_000) + fmt.Sprintf(row, "3"), Options{}, "1 3",
			[]string{"a.jsonl:2: line of 5000012 bytes is longer than the limit of 4194304"}},
		{"5 MB array element", "a.json", "[" + fmt.Sprintf(row, "1") + "," + long(5_000_000) + "," + fmt.Sprintf(row, "3") + "]", Options{}, "1 3",
			[]string{"a.json:2: value of 5000011 bytes is longer than the limit of 4194304"}},
		{"5 MB CSV line", "a.csv", "id,text\n1,a\n2," + strings.Repeat("x", 5_000_000) + "\n3,c\n", Options{}, "1 3",
			[]string{"a.csv:3: line of 5000003 bytes is longer than the limit of 4194304"}},
		{"line at the limit", "a.jsonl", `{"id":"1","text":"abc"}` + "\r\n" + `{"id":"2","text":"abcd"}` + "\r\n", Options{MaxLine: 23}, "1",
			[]string{"a.jsonl:2: line of 26 bytes is longer than the limit of 23"}},
		{"zeros at the end", "a.jsonl", fmt.Sprintf(row, "1") + strings.Repeat("\x00", 100), Options{}, "1",
			[]string{"a.jsonl:2: binary data (NUL bytes), not JSON"}},
		{"binary under a text name", "a.txt", "MZ\x00\x01", Options{}, "", []string{"a.txt:1: binary data (NUL bytes), not plain text"}},
		{"binary without NUL", "a.txt", strings.Repeat("\x01\x02", 50), Options{}, "", []string{"a.txt: binary data, not text"}},
		{"RTF under a text name", "a.txt", `{\rtf1 x}`, Options{}, "", []string{"a.txt: RTF, not plain text; call it .rtf, or say --format rtf"}},
		{"binary CSV", "a.csv", "\x00\x01,\n", Options{}, "", []string{"a.csv:1: binary data (NUL bytes), not CSV"}},
		{"PDF under a text name", "a.txt", "%PDF-1.4\n", Options{}, "", []string{"a.txt: a PDF under the name of plain text; call it .pdf, or say --format pdf"}},
		{"file too large", "a.md", strings.Repeat("x", 101), Options{MaxFile: 100}, "", []string{"a.md: file is larger than the limit of 100 bytes for Markdown"}},
		{"empty text", "a.txt", "", Options{}, "", []string{"a.txt: no text in plain text of 0 bytes"}},
		{"blank text", "a.txt", " \n\t\n", Options{}, "", []string{"a.txt: no text in plain text of 4 bytes"}},
		{"empty Markdown", "a.md", "***\n", Options{}, "", []string{"a.md: no text in Markdown of 4 bytes"}},
		{"HTML of scripts", "a.html", "<script>x()</script>", Options{}, "", []string{"a.html: no text in HTML of 20 bytes"}},
		{"empty CSV", "a.csv", "", Options{}, "", []string{"a.csv: no text: the file is empty, and CSV needs a header row"}},
		{"empty JSON lines", "a.jsonl", "\n\n", Options{}, "", []string{"a.jsonl: warning: no records"}},
		{"empty unnamed", "-", "", Options{}, "", []string{"stdin: no text: the input is empty"}},
		{"header twice", "a.csv", "id,b,id\n1,2,3\n", Options{}, "1", []string{`a.csv:1: warning: header names the column "id" twice, as column 1 and 3: the second is "id_2"`}},
		{"no header", "a.csv", "1,2.5\n3,4\n", Options{}, "", []string{"a.csv:1: the first row holds only numbers; CSV needs a header row with the names of the columns"}},
		{"broken header", "a.csv", "\"a\"b,c\n1,2\n", Options{}, "", []string{"a.csv:1: field 1: text after the closing quote; a quote inside a quoted field is written twice"}},
		{"id not there", "a.jsonl", `{"text":"x"}`, Options{IDField: "key"}, "", []string{`a.jsonl:1: record has no field "key" for its id`}},
		{"id with control", "a.jsonl", `{"id":"a\u0000b","text":"x"}`, Options{}, "", []string{`a.jsonl:1: id field "id" is "a\x00b"; control characters and invalid UTF-8 are not allowed`}},
		{"id too long", "a.jsonl", `{"id":"` + strings.Repeat("i", 513) + `","text":"x"}`, Options{}, "", []string{`a.jsonl:1: id field "id" has 513 bytes; the limit is 512`}},
		{"no text field", "a.jsonl", `{"id":"1","name":"x","text":" "}`, Options{TextFields: []string{"title", "text"}}, "",
			[]string{"a.jsonl:1: no text in the fields title, text"}},
		{"rows without text", "a.csv", "id,n,on,t\n1,5,,\n2,,true,\n3,,,\n4,,,---\n", Options{}, "1 2",
			[]string{"a.csv:4: no text, number or boolean in any field", "a.csv:5: no text, number or boolean in any field"}},
		{"records without text", "a.jsonl", `{"id":"1","a":{"b":[null,0]}}` + "\n" + `{"id":"2","a":{"b":[null,[]]},"text":" "}`, Options{}, "1",
			[]string{"a.jsonl:2: no text, number or boolean in any field"}},
		{"array not closed", "a.json", `[{"id":"1","text":"x"}, `, Options{}, "1", []string{"a.json:1: the input ends before the end of the JSON array"}},
		{"array cut in a value", "a.json", "[{\"id\":\"1\",\"text\":\"x\"},\n{\"a\":[", Options{}, "1", []string{"a.json:2: the input ends inside the value that begins here"}},
		{"array without comma", "a.json", `[{"id":"1","text":"x"} {"id":"2"}]`, Options{}, "1", []string{`a.json:1: want a comma or the end of the JSON array, got '{'`}},
		{"text after array", "a.json", `[{"id":"1","text":"x"}] x`, Options{}, "1", []string{"a.json:1: more text after the end of the JSON array"}},
		{"string not closed", "a.json", "[{\"id\":\"1\",\"text\":\"x\"},\n{\"a\":\"b\n}]", Options{}, "1", []string{"a.json:2: a string is not closed at the end of line 2"}},
		{"deep JSON", "a.jsonl", strings.Repeat(`{"a":`, 100_000) + "\n" + fmt.Sprintf(row, "2"), Options{}, "2",
			[]string{"a.jsonl:1: not valid JSON at byte 50001: invalid character '{' exceeded max depth"}},
		{"deep JSON value", "a.json", "{\n" + `"a":` + strings.Repeat(`[`, 1_000_000) + strings.Repeat(`]`, 1_000_000) + "}" + fmt.Sprintf(row, "2"), Options{}, "2",
			[]string{"a.json:1: not valid JSON at byte 10006: invalid character '[' exceeded max depth"}},
		{"gzip packed twice", "a.txt.gz", string(pack(t, pack(t, []byte("x")))), Options{}, "", []string{"a.txt.gz: gzip: packed twice; unpack it once first"}},
		{"gzip header only", "a.txt.gz", "\x1f\x8b\x08", Options{}, "", []string{"a.txt.gz: gzip: damaged header: unexpected EOF"}},
		{"gzip cut", "a.jsonl.gz", string(pack(t, []byte(fmt.Sprintf(row, "1"))))[:40], Options{}, "", nil},
		{"gzip over the cap", "a.txt.gz", string(pack(t, []byte(strings.Repeat("abc def ", 100)))), Options{MaxUnpacked: 100}, "",
			[]string{"a.txt.gz: cannot be read: gzip: unpacks to more than the limit of 100 bytes"}},
		{"UTF-8 with damage", "a.txt", "caf\u00e9 and b\xffd", Options{}, "a.txt", []string{"a.txt: warning: invalid UTF-8: 1 byte replaced by U+FFFD"}},
		{"Latin-1 CSV, said once", "a.csv", "id,text\n1,caf\xe9\n2,na\xefve\n", Options{}, "1 2",
			[]string{`a.csv:2: warning: field "text": not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another`}},
		{"old Mac line ends", "a.csv", "id,text\r1,x\r2,y\r", Options{}, "1 2", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readBytes(t, []byte(tt.in), tt.file, tt.o)
			var ids, fails []string
			for _, d := range got.docs {
				ids = append(ids, d.ID)
			}
			for _, e := range got.errors {
				fails = append(fails, e.Error())
			}
			if s := strings.Join(ids, " "); s != tt.ids {
				t.Errorf("ids = %s, want %s", s, tt.ids)
			}
			if tt.name == "gzip cut" {
				if len(fails) != 1 || !strings.Contains(fails[0], "gzip: damaged data: unexpected EOF") {
					t.Errorf("fails = %q", fails)
				}
				return
			}
			if g, w := strings.Join(fails, "\n"), strings.Join(tt.fails, "\n"); g != w {
				t.Errorf("fails = %s\nwant    %s", g, w)
			}
		})
	}
}

// allocated returns the bytes that f allocates in total.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// One quote that is not closed costs one row of 20 MB, not the file, and not much memory.
func TestUnclosedQuote(t *testing.T) {
	const rows = 400_000
	var b bytes.Buffer
	b.WriteString("id,title,text\n")
	for i := range rows {
		if i == 1000 {
			b.WriteString("x,\"never closed,text\n")
		}
		fmt.Fprintf(&b, "%d,title of row,some text to make it long enough\n", i)
	}
	if b.Len() < 20_000_000 {
		t.Fatalf("only %d bytes", b.Len())
	}
	docs := 0
	var fails []string
	n := allocated(func() {
		err := Reader(context.Background(), &b, "a.csv", Auto, Options{},
			func(Document) error { docs++; return nil },
			func(e ItemError) error { fails = append(fails, e.Error()); return nil })
		if err != nil {
			t.Error(err)
		}
	})
	want := "a.csv:1002: field 2: the quote is not closed within the limit of 4194304 bytes for one record"
	if docs != rows || len(fails) != 1 || fails[0] != want {
		t.Errorf("%d documents, want %d; errors %q, want %q", docs, rows, fails, want)
	}
	// A map of fields and two strings for each row, and twice the window; the window is what must
	// not grow.
	if perRow := float64(n) / rows; perRow > 800 {
		t.Errorf("%.0f bytes allocated per row", perRow)
	}
}

// A file made so that each broken record spans all that follows is still read in linear time.
func TestManyBrokenRecords(t *testing.T) {
	for name, line := range map[string]string{"tabs": "b\"\t\"c\n", "unclosed": "1,\"a\n", "doubled": "1,\"a\"\"\n", "after": "\"a\"b,2\n", "in and out": "b\",\"c\n", "in and out, ragged": "b\",\"\"\",\"c\n", "ragged": "1,\"a\n\",3\n"} {
		in, file := "id,text\n"+strings.Repeat(line, 1_000_000/len(line)), "a.csv"
		if name == "tabs" {
			in, file = "id\ttext"+in[7:], "a.tsv"
		}
		begin := spent()
		n := 0
		err := Reader(context.Background(), strings.NewReader(in), file, Auto, Options{},
			func(Document) error { return nil }, func(ItemError) error { n++; return nil })
		if d := spent() - begin; err != nil || d > 30*time.Second {
			t.Errorf("%s: %v, %d errors after %v", name, err, n, d)
		}
	}
}

func TestGzipBomb(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = 'a'
	}
	for range 48 {
		_, _ = z.Write(chunk) // a Buffer does not fail
	}
	z.Close()
	for _, name := range []string{"a.txt.gz", "a.jsonl.gz", "a.csv.gz", "a.html.gz"} {
		out := readBytes(t, b.Bytes(), name, Options{})
		if len(out.docs) != 0 || len(out.errors) == 0 || !strings.Contains(out.errors[len(out.errors)-1].Reason, "more than the limit of 100 to 1") {
			t.Errorf("%s: %d documents, errors %v", name, len(out.docs), out.errors)
		}
	}
}

func TestDeepHTML(t *testing.T) {
	const depth = 100_000
	in := strings.Repeat("<div>", depth) + "deep words" + strings.Repeat("</div>", depth)
	out := readBytes(t, []byte(in), "a.html", Options{})
	if len(out.docs) != 1 || out.docs[0].Fields["text"] != "deep words" {
		t.Errorf("got %v", out)
	}
}

// Input on which the parsers are slow is cut short by the budget, and nothing of the text is lost.
func TestContortedMarkdown(t *testing.T) {
	defer func(d time.Duration) { content.Budget = d }(content.Budget)
	content.Budget = 50 * time.Millisecond
	begin := spent()
	var wide strings.Builder
	wide.WriteString(strings.Repeat("|a", 16_000) + "\n" + strings.Repeat("|-", 16_000) + "\n" + strings.Repeat("|\n", 30_000))
	for name, in := range map[string]string{
		"links": strings.Repeat("[a](", 50_000), "quotes": strings.Repeat(">", 300_000), "lists": strings.Repeat("- ", 20_000) + "x",
		"stars": strings.Repeat("*a **b ", 50_000), "brackets": strings.Repeat("[", 200_000), "references": strings.Repeat("[a]: b\n", 50_000) + "x",
		"table": wide.String(),
	} {
		out := readBytes(t, []byte("# Head\n\n"+in+"\n\nthe end"), "a.md", Options{})
		if len(out.docs) != 1 || !strings.HasSuffix(out.docs[0].Fields["text"].(string), "the end") || out.docs[0].Fields["title"] != "Head" {
			t.Errorf("%s: %d documents, errors %v", name, len(out.docs), out.errors)
		}
		for _, e := range out.errors {
			if !e.Warning || !strings.Contains(e.Reason, "time budget spent") {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
	if d := spent() - begin; d > 60*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, name := range []string{"a.jsonl", "a.json", "a.csv", "a.txt", "a.md", "a.html", "-"} {
		var out outcome
		r := io.MultiReader(strings.NewReader("{\"id\":1,\"text\":\"first\"}\n{\"id\""), iotest.ErrReader(broken))
		err := Reader(context.Background(), r, name, Auto, Options{},
			func(d Document) error { out.docs = append(out.docs, d); return nil },
			func(e ItemError) error { out.errors = append(out.errors, e); return nil })
		if err != nil || len(out.errors) == 0 || !strings.Contains(out.errors[len(out.errors)-1].Reason, "disk on fire") {
			t.Errorf("%s: Reader = %v, %v", name, err, out)
		}
	}
}

func TestReaderCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"a.jsonl", "a.json", "a.csv", "a.txt", "a.md", "a.html", "a.gz", "-"} {
		err := Reader(ctx, strings.NewReader("text"), name, Auto, Options{}, func(Document) error { return nil }, func(ItemError) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Reader = %v, want %v", name, err, context.Canceled)
		}
	}
}
