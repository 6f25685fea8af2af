package tokenizer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/sugarme/tokenizer/spm"
)

// rustRecord is a line of testdata/rust.jsonl: a pipeline and what Hugging Face's tokenizers 0.23.2
// (Rust) makes of some texts with it. The texts are random strings of characters that are hard for
// one step or another.
type rustRecord struct {
	Name        string
	Model       string                     // bytes: one token per byte; words: every word is unknown
	File        string                     // testdata/File.json, changed by the following
	InlineModel json.RawMessage            `json:"inline_model"`
	Set         map[string]json.RawMessage // top-level fields
	SetModel    map[string]json.RawMessage `json:"set_model"`
	AppendBytes bool                       `json:"append_bytes"` // <0x00> to <0xFF> at the end of a Unigram vocabulary
	AddedFrom   *int                       `json:"added_from"`   // the added tokens of the first line, ids from here
	Cases       []struct {
		T string
		I []int32
		O [][2]int // spans in bytes, where they are meant to be equal
		D *string  // decoded
	}
	Pairs []struct {
		A, B string
		Max  int
		I, Y []int32
	}
}

const wordsModel = `{"type":"WordLevel","vocab":{"[UNK]":0},"unk_token":"[UNK]"}`

func bytesModel() json.RawMessage {
	vocab := make(map[string]int)
	for i := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", i)] = i
	}
	v, _ := json.Marshal(vocab)
	return json.RawMessage(fmt.Sprintf(`{"type":"BPE","byte_fallback":true,"vocab":%s,"merges":[]}`, v))
}

// file returns the tokenizer.json of the record.
func (r *rustRecord) file(t *testing.T, added []map[string]any) []byte {
	t.Helper()
	all := make(map[string]json.RawMessage)
	switch {
	case r.Model == "bytes":
		all["model"] = bytesModel()
	case r.Model == "words":
		all["model"] = json.RawMessage(wordsModel)
	case r.InlineModel != nil:
		all["model"] = r.InlineModel
	default:
		raw, err := os.ReadFile("testdata/" + r.File + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var model map[string]json.RawMessage
		unmarshal(t, raw, &all)
		unmarshal(t, all["model"], &model)
		maps.Copy(model, r.SetModel)
		if r.AppendBytes {
			v := bytes.TrimSuffix(bytes.TrimSpace(model["vocab"]), []byte("]"))
			for i := range 256 {
				v = fmt.Appendf(v, `,["<0x%02X>",-20]`, i)
			}
			model["vocab"] = append(v, ']')
		}
		all["model"] = marshal(t, model)
	}
	maps.Copy(all, r.Set)
	if r.AddedFrom != nil {
		var list []map[string]any
		for i, a := range added {
			a = maps.Clone(a)
			a["id"] = *r.AddedFrom + i
			list = append(list, a)
		}
		all["added_tokens"] = marshal(t, list)
	}
	return bytes.ReplaceAll(marshal(t, all), []byte(`"nmt_nfkc"`), marshal(t, base64.StdEncoding.EncodeToString(spm.NmtNfkc())))
}

func unmarshal(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEqualsRust(t *testing.T) {
	f, err := os.Open("testdata/rust.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	var added []map[string]any
	records, texts := 0, 0
	for in.Scan() {
		var r rustRecord
		unmarshal(t, in.Bytes(), &r)
		if r.Name == "added" {
			unmarshal(t, r.Set["added_tokens"], &added)
			continue
		}
		records++
		texts += len(r.Cases) + len(r.Pairs)
		t.Run(r.Name, func(t *testing.T) {
			tok, err := New(r.file(t, added), Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, tok)
		})
	}
	if in.Err() != nil || records < 190 || texts < 900 {
		t.Fatalf("%d records with %d texts, %v", records, texts, in.Err())
	}
}

func (r *rustRecord) check(t *testing.T, tok *Tokenizer) {
	for _, c := range r.Cases {
		e := tok.Encode(c.T, 0)
		if !slices.Equal(e.IDs, c.I) {
			t.Errorf("Encode(%q)\n got %v\nwant %v", c.T, e.IDs, c.I)
			continue
		}
		checkSpans(t, tok, c.T, e)
		for i, o := range c.O {
			if e.Spans[i] != (Span{o[0], o[1]}) {
				t.Errorf("Encode(%q): span %d is %v, want %v", c.T, i, e.Spans[i], o)
			}
		}
		if c.D != nil {
			if got := tok.Decode(c.I, false); got != *c.D {
				t.Errorf("Decode(%v) = %q, want %q", c.I, got, *c.D)
			}
		}
	}
	for _, p := range r.Pairs {
		e := tok.EncodePair(p.A, p.B, p.Max)
		if !slices.Equal(e.IDs, p.I) || !slices.Equal(e.TypeIDs, p.Y) {
			t.Errorf("EncodePair(%q, %q, %d)\n got %v %v\nwant %v %v", p.A, p.B, p.Max, e.IDs, e.TypeIDs, p.I, p.Y)
		}
	}
}

// checkSpans requires a span inside the text for each id.
func checkSpans(t *testing.T, tok *Tokenizer, text string, e Encoding) {
	t.Helper()
	if len(e.IDs) != len(e.Spans) || len(e.IDs) != len(e.TypeIDs) {
		t.Fatalf("Encode(%q): %d ids, %d type ids, %d spans", text, len(e.IDs), len(e.TypeIDs), len(e.Spans))
	}
	for i, s := range e.Spans {
		if s.Start < 0 || s.End < s.Start || s.End > len(text) {
			t.Fatalf("Encode(%q): span %d is %v", text, i, s)
		}
	}
}

func load(t testing.TB, path string, o Options) *Tokenizer {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := New(b, o)
	if err != nil {
		t.Fatalf("New(%s): %v", path, err)
	}
	return tok
}
