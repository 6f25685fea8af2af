package extract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// cutValues returns what valueReader makes of data, up to its end or its first error.
func cutValues(data []byte, array bool, limit int64) (values []string, err error) {
	v := valueReader{r: bufio.NewReaderSize(bytes.NewReader(data), 16), limit: limit, line: 1, array: array}
	for {
		value, _, _, err := v.next()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return values, err
		}
		values = append(values, string(value))
	}
}

// json.Decoder is the slow twin: the elements of a valid array come out one by one, byte for byte.
func compareJSON(t *testing.T, data []byte) {
	t.Helper()
	var want []json.RawMessage
	if json.Unmarshal(data, &want) != nil || !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		return
	}
	got, err := cutValues(data, true, 1<<20)
	if err != nil || len(got) != len(want) {
		t.Fatalf("valueReader(%q) = %q, %v, want %q", data, got, err, want)
	}
	var run bytes.Buffer
	for i := range want {
		if got[i] != string(want[i]) {
			t.Errorf("valueReader(%q)[%d] = %q, want %q", data, i, got[i], want[i])
		}
		run.Write(want[i])
		run.WriteByte('\n')
	}
	if got, err := cutValues(run.Bytes(), false, 1<<20); err != nil || len(got) != len(want) {
		t.Errorf("valueReader(%q) = %q, %v, want %q", run.Bytes(), got, err, want)
	}
}

func TestJSONTwin(t *testing.T) {
	for _, s := range []string{
		`[]`, ` [ ] `, `[{}]`, `[{"a":"]}\"\\"},{"b":[1,[2,{}]]} , "s","", 1.5e3,true,null,[]]`, "[\n{\"a\":1}\n,\n{\"b\":\"\\n\"}\n]\n", `[[[[]]]]`, `[0]`,
	} {
		compareJSON(t, []byte(s))
	}
}

func TestJSONLimit(t *testing.T) {
	got, err := cutValues([]byte(`[{"a":"12345"},{"a":"123456"},"x"]`), true, 13)
	if err != nil || strings.Join(got, "|") != `{"a":"12345"}||"x"` {
		t.Errorf("got %q, %v", got, err)
	}
}

// The content hash does not depend on the order of keys, and differs for different content.
func TestContentID(t *testing.T) {
	a := readBytes(t, []byte(`{"text":"x","n":1}`+"\n"+`{"n":1.0,"text":"x"}`+"\n"+`{"n":2,"text":"x"}`), "a.jsonl", Options{})
	if len(a.docs) != 3 || a.docs[0].ID != a.docs[1].ID || a.docs[0].ID == a.docs[2].ID || len(a.docs[0].ID) != 32 {
		t.Errorf("got %v", a)
	}
}
