package extract

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tarOf packs members, names and contents by turns.
func tarOf(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o600})
		if err == nil {
			_, err = io.WriteString(w, members[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rawZIP returns an archive with one member that is changed before it is written.
func rawZIP(t testing.TB, change func(h *zip.FileHeader), data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "a.txt", CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)), Method: zip.Store}
	change(h)
	f, err := w.CreateRaw(h)
	if err == nil {
		_, err = io.WriteString(f, data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchives(t *testing.T) {
	nested := []byte("deepest")
	for _, name := range []string{"t.txt", "1.zip", "2.zip", "3.zip", "4.zip"} {
		nested = docxOf(t, name, string(nested))
	}
	squeezed := func(n int) string {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression)
		_, _ = w.Write(bytes.Repeat([]byte("a"), n)) // a Buffer does not fail
		w.Close()
		return b.String()
	}
	bomb := squeezed(4 << 20)
	files := []string{"notes/a.md", "# A\n\nalpha", "b.csv", "id,text\n1,rent\n", "c.go", "package c", ".hidden/d.txt", "x", "__MACOSX/e.txt", "x", "dir/", "", "empty.txt", " \n", "blob", "\x00\x01"}
	const want = "a.zip!/notes/a.md alpha; 1 rent"
	for _, tt := range []struct {
		name, file string
		b          []byte
		o          Options
		want       string
	}{
		{"as a folder", "a.zip", docxOf(t, files...), Options{}, want},
		{"tar", "a.tar", tarOf(t, files...), Options{}, strings.ReplaceAll(want, ".zip", ".tar")},
		{"tar, packed", "a.tar.gz", pack(t, tarOf(t, files...)), Options{}, strings.ReplaceAll(want, ".zip", ".tar.gz")},
		{"names", "a.zip", docxOf(t, "../../x.txt", "one", `C:\y.txt`, "two", "x.txt", "three", "caf\x82.txt", "four", "/x.txt", "five", "a\nb.txt", "six"), Options{},
			`a.zip!/x.txt one; a.zip!/C:/y.txt two; a.zip!/x (2).txt three; a.zip!/café.txt four; a.zip!/x (3).txt five; a.zip!/a\nb.txt six`},
		{"mail in it", "a.zip", docxOf(t, "m.eml", parted("mixed", "\nbody", attachedAs("b.txt", "text/plain", "attached"))), Options{}, "a.zip!/m.eml!/b.txt attached; a.zip!/m.eml body"},
		{"in mail", "a.eml", []byte(parted("mixed", "\nbody", attachedAs("b.zip", "x/y", string(docxOf(t, "c.txt", "packed", "d.jsonl", `{"id":"1","text":"row"}`))))), Options{},
			"a.eml!/b.zip!/c.txt packed; a.eml!/b.zip#1 row; a.eml body"},
		{"faults of members", "a.zip", docxOf(t, "a.docx", "x", "b.csv", "id,t\n\"1", "c.txt", "fine"), Options{},
			`a.zip!/c.txt fine; a.zip: "a.docx": not a Word document: zip: not a valid zip file; a.zip: "b.csv", line 2: field 1: the quote is not closed before the end of the file`},
		{"encrypted", "a.zip", rawZIP(t, func(h *zip.FileHeader) { h.Flags |= 1 }, "text"), Options{}, `a.zip: "a.txt": encrypted; unpack it with its password`},
		{"another method", "a.zip", rawZIP(t, func(h *zip.FileHeader) { h.Method = 14 }, "text"), Options{}, `a.zip: "a.txt": zip: unsupported compression algorithm`},
		{"a wrong sum", "a.zip", rawZIP(t, func(h *zip.FileHeader) { h.CRC32 = 7 }, "text"), Options{}, `a.zip: "a.txt": cannot be read: zip: checksum error`},
		{"a bomb", "a.zip", rawZIP(t, func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 4<<20 }, bomb), Options{}, `a.zip: "a.txt": unpacks to more than the limit of 100 to 1`},
		{"a bomb that lies", "a.zip", rawZIP(t, func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 10 }, bomb), Options{}, `a.zip: "a.txt": cannot be read: zip: not a valid zip file`},
		{"more than all", "a.zip", docxOf(t, "a.txt", "one", "b.txt", "two", "c.txt", "three"), Options{MaxUnpacked: 5}, `a.zip!/a.txt one; a.zip: "b.txt": the archive unpacks to more than its limit; a.zip: the archive unpacks to more than its limit of 5 bytes; the rest is left out`},
		{"more than all, tar", "a.tar", tarOf(t, "a.txt", "one", "b.txt", "two", "c.txt", "three"), Options{MaxUnpacked: 5}, `a.tar!/a.txt one; a.tar: "b.txt": cannot be read: the archive unpacks to more than its limit; a.tar: the archive unpacks to more than its limit of 5 bytes; the rest is left out`},
		{"too deep", "a.zip", nested, Options{}, `a.zip: "4.zip": "3.zip": "2.zip": "1.zip": "t.txt": files inside one another deeper than the limit of 4`},
		{"no files", "a.zip", docxOf(t, "dir/", ""), Options{}, "a.zip: an archive without files"},
		{"no archive", "a.zip", []byte("PK words"), Options{}, "a.zip: not a ZIP archive: zip: not a valid zip file"},
		{"no tar", "a.tar", []byte("words"), Options{}, "a.tar: not an archive that can be read: unexpected EOF"},
		{"too long a directory", "a.zip", docxOf(t, strings.Repeat("n", 1<<16-1), "", "x.txt", "x"), Options{}, "a.zip!/x.txt x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, tt.b, tt.file, tt.o)
			if got := out.ids("text"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			// From a file it is read where it is.
			path := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(path, tt.b, 0o600); err != nil {
				t.Fatal(err)
			}
			var docs []string
			stats, err := Walk(t.Context(), []string{path}, tt.o, func(d Document) error { docs = append(docs, d.ID); return nil }, func(ItemError) error { return nil })
			if err != nil || len(docs) != len(out.docs) || stats.Bytes != int64(len(tt.b)) || stats.Documents != len(docs) || stats.Errors != len(out.errors) {
				t.Errorf("Walk: %v %v, %+v", docs, err, stats)
			}
		})
	}
}

// The directory of a ZIP archive costs memory; it has a limit where it is read from a file, too.
func TestArchiveDirectory(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range maxDirectory / (1 << 15) * 2 {
		if _, err := w.Create(fmt.Sprint(i, strings.Repeat("n", 1<<15))); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	out := readBytes(t, b.Bytes(), "a.zip", Options{})
	if got := out.ids(); got != "a.zip: "+errDirectory.Error() {
		t.Errorf("got %.300q", got)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(docxOf(f, "a.txt", "x", "b/c.csv", "id,t\n1,x\n", "d.zip", string(docxOf(f, "e.md", "# x"))))
	f.Add(tarOf(f, "a.txt", "x", "b.eml", parted("mixed", attachedAs("a.zip", "", "x"))))
	fuzzReader(f, "in.zip")
}
