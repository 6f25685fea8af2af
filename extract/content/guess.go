package content

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	icu "github.com/gogs/chardet"
	mozilla "github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Guess is the probable encoding of a text.
type Guess struct {
	Enc        encoding.Encoding
	name       string
	Confidence int // percent; 0 for what is assumed where nothing can be told
}

var windows1252 = Guess{Enc: charmap.Windows1252, name: "Windows-1252 (Latin-1)"}

func (g Guess) String() string {
	if g.Confidence == 0 {
		return fmt.Sprintf("not UTF-8; read as %s; ingest --encoding names another", g.name)
	}
	return fmt.Sprintf("not UTF-8; read as %s, a guess with a confidence of %d %%; ingest --encoding names another", g.name, g.Confidence)
}

const (
	maxGuessed = 16 << 10 // bytes that are looked at
	minMarks   = 8        // letters beyond ASCII from which another Latin alphabet than the Western one can be told
)

// supersets are the encodings that browsers use in place of others.
var supersets = map[string]string{
	"iso-8859-1": "windows-1252", "iso-8859-2": "windows-1250", "iso-8859-7": "windows-1253", "iso-8859-8-i": "windows-1255", "iso-8859-8": "windows-1255",
	"iso-8859-9": "windows-1254", "gb2312": "gb18030", "gb-18030": "gb18030", "cp932": "shift_jis", "maccyrillic": "windows-1251", "cp949": "euc-kr",
}

// GuessCharset guesses the encoding of b, which is not UTF-8. The detector mozilla is good at
// scripts, also of short texts; icu at Latin alphabets, where the letters of a language matter. A
// guess that decodes to control characters is dropped.
func GuessCharset(b []byte) Guess {
	if len(b) > maxGuessed {
		b = b[:maxGuessed]
		if end := bytes.LastIndexByte(b, '\n'); end > 0 {
			b = b[:end]
		}
	}
	high := 0
	for _, c := range b {
		if c >= utf8.RuneSelf {
			high++
		}
	}
	if r := mozilla.Detect(b); high >= 4 {
		least := .3
		if IsCharmap(r.Encoding) {
			least = .5
		}
		if g, ok := newGuess(r.Encoding, int(100*r.Confidence), b); ok && r.Confidence >= least && !isLatin(g, b) {
			return g
		}
	}
	if g, ok := guessAlphabet(b); ok {
		return g
	}
	if g, ok := guessPairs(b); ok {
		return g
	}
	r, err := icu.NewTextDetector().DetectBest(b)
	if err != nil {
		return windows1252
	}
	least := 20
	if g, ok := newGuess(r.Charset, r.Confidence, b); ok {
		if isLatin(g, b) && !tornAsWestern(b) {
			least = 35
		}
		if r.Confidence >= least && high >= minMarks {
			return g
		}
	}
	return windows1252
}

// newGuess reports false for unusual encodings and those that b cannot be in.
func newGuess(name string, confidence int, b []byte) (Guess, bool) {
	name = strings.ToLower(name)
	if s, ok := supersets[name]; ok {
		name = s
	}
	enc, err := ParseEncoding(name)
	switch {
	case err != nil, strings.HasPrefix(name, "utf"), strings.HasPrefix(name, "iso-2022"), strings.HasPrefix(name, "x-"), strings.HasPrefix(name, "mac"), name == "windows-1252":
		return Guess{}, false
	}
	s, err := Decode(b, enc)
	if err != nil || strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || unicode.Is(unicode.Co, r) || unicode.IsControl(r) && !unicode.IsSpace(r)
	}) {
		return Guess{}, false
	}
	return Guess{enc, name, min(confidence, 99)}, true
}

// pairEncodings are encodings of two bytes per character, with the first bytes of the characters
// that most texts consist of: the first level of each standard, and kana.
var pairEncodings = []struct {
	name   string
	common [][2]byte
}{
	{"shift_jis", [][2]byte{{0x81, 0x83}, {0x88, 0x98}}},
	{"big5", [][2]byte{{0xa4, 0xc6}}},
	{"euc-jp", [][2]byte{{0xa4, 0xa5}, {0xb0, 0xcf}}},
	{"euc-kr", [][2]byte{{0xb0, 0xc8}}},
	{"gb18030", [][2]byte{{0xb0, 0xd7}}},
}

const (
	minPairs  = 2  // characters of two bytes from which their encoding can be told
	surePairs = 4  // from which ASCII letters may be beside them, and Korean differs from Chinese
	leastPair = 90 // percent of them that are common
)

// guessPairs guesses the encoding of a text with too few characters of two bytes for the detectors,
// such as a table of names: most of them are common, and b is no Western text, which has letters of
// ASCII, no signs within words and none of the bytes that Windows-1252 lacks.
func guessPairs(b []byte) (best Guess, ok bool) {
	foreign := tornAsWestern(b)
	for _, unused := range []byte{0x81, 0x8d, 0x8f, 0x90, 0x9d} {
		foreign = foreign || bytes.IndexByte(b, unused) >= 0
	}
	for _, e := range pairEncodings {
		g, valid := newGuess(e.name, 0, b)
		if !valid {
			continue
		}
		pairs, common, letters, kana, low := 0, 0, 0, 0, 0 // low: second bytes that are ASCII
		for i := 0; i < len(b); i++ {
			switch c := b[i]; {
			case c >= utf8.RuneSelf:
				pairs++
				if slices.ContainsFunc(e.common, func(r [2]byte) bool { return r[0] <= c && c <= r[1] }) {
					common++
				}
				if c == 0xa4 || c == 0xa5 {
					kana++
				}
				if i++; i < len(b) && b[i] < utf8.RuneSelf {
					low++
				}
			case 'a' <= c|0x20 && c|0x20 <= 'z':
				letters++
			}
		}
		switch {
		case pairs < minPairs, 100*common < leastPair*pairs, pairs < surePairs && letters > 0, !foreign && letters > pairs,
			e.name == "euc-jp" && kana == 0, e.name == "euc-kr" && pairs < surePairs, e.name == "big5" && low == 0:
			continue
		}
		if g.Confidence = min(20+10*pairs, 80); e.name == "gb18030" { // or Japanese without kana
			g.Confidence = min(g.Confidence, 50)
		}
		return g, true
	}
	return Guess{}, false
}

// tornAsWestern reports whether b as Windows-1252 has signs within words, as in Za¿ó³æ.
func tornAsWestern(b []byte) bool {
	s, _ := Decode(b, charmap.Windows1252) // which has a character for each byte
	return len(signInWord.FindAllStringIndex(s, 2)) == 2
}

var signInWord = regexp.MustCompile(`\pL[¡-¬®-¿×÷]\pL`)

// isLatin reports whether most non-ASCII letters of b are Latin.
func isLatin(g Guess, b []byte) bool {
	s, _ := Decode(b, g.Enc) // which newGuess has done
	latin, others := 0, 0
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf || !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin++
		default:
			others++
		}
	}
	return latin >= others
}

// IsCharmap reports whether the encoding of that name has one byte per character.
func IsCharmap(name string) bool {
	enc, err := ParseEncoding(name)
	_, ok := enc.(*charmap.Charmap)
	return err == nil && ok
}

// alphabets are letters beyond ASCII, by encoding and language.
var alphabets = []struct {
	encoding string
	letters  []string
}{
	{"windows-1252", []string{"äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "åäöé", "æøåéó", "áðéíóúýþæö", "áéíóúëïöüè", "àçéèíïóòúü"}},
	{"windows-1250", central},
	{"iso-8859-2", central},
	{"windows-1254", []string{"çğıİöşüâîû"}},
	{"windows-1257", []string{"ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"}},
	{"windows-1256", []string{"ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأؤإئـًٌٍَُِّْپچژگ"}},
}

// central are the letters of Polish, Czech, Slovak, Hungarian, South Slavic languages and Romanian.
var central = []string{"ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"}

// minLetters is the number of letters beyond ASCII from which their alphabet is known.
const minLetters = 5

// guessAlphabet returns the first encoding in which all letters beyond ASCII of b, and what is
// between letters, belong to one language.
func guessAlphabet(b []byte) (Guess, bool) {
	for _, a := range alphabets {
		enc, err := ParseEncoding(a.encoding)
		if err != nil {
			continue
		}
		s, _ := Decode(b, enc)
		var marks []rune
		last := ' '
		for _, r := range strings.ToLower(s) {
			if r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsLetter(last) && !unicode.IsPunct(r) && !unicode.IsSpace(r)) {
				marks = append(marks, r)
			}
			last = r
		}
		if len(marks) < minLetters {
			continue
		}
		for _, letters := range a.letters {
			if !slices.ContainsFunc(marks, func(r rune) bool { return !strings.ContainsRune(letters, r) }) {
				if a.encoding == "windows-1252" {
					return windows1252, true
				}
				return Guess{enc, a.encoding, min(50+2*len(marks), 95)}, true
			}
		}
	}
	return Guess{}, false
}
