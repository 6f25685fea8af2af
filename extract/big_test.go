package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
)

// readBig reads a stream and returns its documents, its errors and the error of Reader.
func readBig(in, name string, o Options) (docs []Document, wrong []string, err error) {
	err = Reader(context.Background(), strings.NewReader(in), name, Auto, o, func(d Document) error {
		docs = append(docs, d)
		return nil
	}, func(e ItemError) error {
		wrong = append(wrong, e.Reason)
		return nil
	})
	return docs, wrong, err
}

func wordFile(t *testing.T, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i]}) // not packed
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, members[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A file or message may be far longer than its text: pictures, attachments and what code has put
// out are not read.
func TestTextIsAPartOfAFile(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	letter := func(id, text string) string {
		return "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nMessage-ID: <" + id + ">\nSubject: A letter\nContent-Type: multipart/mixed; boundary=b\n\n" +
			"--b\nContent-Type: text/plain\n\n" + text + "\n--b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + long + "\n--b--\n\n"
	}
	notebook := func(text string) string {
		return fmt.Sprintf(`{"metadata":{"a":[1]},"cells":[{"cell_type":"code","source":["%s"],"outputs":[{"data":{"image/png":"%s"}}]}],"nbformat":4}`, text, long)
	}
	word := func(text string) string {
		return wordFile(t, "word/document.xml", `<w:document xmlns:w="w"><w:p><w:r><w:t>`+text+`</w:t></w:r></w:p></w:document>`, "word/media/a.png", long)
	}
	for name, make := range map[string]func(string) string{
		"a.eml":   func(text string) string { return letter("a", text) },
		"a.mbox":  func(text string) string { return letter("a", text) + letter("b", text) },
		"a.ipynb": notebook,
		"a.docx":  word,
	} {
		var most, held int64
		o := Options{MaxFile: 1 << 20, MaxText: 4 << 10, Hold: func(n int64) error {
			held += n
			most = max(most, held)
			return nil
		}}
		docs, wrong, err := readBig(make("words"), name, o)
		if err != nil || len(wrong) > 0 || len(docs) == 0 || !strings.Contains(docs[0].Fields["text"].(string), "words") {
			t.Errorf("%s: %d documents, wrong %q, %v", name, len(docs), wrong, err)
		}
		if most < int64(len(long)) || most > 1<<20 || held != 0 {
			t.Errorf("%s: held %d bytes at most and %d at the end", name, most, held)
		}
		if _, wrong, _ = readBig(make(strings.Repeat("words ", 1000)), name, o); len(wrong) == 0 || !strings.Contains(wrong[0], "text is longer than the limit of 4096 bytes") {
			t.Errorf("%s with much text: %q", name, wrong)
		}
		full := errors.New("full")
		o.Hold = func(int64) error { return full }
		if docs, wrong, err = readBig(make("words"), name, o); !errors.Is(err, full) || len(docs)+len(wrong) > 0 {
			t.Errorf("%s where there is no room: %d documents, wrong %q, %v", name, len(docs), wrong, err)
		}
	}
}

// A file of known size is in memory once, with little beside it.
func TestFileIsHeldOnce(t *testing.T) {
	const size = 4 << 20
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte("a word\n\n"), size/8), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{0, size} { // the default, and all of the file
		var most, held int64
		o := Options{MaxFile: limit, Hold: func(n int64) error {
			held += n
			most = max(most, held)
			return nil
		}}
		stats, err := Walk(t.Context(), []string{path}, o, func(Document) error { return nil }, nil)
		if err != nil || stats.Documents != 1 || most < size || most > size+4096 || held != 0 {
			t.Errorf("limit %d: %d documents, %v; %d bytes are held at most, %d at the end, of a file of %d", limit, stats.Documents, err, most, held, size)
		}
	}
}

// What is made to take many times its length takes no more than a few.
func TestMemoryOfHostileFiles(t *testing.T) {
	const size = 8 << 20
	fill := func(front, s, end string) string { return front + strings.Repeat(s, size/len(s)) + end }
	nested := "From: a@example.org\nSubject: s\n"
	for range 16 {
		nested += "Content-Type: message/rfc822\n\nFrom: b@example.org\nSubject: s\n"
	}
	var heads strings.Builder
	for i := 0; heads.Len() < size; i++ {
		fmt.Fprintf(&heads, "A%x:b\n", i)
	}
	for name, in := range map[string]string{
		"messages in messages.eml": fill(nested+"Content-Type: image/png\n\n", "xxxxxxxxx\n", ""),
		"headers.eml":              "From: a\n" + heads.String() + "\nwords",
		"cells.ipynb":              fill(`{"cells":[{}`, `,{}`, `]}`),
		"lines.ipynb":              fill(`{"cells":[{"cell_type":"code","source":["words"`, `,""`, `]}]}`),
	} {
		before := inUse()
		var most atomic.Int64
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				most.Store(max(most.Load(), inUse()))
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		_, _, err := readBig(in, name, Options{})
		close(stop)
		<-done
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		grown := most.Load() - before
		t.Logf("%s: %d MiB", name, grown>>20)
		if grown > 8*size {
			t.Errorf("%s: %d bytes in memory for %d", name, grown, size)
		}
	}
}

// inUse collects what is garbage and returns the bytes of the heap that are none.
func inUse() int64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}
