package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/pooling"
)

// static is a model without layers: the vector of a text is the mean of its tokens' rows.
type static struct {
	table  []float32 // [rows, D]
	dim    int
	drop   int32     // id that does not count; -1: none
	limit  int       // tokens that count; 0: all
	weight []float32 // [V]; nil: 1
	row    []int     // [V] row of each id; nil: the id
	vocab  int
}

// loadStatic reads the StaticEmbedding module of sentence-transformers, whose table may be that of
// model2vec. Texts are cut at the length in tokenizer.json. Source: sentence-transformers
// static_embedding.py.
func (m *Model) loadStatic(fsys fs.FS, dir string) error {
	if m.dry {
		return m.useStatic(fsys, dir, &static{vocab: maxVocab}, nil)
	}
	s := &static{drop: -1}
	ck, err := safetensors.Open(fsys, dir)
	if err != nil {
		return err
	}
	defer ck.Close()
	if err := s.readTable(ck, "embedding.weight", "embeddings"); err != nil {
		return err
	}
	if err := s.readMapping(ck); err != nil {
		return err
	}
	return m.useStatic(fsys, dir, s, ck)
}

// readTable reads the first of the named tensors as the table.
func (s *static) readTable(ck *safetensors.Checkpoint, names ...string) error {
	for _, name := range names {
		t, ok := ck.Tensor(name)
		if !ok {
			continue
		}
		if len(t.Shape) != 2 || t.Len() == 0 || t.Shape[0] > maxVocab || t.Shape[1] > maxHidden {
			return fmt.Errorf("%w: %s is %v, want [vocabulary, dimension]", ErrWeights, name, t.Shape)
		}
		s.vocab, s.dim = t.Shape[0], t.Shape[1]
		var err error
		s.table, err = ck.Numbers(name) // model2vec keeps no scale of its int8
		return err
	}
	return fmt.Errorf("%w: no tensor %v", ErrWeights, names)
}

func (m *Model) useStatic(fsys fs.FS, dir string, s *static, ck *safetensors.Checkpoint) (err error) {
	if p := m.options.Pooling; p != "" && p != pooling.MeanMode.String() {
		return fmt.Errorf("%w: Options.Pooling is %q, a static model has the mean only", ErrConfig, p)
	}
	if m.tok, err = readTokenizer(fsys, dir, tokenizer.Options{}, s.vocab); err != nil {
		return err
	}
	m.static = s
	m.pool = poolConfig{modes: []pooling.Mode{pooling.MeanMode}, includePrompt: true}
	m.maxLen = least(s.limit, m.options.MaxSeqLength, m.tok.StoredLength())
	if m.dry {
		return nil
	}
	m.info.SHA256, err = ck.SHA256()
	m.info.Family, m.info.Hidden, m.info.Vocab, m.info.Parameters = "static", s.dim, s.vocab, len(s.table)
	return err
}

// isModel2Vec recognises the layout of the model2vec library, which has no modules.json.
func isModel2Vec(fsys fs.FS) bool {
	f, err := readFields(fsys, "config.json")
	return err == nil && f.string("model_type", "") == "model2vec"
}

// loadModel2Vec reads the layout of model2vec: a table, optional weights of tokens, an optional
// mapping of ids to rows. Unknown tokens are skipped, and at most 512 tokens count. Source:
// model2vec model.py and persistence.py.
func (m *Model) loadModel2Vec(fsys fs.FS) error {
	f, err := readFields(fsys, "config.json")
	if err != nil {
		return err
	}
	s := &static{drop: -1, limit: 512}
	if f.bool("normalize", false) {
		m.after = append(m.after, normalize{})
	}
	if err := f.err(); err != nil {
		return err
	}
	if m.dry {
		return m.useStatic(fsys, ".", &static{vocab: maxVocab}, nil)
	}
	ck, err := safetensors.Open(fsys, ".")
	if err != nil {
		return err
	}
	defer ck.Close()
	if err := s.readTable(ck, "embeddings"); err != nil {
		return err
	}
	if err := s.readMapping(ck); err != nil {
		return err
	}
	if err := m.useStatic(fsys, ".", s, ck); err != nil {
		return err
	}
	unknown, err := unknownToken(fsys)
	if err != nil {
		return err
	}
	if id, ok := m.tok.ID(unknown); ok && unknown != "" {
		s.drop = id
	}
	return nil
}

// readMapping reads the optional tensors of model2vec.
func (s *static) readMapping(ck *safetensors.Checkpoint) error {
	rows := s.vocab
	if t, ok := ck.Tensor("mapping"); ok {
		ids, err := ck.Int64(t.Name)
		if err != nil {
			return err
		}
		s.vocab, s.row = len(ids), make([]int, len(ids))
		for i, r := range ids {
			if r < 0 || r >= int64(rows) {
				return fmt.Errorf("%w: mapping: element %d is %d, want a row from 0 to %d", ErrWeights, i, r, rows-1)
			}
			s.row[i] = int(r)
		}
	}
	if t, ok := ck.Tensor("weights"); ok {
		if t.Len() != s.vocab || len(t.Shape) != 1 {
			return fmt.Errorf("%w: weights is %v, want [%d]", ErrWeights, t.Shape, s.vocab)
		}
		var err error
		s.weight, err = ck.Float32(t.Name)
		return err
	}
	return nil
}

// unknownToken reads the name of the unknown token from tokenizer.json; empty if there is none.
func unknownToken(fsys fs.FS) (string, error) {
	b, err := readLimited(fsys, "tokenizer.json", maxTokenizerBytes)
	if err != nil {
		return "", err
	}
	var file struct {
		Model struct {
			UnkToken string `json:"unk_token"`
		} `json:"model"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return "", errors.Join(ErrConfig, err)
	}
	return file.Model.UnkToken, nil
}

// prefix returns the length of the longest prefix of ids in which at most limit count; 0 is no
// limit.
func (s *static) prefix(ids []int32, limit int) int {
	n := 0
	for i, id := range ids {
		if id == s.drop {
			continue
		}
		if n == limit && limit > 0 {
			return i
		}
		n++
	}
	return len(ids)
}

// vector writes the mean of the rows of ids to dst [D].
func (s *static) vector(dst []float32, ids []int32) {
	sum, n := make([]float64, s.dim), 0
	for _, id := range ids {
		if id == s.drop {
			continue
		}
		if s.limit > 0 && n == s.limit {
			break
		}
		n++
		row, weight := int(id), 1.0
		if s.row != nil {
			row = s.row[id]
		}
		if s.weight != nil {
			weight = float64(s.weight[id])
		}
		for j, v := range s.table[row*s.dim : (row+1)*s.dim] {
			sum[j] += weight * float64(v)
		}
	}
	for j, v := range sum {
		dst[j] = float32(v / float64(max(n, 1)))
	}
}
