package extract

import (
	"strings"
	"testing"
	"time"

	"example.com/searchd/extract/content"
)

// Markup that is contorted costs little time, and the text is kept.
func TestContortedMarkup(t *testing.T) {
	defer func(d time.Duration) { content.Budget = d }(content.Budget)
	content.Budget = time.Second
	start := spent()
	for name, in := range map[string]string{
		"a.tex": `\cite[\cite{a}`, "b.tex": `\section{`, "c.tex": `\begin{tabular}[`, "d.tex": `\"{`, "e.tex": "{", "f.tex": "\\title{a\n\n",
		"a.adoc": "link:x[", "b.adoc": "<<a", "c.adoc": "footnote:[", "a.org": "[[a][", "b.org": ":LOGBOOK:\n", "c.org": "|", "a.rst": "`a<", "b.rst": "::a:`", "c.rst": "a\n=\n",
		"a.srt": "<a", "b.vtt": "00:00.0 --> \n",
	} {
		for _, lines := range []int{1, 1 << 6, 1 << 18} { // lines of some length, and one
			var b strings.Builder
			for b.Len() < 1<<18 {
				b.WriteString(strings.Repeat(in, max(1, (1<<18)/lines/len(in))))
				b.WriteString("\n")
			}
			out := readBytes(t, []byte("first words\n\n"+b.String()+"\n\nlast words\n"), name, Options{})
			if len(out.docs) != 1 || len(out.errors) > 0 {
				t.Fatalf("%s: %v", name, out.errors)
			}
			if text := out.docs[0].Fields["text"].(string); !strings.HasSuffix(text, "last words") {
				t.Errorf("%s: the text ends with %q", name, text[max(0, len(text)-100):])
			}
		}
	}
	if d := spent() - start; d > 2*time.Minute {
		t.Errorf("took %v", d)
	}
}

func FuzzOrg(f *testing.F)  { fuzzReader(f, "in.org") }
func FuzzRST(f *testing.F)  { fuzzReader(f, "in.rst") }
func FuzzAdoc(f *testing.F) { fuzzReader(f, "in.adoc") }
func FuzzTeX(f *testing.F)  { fuzzReader(f, "in.tex") }
func FuzzSRT(f *testing.F)  { fuzzReader(f, "in.srt") }
