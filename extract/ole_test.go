package extract

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"example.com/searchd/extract/office"
)

// oleOf packs streams, paths and contents by turns, as a compound file of version 3. Siblings are a
// list.
func oleOf(t testing.TB, members ...string) []byte {
	t.Helper()
	type entry struct {
		name               string
		kind               byte
		next, child, start uint32
		size               int
	}
	entries := []entry{{name: "Root Entry", kind: 5, next: 0xffffffff, child: 0xffffffff}}
	storages := map[string]int{"": 0}
	var fat, miniFAT []uint32
	var mini, sectors bytes.Buffer
	put := func(data []byte) uint32 { // into whole sectors
		first := uint32(len(fat))
		for i := 0; i < len(data); i += 512 {
			fat = append(fat, uint32(len(fat)+1))
			sectors.Write(append(slices.Clone(data[i:min(i+512, len(data))]), make([]byte, max(0, 512-(len(data)-i)))...))
		}
		if len(data) == 0 {
			return 0xfffffffe
		}
		fat[len(fat)-1] = 0xfffffffe
		return first
	}
	add := func(parent int, e entry) int {
		e.next, e.child = entries[parent].child, 0xffffffff
		entries[parent].child = uint32(len(entries))
		entries = append(entries, e)
		return len(entries) - 1
	}
	for i := 0; i < len(members); i += 2 {
		path := strings.Split(members[i], "/")
		parent := 0
		for k := range path[:len(path)-1] {
			full := strings.Join(path[:k+1], "/")
			n, ok := storages[full]
			if !ok {
				n = add(parent, entry{name: path[k], kind: 1})
				storages[full] = n
			}
			parent = n
		}
		data := []byte(members[i+1])
		e := entry{name: path[len(path)-1], kind: 2, size: len(data)}
		if len(data) >= 4096 {
			e.start = put(data)
		} else if e.start = 0xfffffffe; len(data) > 0 {
			e.start = uint32(len(miniFAT))
			for k := 0; k < len(data); k += 64 {
				miniFAT = append(miniFAT, uint32(len(miniFAT)+1))
				mini.Write(append(slices.Clone(data[k:min(k+64, len(data))]), make([]byte, max(0, 64-(len(data)-k)))...))
			}
			miniFAT[len(miniFAT)-1] = 0xfffffffe
		}
		add(parent, e)
	}
	entries[0].start, entries[0].size = put(mini.Bytes()), mini.Len()
	numbers := func(list []uint32) []byte {
		var b []byte
		for _, n := range list {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	miniAt := put(numbers(miniFAT))
	var directory []byte
	for _, e := range entries {
		b := make([]byte, 128)
		name := utf16.Encode([]rune(e.name))
		for i, u := range name {
			binary.LittleEndian.PutUint16(b[2*i:], u)
		}
		binary.LittleEndian.PutUint16(b[64:], uint16(2*len(name)+2))
		b[66] = e.kind
		binary.LittleEndian.PutUint32(b[68:], 0xffffffff)
		binary.LittleEndian.PutUint32(b[72:], e.next)
		binary.LittleEndian.PutUint32(b[76:], e.child)
		binary.LittleEndian.PutUint32(b[116:], e.start)
		binary.LittleEndian.PutUint32(b[120:], uint32(e.size))
		directory = append(directory, b...)
	}
	directoryAt := put(directory)
	parts := len(fat)/127 + 1
	fatAt := len(fat)
	for range parts {
		fat = append(fat, 0xfffffffd)
	}
	sectors.Write(append(numbers(fat), bytes.Repeat([]byte{0xff}, parts*512-4*len(fat))...))
	head := make([]byte, 512)
	copy(head, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	binary.LittleEndian.PutUint16(head[26:], 3)
	binary.LittleEndian.PutUint16(head[30:], 9)
	binary.LittleEndian.PutUint32(head[44:], uint32(parts))
	binary.LittleEndian.PutUint32(head[48:], directoryAt)
	binary.LittleEndian.PutUint32(head[60:], miniAt)
	binary.LittleEndian.PutUint32(head[68:], 0xfffffffe)
	for i := range 109 {
		n := uint32(0xffffffff)
		if i < parts {
			n = uint32(fatAt + i)
		}
		binary.LittleEndian.PutUint32(head[76+4*i:], n)
	}
	return append(head, sectors.Bytes()...)
}

func TestOLE(t *testing.T) {
	big := strings.Repeat("0123456789", 1000)
	b := oleOf(t, "a", "small", "big", big, "s/t/deep", "deeper", "empty", "", "s/Other", strings.Repeat("x", 100))
	f, err := office.OpenOLE(b)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"A": "small", "big": big, "s/T/deep": "deeper", "empty": "", "s/other": strings.Repeat("x", 100), "s": "", "none": ""} {
		if got := string(f.Stream(path)); got != want {
			t.Errorf("%s = %.50q, want %.50q", path, got, want)
		}
	}
	// Loops in chains and in the directory end.
	for i := 512; i+4 <= len(b); i += 4 {
		for _, n := range []uint32{0, 1, 0xffffffff - 1} {
			bad := slices.Clone(b)
			binary.LittleEndian.PutUint32(bad[i:], n)
			if f, err := office.OpenOLE(bad); err == nil {
				for _, name := range f.Names {
					if len(f.Stream(name)) > len(b) {
						t.Fatalf("%d at %d: %s is longer than the file", n, i, name)
					}
				}
			}
		}
	}
}

// biff writes records: kinds and data by turns.
func biff(records ...any) string {
	var b []byte
	for i := 0; i < len(records); i += 2 {
		data := records[i+1].(string)
		b = binary.LittleEndian.AppendUint16(b, uint16(records[i].(int)))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
		b = append(b, data...)
	}
	return string(b)
}

// le writes numbers: of two bytes, or as a float64.
func le(numbers ...any) string {
	var b []byte
	for _, n := range numbers {
		switch n := n.(type) {
		case int:
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
		case string:
			b = append(b, n...)
		}
	}
	return string(b)
}

func xlsOf(t testing.TB, globals, sheet string, more ...string) []byte {
	front := biff(0x809, le(0x600, 5)) + globals
	at := len(front) + len(biff(0x85, le(0, 0, 0, "\x05\x00Costs"))) + len(biff(0x0a, ""))
	book := front + biff(0x85, le(at, 0, 0, "\x05\x00Costs"), 0x0a, "") + biff(0x809, le(0x600, 0x10)) + sheet + biff(0x0a, "")
	return oleOf(t, append([]string{"Workbook", book}, more...)...)
}

func TestXLS(t *testing.T) {
	formats := biff(0x41e, le(164, 4, "\x000.0%"), 0xe0, le(0, 0), 0xe0, le(0, 164), 0xe0, le(0, 14), 0xe0, le(0, 46))
	sst := biff(0xfc, le(3, 0, 3, 0, 4, "\x00Paid", 3, "\x01d\x00\xe9\x00"), 0x3c, le("\x00j", 4, "\x08", 1, "rich", 0, 0))
	info := le("\xfe\xff", 0, 0, 0, strings.Repeat("\x00", 16), 1, 0, strings.Repeat("\x00", 16), 48, 0) + le(60, 0, 2, 0, 1, 0, 24, 0, 2, 0, 32, 0, 2, 0, 1252, 0, 30, 0, 6, 0, "Caf\xe9s\x00\x00\x00")
	cells := biff(0xfd, le(0, 0, 0, 0, 0), 0xfd, le(0, 1, 0, 1, 0), 0xfd, le(0, 2, 0, 2, 0), 0xfd, le(0, 3, 0, 9, 9),
		0x203, le(1, 0, 1, .125), 0x203, le(1, 1, 2, 43496.0), 0x27e, le(1, 2, 0, 100<<2|3, 0), 0xbd, le(1, 3, 0, 5<<2|2, 0, 0, 7<<2|2, 0, 4), 0x205, le(1, 5, 0, "\x01\x00"), 0x205, le(1, 6, 0, "\x07\x01"),
		6, le(2, 0, 3, 1.0625, 0, 0, 0), 6, le(2, 1, 0, 0, 0, 0, 0xffff, 0), 0x207, le(4, "\x00calc"), 6, le(2, 2, 0, 1, 1, 0, 0xffff, 0), 0x204, le(3, 0, 0, 5, "\x00label"),
		0x1b6, le(0, 0, 0, 0, 0, 4, 8, 0, 0), 0x3c, "\x00note", 0x3c, "xxxxxxxx", 0x809, le(0x600, 0x20), 0x203, le(9, 9, 0, 1.0), 0x100d, le(0, "\x05\x00Chart"), 0x0a, "")
	const want = "Costs\n\nPaid | déj | rich\n12.5% | 2019-01-31 | 1 | 5 | 7 | TRUE\n25:30:00 | calc | TRUE\nlabel\n\nnote\nChart"
	whole := xlsOf(t, formats+sst, cells, "\x05SummaryInformation", info)
	old := biff(0x809, le(0x500, 5), 0x42, le(1251), 0x85, le(33, 0, 0, "\x04\xcb\xe8\xf1\xf2"), 0x0a, "", 0x809, le(0x500, 0x10), 0x204, le(0, 0, 0, 3, "\xe4\xe0\x21"), 0x0a, "")
	for _, tt := range []struct {
		name, file string
		b          []byte
		want       string
	}{
		{"workbook", "a.xls", whole, "a.xls Cafés " + want},
		{"under another name", "a.xlsx", whole, "a.xlsx Cafés " + want},
		{"of a Mac", "a.xls", xlsOf(t, biff(0x22, le(1))+formats, biff(0x203, le(0, 0, 2, 42034.0))), "a.xls a Costs\n\n2019-01-31"},
		{"Excel 95", "a.xls", oleOf(t, "Book", old), "a.xls a Лист\n\nда!"},
		{"Excel 4", "a.xls", []byte(biff(0x409, le(0, 0x10), 0x204, le(0, 0, 0, 4, "text"), 0x203, le(1, 0, 0, 5.0), 0x0a, "")), "a.xls a text\n5"},
		{"encrypted", "a.xls", xlsOf(t, biff(0x2f, le(1)), ""), "a.xls: an encrypted workbook; save it without a password"},
		{"no cells", "a.xls", xlsOf(t, "", ""), "a.xls: no text in a workbook of 2560 bytes"},
		{"no workbook", "a.xls", oleOf(t, "WordDocument", "x"), "a.xls: not a workbook: it has no cells"},
		{"cut off", "a.xls", oleOf(t, "Workbook", strings.TrimSuffix(string(openedOLE(t, whole).Stream("Workbook")), biff(0x0a, ""))), "a.xls a " + strings.TrimSuffix(want, "\n\nnote\nChart") + "; a.xls: warning: the document is damaged or too large (damaged workbook); the rest is left out"},
		{"HTML", "a.xls", []byte("<table><tr><td>a<td>b</table>"), "a.xls a a | b"},
		{"of today", "a.xls", docxOf(t, "xl/workbook.xml", xlsMain, "xl/_rels/workbook.xml.rels", xlsRels, "xl/worksheets/sheet1.xml", "<row><c><v>1</v></c></row>"), "a.xls a Costs\n\n1"},
		{"tabs", "a.xls", []byte("name\tn\nx\t1\n"), "a.xls name\tn name\tn\nx\t1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readBytes(t, tt.b, tt.file, Options{}).ids("title", "text"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	many := xlsOf(t, biff(0xfc, le(1, 0, 1, 0, 8000, "\x00"+strings.Repeat("word ", 1600))), strings.Repeat(biff(0xfd, le(0, 0, 0, 0, 0)), 1000))
	if out := readBytes(t, many, "a.xls", Options{MaxText: 1 << 20}); len(out.docs) != 1 || len(out.errors) != 1 || !strings.Contains(out.errors[0].Reason, "its text is longer than the limit") {
		t.Errorf("one text in many cells: %v", out.errors)
	}
}

func openedOLE(t testing.TB, b []byte) *office.OLE {
	f, err := office.OpenOLE(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func FuzzXLS(f *testing.F) {
	f.Add([]byte(xlsOf(f, biff(0xfc, le(1, 0, 1, 0, 4, "\x00Paid"), 0xe0, le(0, 14)), biff(0xfd, le(0, 0, 0, 0, 0), 0x203, le(1, 0, 0, 43496.0), 0x1b6, le(0, 0, 0, 0, 0, 4, 8, 0, 0), 0x3c, "\x00note"))))
	fuzzReader(f, "in.xls")
}
