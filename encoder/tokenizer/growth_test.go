package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// charsmap is that of a normalizer that writes content for key.
func charsmap(key, content string) string {
	const offset = 256 // of the children of each unit: in a block of their own
	units := make([]uint32, offset*(len(key)+2))
	at := uint32(0)
	for i := range len(key) {
		units[at] |= (uint32(offset*(i+1)) ^ at) << 10
		at = uint32(offset*(i+1)) ^ uint32(key[i])
		units[at] = uint32(key[i])
	}
	units[at] |= 1<<8 | (uint32(offset*(len(key)+1))^at)<<10 // the unit there holds the place of content, 0
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return base64.StdEncoding.EncodeToString(append(b, content+"\x00"...))
}

// TestGrowth compares what steps say of themselves with what becomes of every character below
// U+30000, where those end that decompose.
func TestGrowth(t *testing.T) {
	precompiled := func(raw string) normalizer {
		n, err := parsePrecompiled([]byte(`{"precompiled_charsmap":"` + raw + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, c := range map[string]struct {
		step normalizer
		want int
	}{
		"NFC":          {newUnicodeForm(norm.NFC), 3},
		"NFD":          {newUnicodeForm(norm.NFD), 3},
		"NFKC":         {newUnicodeForm(norm.NFKC), 11},
		"NFKD":         {newUnicodeForm(norm.NFKD), 11},
		"a to 9 bytes": {precompiled(charsmap("a", "123456789")), 9},
		"中 to 7 bytes": {precompiled(charsmap("中", "1234567")), 3},
		"中 to nothing": {precompiled(charsmap("中", "")), 1},
		"XLM-RoBERTa":  {load(t, "testdata/unigram.json", Options{}).steps[0], 11},
	} {
		if got := c.step.(grower).growth(); got != c.want {
			t.Errorf("%s: growth %d, want %d", name, got, c.want)
		}
		most, cur, next := 1, new(aligned), new(aligned)
		for r := range rune(0x30000) {
			if cur.set(utf8.AppendRune(cur.b[:0], r)); c.step.normalize(next, cur) {
				most = max(most, (len(next.b)+len(cur.b)-1)/len(cur.b))
			}
		}
		if most != c.want {
			t.Errorf("%s: a character becomes %d times as long, want %d", name, most, c.want)
		}
	}
}

// TestNewTakesLittle reads files that ask for much more memory than they have bytes.
func TestNewTakesLittle(t *testing.T) {
	with := func(normalizers string) []byte {
		return fmt.Appendf(nil, `{"model":%s,"normalizer":{"type":"Sequence","normalizers":[%s]}}`, tinyWordPiece, normalizers)
	}
	list := func(n int, what string) string { return strings.Repeat(what+",", n-1) + what }
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"many steps": {with(list(2000, `{"type":"BertNormalizer"}`)), "at least 65 steps, allowed are at most 64"},
		"steps in Sequences": {with(list(100, `{"type":"Sequence","normalizers":[`+list(60, `{"type":"BertNormalizer"}`)+`]}`)),
			"at least 120 steps, allowed are at most 64"},
		"growth by charsmaps": {with(list(3, `{"type":"Precompiled","precompiled_charsmap":"`+charsmap("a", strings.Repeat("a", 500))+`"}`)),
			"more than 256 bytes of one"},
		"growth by a form": {with(list(3, `{"type":"Replace","pattern":{"String":"ل"},"content":"ﷺ"},{"type":"NFKD"}`)), "more than 256 bytes of one"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := New(c.file, Options{})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+10*len(c.file)); took > most {
			t.Errorf("%s: a file of %d bytes took %d, want at most %d", name, len(c.file), took, most)
		}
	}
}
