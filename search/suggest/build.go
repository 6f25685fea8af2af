package suggest

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/internal/edits"
)

// LeastShared is how many documents have a phrase that is suggested.
const LeastShared = 3

// Bounds of a builder.
const (
	maxTexts      = 2 << 10 // bytes of each document that are read for phrases
	maxPhraseDocs = 50_000  // documents that are read for phrases
	maxCounted    = 400_000 // phrases that are counted at a time; beyond it the rarest are forgotten
	titleWeight   = 2       // log2 of the documents of a phrase that is as good
)

// Document is what completions of a document are made of.
type Document struct {
	Source
	Title string
	Texts []string // without the title
}

// builder collects the completions of documents.
type builder struct {
	stop    func(word string) bool // reports whether a word means nothing by itself
	docs    int
	full    bool // enough phrases were counted
	titles  map[string]*found
	phrases map[string]*found // by key
	common  map[string]int    // documents by word; math.MaxInt32 and more: a stop word
}

// found is a text with the documents that have it.
type found struct {
	text    string
	count   int
	last    int // number of the last document
	sources []Source
}

func newBuilder(stop func(word string) bool) *builder {
	return &builder{stop: stop, titles: map[string]*found{}, phrases: map[string]*found{}, common: map[string]int{}}
}

// note counts a text of the document that is added.
func (b *builder) note(m map[string]*found, key, text string, s Source) {
	f := m[key]
	if f == nil {
		f = &found{text: strings.Clone(text)}
		m[strings.Clone(key)] = f
	}
	if f.last == b.docs {
		return
	}
	f.last = b.docs
	f.count++
	if len(f.sources) < maxSources {
		f.sources = append(f.sources, s)
	}
}

// add adds a document.
func (b *builder) add(d Document) {
	b.docs++
	title := strings.Join(strings.Fields(d.Title), " ")
	if words := Words(title); len(words) > 0 && len(words) <= maxWords && len(title) <= maxText && len(b.titles) < maxEntries {
		b.note(b.titles, strings.Join(words, " "), title, d.Source)
	}
	if b.full || b.docs > maxPhraseDocs {
		return
	}
	left := maxTexts
	seen := map[string]bool{}
	for _, text := range d.Texts {
		for !utf8.ValidString(text[:min(left, len(text))]) && left > 0 {
			left--
		}
		text = text[:min(left, len(text))]
		left -= len(text)
		for _, run := range runs(text) {
			b.addRun(run, d.Source, seen)
		}
	}
	for w := range seen {
		if n, known := b.common[w]; !known && b.stop(w) {
			b.common[w] = math.MaxInt32
		} else {
			b.common[w] = n + 1
		}
	}
	if len(b.phrases) > maxCounted {
		b.forget()
	}
}

// addRun counts the phrases of two and three words of a run of them.
func (b *builder) addRun(run []string, s Source, seen map[string]bool) {
	keys := make([]string, len(run))
	for i, w := range run {
		keys[i] = edits.Bare(strings.ToLower(w))
		seen[keys[i]] = true
	}
	for n := 2; n <= 3; n++ {
		for i := 0; i+n <= len(run); i++ {
			if content(keys[i]) && content(keys[i+n-1]) {
				b.note(b.phrases, strings.Join(keys[i:i+n], " "), strings.ToLower(strings.Join(run[i:i+n], " ")), s)
			}
		}
	}
}

// content reports whether a word may begin or end a phrase: it is no number and no short one.
func content(w string) bool {
	return utf8.RuneCountInString(w) > 2 && !strings.ContainsFunc(w, unicode.IsDigit)
}

// forget drops the phrases of fewest documents until half of them are left, or all are in several.
func (b *builder) forget() {
	for least := 1; least < LeastShared && len(b.phrases) > maxCounted/2; least++ {
		for key, f := range b.phrases {
			if f.count <= least && f.last != b.docs {
				delete(b.phrases, key)
			}
		}
	}
	b.full = len(b.phrases) > maxCounted
}

// runs returns the words of a text between its punctuation.
func runs(text string) (out [][]string) {
	var run []string
	start := -1
	for i, r := range text + "." {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || start >= 0 && (r == '\'' || r == '-') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			run, start = append(run, strings.TrimRight(text[start:i], "'-")), -1
		}
		if r != ' ' && len(run) > 0 {
			out, run = append(out, run), nil
		}
	}
	return out
}

// index returns the index of what was added.
func (b *builder) index() *Index {
	var entries []entry
	for key, f := range b.titles {
		entries = append(entries, entry{Completion: Completion{f.text, Title, f.sources}, key: key, weight: titleWeight + math.Log2(float64(f.count))})
	}
	often := max(minCommon, b.docs/10)
	bounded := func(words []string) bool {
		return b.common[words[0]] <= often && b.common[words[len(words)-1]] <= often
	}
	part := map[string]bool{} // phrases that only occur in a longer one
	for key, f := range b.phrases {
		if words := strings.Fields(key); len(words) == 3 && f.count >= LeastShared && bounded(words) {
			for _, inner := range []string{words[0] + " " + words[1], words[1] + " " + words[2]} {
				if g := b.phrases[inner]; g != nil && g.count == f.count {
					part[inner] = true
				}
			}
		}
	}
	for key, f := range b.phrases {
		if f.count < LeastShared || part[key] || !bounded(strings.Fields(key)) {
			continue
		}
		if key = strings.Join(Words(key), " "); b.titles[key] == nil {
			entries = append(entries, entry{Completion: Completion{f.text, Phrase, slices.Clip(f.sources)}, key: key, weight: math.Log2(float64(f.count))})
		}
	}
	return newIndex(entries)
}
