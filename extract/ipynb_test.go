package extract

import "testing"

func TestNotebook(t *testing.T) {
	const nb = `{"nbformat":4,"cells":[{"cell_type":"markdown","source":["# Fits\n","\n","Some *words*."]},
{"cell_type":"raw","source":"raw"},{"cell_type":"code","source":"x = 1\ns = '` + "```" + `'\n# not a heading","outputs":[{"text":"put out"}]},{"cell_type":"markdown","source":"End."}]}`
	const old = `{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"heading","source":"Head","level":1},{"cell_type":"code","input":["a\n","b"]}]}]}`
	for _, tt := range []struct{ in, title, text string }{
		{nb, "Fits", "Some words.\n\nraw\n\nx = 1\ns = '```'\n# not a heading\n\nEnd."},
		{old, "Head", "a\nb"},
	} {
		out := readBytes(t, []byte(tt.in), "a.ipynb", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != tt.title || out.docs[0].Fields["text"] != tt.text {
			t.Errorf("%v, want %q, %q", out, tt.title, tt.text)
		}
	}
	for _, bad := range []string{"[1]", "{", `{"cells":[{"source":1}]}`, `{"cells":[]}`} {
		if out := readBytes(t, []byte(bad), "a.ipynb", Options{}); len(out.docs) > 0 || len(out.errors) != 1 {
			t.Errorf("%q: %v", bad, out)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":["x"]},{"cell_type":"markdown","source":"y"}]}`))
	fuzzReader(f, "in.ipynb")
}
