package pdf

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TestCorpus compares the texts of the PDFs below the folder PDF_CORPUS with those of pdftotext,
// which has to be installed. It prints the share of words, and of pairs of words, that the text of
// each file has of those, and fails where the mean is below what the package is held to or a file
// of more than a few words lacks some without a warning. PDF_TEXTS is a folder for the texts.
//
//	PDF_CORPUS=DIR go test ./extract/pdf -run Corpus -v
func TestCorpus(t *testing.T) {
	root := os.Getenv("PDF_CORPUS")
	if root == "" {
		t.Skip("PDF_CORPUS names no folder")
	}
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if strings.EqualFold(filepath.Ext(path), ".pdf") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Read(context.Background(), pages(stream("", ""))); err == nil { // starts PDFium
		t.Error("an empty page has a text")
	}
	type result struct {
		text, warning string
		took          time.Duration
	}
	results := make([]result, len(files))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	began := time.Now()
	for n, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		slots <- struct{}{}
		wg.Go(func() {
			began := time.Now()
			got, err := shared.Read(context.Background(), b)
			if err != nil {
				got.Warning = err.Error()
			}
			results[n] = result{got.Text, got.Warning, time.Since(began)}
			<-slots
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	var sum, pairs float64
	var compared, full, count int
	for n, name := range files {
		count += strings.Count(pdftotext(name), "\f")
		want := wordsOf(pdftotext(name))
		r := results[n]
		if len(want) == 0 {
			t.Logf("        %s: no words, %v %q", name, r.took, r.warning)
			continue
		}
		got := wordsOf(r.text)
		recall, pair := share(got, want), share(pairsOf(got), pairsOf(want))
		compared++
		sum += recall
		pairs += pair
		if recall >= .98 {
			full++
		}
		t.Logf("%.3f %.3f %s: %d words, %v %q", recall, pair, name, len(want), r.took, r.warning)
		if recall < .9 && len(want) >= fewWords && r.warning == "" {
			t.Errorf("%s has %.2f of the words without a warning", name, recall)
		}
		if dir := os.Getenv("PDF_TEXTS"); dir != "" {
			os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name[len(root):], "/", "_")+".txt"), []byte(r.text), 0o600)
		}
	}
	t.Logf("%d files, %d with words: mean recall %.4f (pairs %.4f), %d at .98 or more; %d pages, %.0f pages/s", len(files), compared, sum/float64(compared),
		pairs/float64(compared), full, count, float64(count)/elapsed.Seconds())
	if sum/float64(compared) < .97 {
		t.Error("the mean recall is below .97")
	}
}

// fewWords is the number of words of which each weighs too much.
const fewWords = 10

func pdftotext(name string) string {
	out, _ := exec.Command("pdftotext", "-q", name, "-").Output() // nothing of what it refuses
	return string(out)
}

// wordsOf returns the words of s; ideographs, which have no spaces between words, are words each.
func wordsOf(s string) []string {
	s = ideographs.ReplaceAllString(s, " $0 ")
	words := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if r := []rune(w); unicode.In(r[0], unicode.Arabic, unicode.Hebrew) {
			slices.Reverse(r)
			words[i] = min(w, string(r)) // pdftotext 22.12 writes some from left to right
		}
	}
	return words
}

var ideographs = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}]`)

func pairsOf(words []string) (out []string) {
	for n := range len(words) - 1 {
		out = append(out, words[n]+" "+words[n+1])
	}
	return out
}

// share returns how much of want is in got, each as often as it is there.
func share(got, want []string) float64 {
	has := map[string]int{}
	for _, w := range got {
		has[w]++
	}
	found := 0
	for _, w := range want {
		if has[w] > 0 {
			has[w]--
			found++
		}
	}
	return float64(found) / float64(max(len(want), 1))
}
