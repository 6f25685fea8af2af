package encoder

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder/tokenizer"
)

// TestStatic compares both layouts of static models with the mean of the rows, in float64.
func TestStatic(t *testing.T) {
	const vocab, dim = 818, 7
	w := draw(8, map[string][]int{"embedding.weight": {vocab, dim}})
	table := w["embedding.weight"]
	texts := append(sampleTexts, "日本語", "a ᚠ b", strings.Repeat("fox ", 700), strings.Repeat("ᚠ ", 600)+"fox")
	modules := `[{"idx":0,"name":"0","path":"0_StaticEmbedding","type":"sentence_transformers.models.StaticEmbedding"}]`
	normal := strings.Replace(modules, "]", `,{"idx":1,"name":"1","path":"1_Normalize","type":"x.Normalize"}]`, 1)
	native := weights{"embeddings": table}
	weighted := weights{"embeddings": &array{shape: []int{5, dim}, x: table.x[:5*dim]}, "weights": draw(9, map[string][]int{"weights": {vocab}})["weights"]}
	tokenizerJSON := string(variant(t, nil)["tokenizer.json"].Data)
	plainFiles := func(modules, tensors string) map[string]string {
		return map[string]string{"modules.json": modules, "0_StaticEmbedding/model.safetensors": tensors, "0_StaticEmbedding/tokenizer.json": tokenizerJSON}
	}
	nativeFiles := func(config, tensors string) map[string]string {
		return map[string]string{"modules.json": "", "config.json": config, "model.safetensors": tensors}
	}
	cut := plainFiles(modules, string(w.safetensors()))
	cut["0_StaticEmbedding/tokenizer.json"] = strings.Replace(tokenizerJSON, `"truncation": null`, `"truncation": {"direction":"Left","max_length":9,"strategy":"LongestFirst","stride":0}`, 1)
	mapped := withMapping(weighted.safetensors(), vocab, 5)
	const model2vec = `{"model_type":"model2vec","normalize":%t}`
	fifth := func(id int32) []float64 { r := int(id) % 5; return table.x[r*dim : (r+1)*dim] }
	weight := func(id int32) float64 { return weighted["weights"].x[id] }
	tests := []struct {
		name      string
		files     map[string]string
		row       func(id int32) []float64
		weight    func(id int32) float64
		native    bool
		normalize bool
	}{
		{"StaticEmbedding", plainFiles(modules, string(w.safetensors())), nil, nil, false, false},
		{"StaticEmbedding, table of model2vec, Normalize", plainFiles(normal, string(native.safetensors())), nil, nil, false, true},
		{"StaticEmbedding, cut", cut, nil, nil, false, false},
		{"StaticEmbedding, mapping and weights of model2vec", plainFiles(modules, mapped), fifth, weight, false, false},
		{"model2vec", nativeFiles(fmt.Sprintf(model2vec, false), string(native.safetensors())), nil, nil, true, false},
		{"model2vec, normalize", nativeFiles(fmt.Sprintf(model2vec, true), string(native.safetensors())), nil, nil, true, true},
		{"model2vec, mapping and weights", nativeFiles(fmt.Sprintf(model2vec, false), mapped),
			fifth, weight, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refusedPooling(t, variant(t, test.files), "max")
			mustLoad(t, variant(t, test.files), Options{Pooling: "mean"})
			m := mustLoad(t, variant(t, test.files), Options{})
			unknown, _ := m.Tokenizer().ID("[UNK]")
			checkRows(t, m, func(id int32) (row []float64) {
				if test.native && id == unknown {
					return make([]float64, dim)
				}
				if test.row == nil {
					return table.x[int(id)*dim : (int(id)+1)*dim]
				}
				for _, x := range test.row(id) {
					row = append(row, test.weight(id)*x)
				}
				return row
			})
			if m.Dim() != dim || m.Info().Family != "static" || m.Info().Normalize != test.normalize {
				t.Errorf("Info() = %+v", m.Info())
			}
			if n := m.Tokenizer().StoredLength(); n > 0 && m.MaxSeqLength() != n {
				t.Errorf("MaxSeqLength() = %d, want %d", m.MaxSeqLength(), n)
			}
			for i, got := range encode(t, m, EncodeOptions{}, texts...) {
				want, n := make([]float64, dim), 0
				ids := m.Tokenizer().EncodeBare(texts[i]).IDs
				if n := m.Tokenizer().StoredLength(); n > 0 {
					ids = ids[max(0, len(ids)-n):]
				}
				for _, id := range ids {
					if test.native && (id == unknown || n == 512) {
						continue
					}
					n++
					row, factor := table.x[int(id)*dim:(int(id)+1)*dim], 1.0
					if test.row != nil {
						row, factor = test.row(id), test.weight(id)
					}
					for j := range want {
						want[j] += factor * row[j]
					}
				}
				length := 0.0
				for j := range want {
					want[j] /= float64(max(n, 1))
					length += want[j] * want[j]
				}
				for j := range want {
					if test.normalize {
						want[j] /= max(math.Sqrt(length), 1e-12)
					}
					if math.Abs(want[j]-float64(got[j])) > 1e-6 {
						t.Errorf("text %d: dimension %d is %v, want %v", i, j, got[j], want[j])
					}
				}
			}
		})
	}
	int8s := mustLoad(t, variant(t, nativeFiles(fmt.Sprintf(model2vec, false), withInt8("embeddings", vocab, dim))), Options{})
	checkRows(t, int8s, func(id int32) []float64 {
		row := make([]float64, dim)
		if unknown, _ := int8s.Tokenizer().ID("[UNK]"); id != unknown {
			for i := range row {
				row[i] = float64(int8(int(id)*dim + i))
			}
		}
		return row
	})
	m := mustLoad(t, variant(t, tests[0].files), Options{})
	short := mustLoad(t, variant(t, tests[4].files), Options{MaxSeqLength: 3}) // of model2vec, where unknown tokens do not count
	ends := encode(t, short, EncodeOptions{Truncate: tokenizer.Left}, "a b ᚠ c d e ᚠ f", "d e f", "b")
	begins := encode(t, short, EncodeOptions{}, "a b ᚠ c d e ᚠ f", "a b c", "d e f", "b")
	if !slices.Equal(ends[0], ends[1]) || !slices.Equal(ends[0], begins[2]) || !slices.Equal(ends[2], begins[3]) || !slices.Equal(begins[0], begins[1]) {
		t.Errorf("cut on the left %v, on the right %v", ends, begins)
	}
	short = mustLoad(t, variant(t, cut), Options{MaxSeqLength: 3}) // whose file cuts the left of what is longer than 9
	if v := encode(t, short, EncodeOptions{}, "x x a b c d e f g h i", "g h i", "d e f g h i"); !slices.Equal(v[0], v[1]) || !slices.Equal(v[2], v[1]) {
		t.Errorf("cut where the file says: %v", v)
	}
	if _, err := m.Inspect(context.Background(), "a", InspectOptions{}); err == nil {
		t.Error("Inspect of a static model gave no error")
	}
	for _, test := range tests {
		mustLoad(t, variant(t, test.files), Options{Pooling: m.Info().Pooling[0]})
		if _, err := Load(variant(t, test.files), Options{Pooling: "cls"}); err == nil {
			t.Errorf("%s: took another pooling than the mean", test.name)
		}
	}
	if _, err := Load(variant(t, nativeFiles(fmt.Sprintf(model2vec, false), withMapping(weighted.safetensors(), vocab, 6))), Options{}); err == nil {
		t.Error("a mapping to row 5 of 5 gave no error")
	}
}

// checkRows compares the vectors of single tokens with the rows of the table.
func checkRows(t *testing.T, m *Model, row func(id int32) []float64) {
	t.Helper()
	v, err := m.TokenVectors()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, v.Dim)
	for id := range v.Vocab {
		v.Read(got, id)
		for i, want := range row(int32(id)) {
			if math.Abs(float64(got[i])-want) > 1e-6 {
				t.Fatalf("token %d, component %d: %v, want %v", id, i, got[i], want)
			}
		}
	}
}

// withInt8 is a file with one tensor [rows, columns] of I8 whose elements are their places, modulo
// 256.
func withInt8(name string, rows, columns int) string {
	header := fmt.Sprintf(`{%q:{"dtype":"I8","shape":[%d,%d],"data_offsets":[0,%d]}}`, name, rows, columns, rows*columns)
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for i := range rows * columns {
		out = append(out, byte(i))
	}
	return string(out)
}

// withMapping adds the tensor mapping, id modulo rows as I64, to a file.
func withMapping(file []byte, vocab, rows int) string {
	n := binary.LittleEndian.Uint64(file)
	header, data := string(file[8:8+n]), file[8+n:]
	header = strings.TrimSuffix(header, "}") + fmt.Sprintf(`,"mapping":{"dtype":"I64","shape":[%d],"data_offsets":[%d,%d]}}`, vocab, len(data), len(data)+8*vocab)
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	out = append(out, data...)
	for i := range vocab {
		out = binary.LittleEndian.AppendUint64(out, uint64(i%rows))
	}
	return string(out)
}
