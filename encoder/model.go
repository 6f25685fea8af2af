package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/pooling"
)

// Precision is the arithmetic of the linear layers.
type Precision uint8

// The precisions.
const (
	// Auto is Float32, or what a checkpoint recommends that is opened with package models.
	Auto Precision = iota
	// Float32 gives the vectors of sentence-transformers.
	Float32
	// Int8 rounds the weights of the layers to bytes, with a scale for each output channel, and
	// their inputs, with a scale for each token. It takes a quarter of the memory and changes the
	// vectors slightly.
	Int8
)

// String returns auto, f32 or int8.
func (p Precision) String() string {
	switch p {
	case Auto:
		return "auto"
	case Float32:
		return "f32"
	case Int8:
		return "int8"
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// ParsePrecision reads what String writes.
func ParsePrecision(s string) (Precision, error) {
	switch s {
	case "auto":
		return Auto, nil
	case "f32":
		return Float32, nil
	case "int8":
		return Int8, nil
	}
	return 0, fmt.Errorf("%w: precision %q, want auto, f32 or int8", ErrConfig, s)
}

// Options override settings of a checkpoint. The zero value changes nothing.
type Options struct {
	// Pooling replaces the pooling of the checkpoint: cls, max, mean, mean_sqrt_len_tokens,
	// weightedmean or lasttoken, or several joined by plus signs, each once, which are concatenated
	// in the order of this list. A static model has the mean only, a SPLADE checkpoint takes none.
	Pooling string
	// MaxSeqLength replaces the length in tokens, with special tokens, at which texts are cut.
	MaxSeqLength int
	// Precision is that of the linear layers.
	Precision Precision
	// Sparse loads the masked-language head of a checkpoint without modules.json for EncodeSparse.
	Sparse bool
	// Threads is the number of goroutines that compute at any time, over all calls together, at
	// most 4096; 0 means GOMAXPROCS.
	Threads int
	// MaxBatchTokens is how many tokens a goroutine works on together; a longer text is its own
	// batch. 0 means 1024. It bounds the memory: Threads workspaces of max(MaxBatchTokens,
	// MaxSeqLength) tokens.
	MaxBatchTokens int
}

const defaultBatchTokens = 1024

// Model is a loaded checkpoint. It is safe for concurrent use.
type Model struct {
	options  Options
	dry      bool    // weights are not read, see Check
	stack    *stack  // nil for static models
	static   *static // nil for transformers
	sparse   *sparse // nil for checkpoints that give no sparse vectors
	late     *late   // nil for checkpoints that give one vector for a text
	images   *vision // nil for checkpoints that encode no pictures
	tok      *tokenizer.Tokenizer
	pool     poolConfig
	after    []vectorModule
	prompts  prompts
	dim      int
	maxLen   int
	queryLen int  // the same for texts with the prompt for queries
	segments bool // whether the segment ids of the tokenizer count
	slots    chan struct{}
	spaces   chan *workspace
	info     Info
}

// Info describes a model.
type Info struct {
	Name       string   // _name_or_path of config.json; may be empty
	Family     string   // bert, xlm-roberta, modernbert, ...; static
	Layers     int      // applications of a layer; ALBERT's share their weights
	Hidden     int      // width of the token states
	Heads      int      // attention heads
	Inner      int      // width between the two products of the feed-forward part
	Dim        int      // width of the vectors
	MaxTokens  int      // where texts are cut, special tokens included
	Vocab      int      // rows of the word table
	Pooling    []string // names as in 1_Pooling
	Normalize  bool     // whether vectors leave with unit length
	Sparse     bool     // whether EncodeSparse can be used
	Texts      bool     // whether Encode can be used; false: the checkpoint encodes pictures only
	Pictures   bool     // whether EncodePictures can be used
	Late       bool     // whether EncodeLate can be used; Dim is the width of a token's vector
	Labels     int      // outputs of the classification head; 0: none
	Sigmoid    bool     // whether the output of a head with one label passes a sigmoid to become a score
	Prompts    map[string]string
	Default    string   // name of the default prompt; empty: none
	Similarity string   // cosine, dot, euclidean, manhattan or maxsim
	SHA256     [32]byte // of the weight files of the transformer
	Parts      Parts    // what else decides a vector
	Parameters int      // numbers in the tensors that are used
	Precision  Precision
}

// complete checks the options and sets defaults.
func (o *Options) complete() error {
	if _, err := ParsePrecision(o.Precision.String()); err != nil {
		return fmt.Errorf("%w: Options.Precision is %d, want Auto, Float32 or Int8", ErrConfig, o.Precision)
	}
	if o.Threads < 0 || o.MaxBatchTokens < 0 || o.MaxSeqLength < 0 {
		return fmt.Errorf("%w: Options: Threads %d, MaxBatchTokens %d, MaxSeqLength %d, want none below 0",
			ErrConfig, o.Threads, o.MaxBatchTokens, o.MaxSeqLength)
	}
	if o.Threads > maxThreads {
		return fmt.Errorf("%w: Options.Threads is %d, want 0 to %d", ErrConfig, o.Threads, maxThreads)
	}
	o.Precision = cmp.Or(o.Precision, Float32)
	if o.Threads == 0 {
		o.Threads = defaultThreads()
	}
	if o.MaxBatchTokens == 0 {
		o.MaxBatchTokens = defaultBatchTokens
	}
	return nil
}

// Load reads a checkpoint in the layout of sentence-transformers: modules.json, the transformer
// with config.json, model.safetensors (or shards) and tokenizer.json, pooling and further modules.
// A folder without modules.json is a plain transformer, pooled by the mean, or a cross-encoder. An
// unknown setting is an error, because slightly wrong vectors are worse than none.
func Load(fsys fs.FS, o Options) (*Model, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	m := &Model{options: o, slots: make(chan struct{}, o.Threads), spaces: make(chan *workspace, o.Threads)}
	refs, err := Modules(fsys)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	var parts Parts
	var partsErr error
	wg.Go(func() { parts, partsErr = readParts(fsys, refs) })
	err = m.loadModules(fsys, refs)
	if wg.Wait(); err != nil {
		return nil, err
	}
	m.info.Parts = parts
	if m.tok != nil {
		m.info.Parts.Tokenizer += m.tok.Replaced()
	}
	m.describe()
	return m, partsErr
}

// Check reads what Load reads except the weights, which need not exist. Its errors are those of
// Load with the zero Options; wrong names and shapes of tensors are not found.
func Check(fsys fs.FS) error {
	m := &Model{dry: true}
	refs, err := Modules(fsys)
	if err != nil {
		return err
	}
	return m.loadModules(fsys, refs)
}

func (m *Model) loadModules(fsys fs.FS, refs []Module) (err error) {
	if m.prompts, err = readPrompts(fsys); err != nil {
		return err
	}
	rest, err := m.loadFirst(fsys, refs)
	if err != nil {
		return err
	}
	m.dim = m.info.Hidden * len(m.pool.modes)
	if m.late != nil {
		m.dim = m.late.dim
	}
	if m.images != nil {
		m.dim = m.images.dim
	}
	own := len(m.after)
	for _, ref := range rest {
		mod, err := m.readVectorModule(fsys, ref, m.dim)
		if err != nil {
			return ref.missing(err)
		}
		if mod != nil {
			m.after = append(m.after, mod)
			m.dim = mod.width(m.dim)
		}
	}
	if v := m.images; v != nil {
		v.after, v.dim = append(v.after, m.after[own:]...), m.dim
	}
	return nil
}

// loadFirst reads the modules up to the pooling and returns the others.
func (m *Model) loadFirst(fsys fs.FS, refs []Module) (rest []Module, err error) {
	switch first := refs[0]; first.Class {
	case "StaticEmbedding":
		return refs[1:], m.loadStatic(fsys, first.Dir)
	case "Transformer", "CLIPModel":
		if len(refs) == 1 && isModel2Vec(fsys) {
			return nil, m.loadModel2Vec(fsys)
		}
		if len(refs) > 1 && refs[1].Class == "SpladePooling" { // since release 5.4
			return nil, m.loadSplade(fsys, refs)
		}
		if err := m.loadTransformer(fsys, first.Dir); err != nil {
			return nil, err
		}
	case "MLMTransformer":
		return nil, m.loadSplade(fsys, refs)
	default:
		return nil, fmt.Errorf("%w: modules.json: module %q at the beginning is not supported, want Transformer, MLMTransformer or StaticEmbedding",
			ErrConfig, first.Class)
	}
	if isLate(refs) {
		return nil, m.loadLate(fsys, refs)
	}
	if m.images != nil {
		return refs[1:], m.loadTowers()
	}
	if refs[0].Class == "CLIPModel" {
		return nil, fmt.Errorf("%w: modules.json: module \"CLIPModel\" wants a config.json of model_type clip", ErrConfig)
	}
	rest = refs[1:]
	if len(rest) > 0 && rest[0].Class == "WeightedLayerPooling" {
		if err := m.stack.readLayerPooling(fsys, rest[0].Dir, m.dry); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	m.pool = poolConfig{modes: []pooling.Mode{pooling.MeanMode}, includePrompt: true}
	if len(rest) > 0 && rest[0].Class == "Pooling" {
		if m.pool, err = readPooling(fsys, rest[0].Dir, m.stack.hidden); err != nil {
			return nil, rest[0].missing(err)
		}
		rest = rest[1:]
	} else if len(rest) == 0 && m.options.Sparse {
		err = m.loadSparse(fsys, ".")
	} else if len(rest) > 0 {
		err = fmt.Errorf("%w: modules.json: module %q after the transformer is not supported, want Pooling", ErrConfig, rest[0].Class)
	}
	if err != nil {
		return nil, err
	}
	if m.options.Pooling != "" {
		if m.pool.modes, err = parseModes(strings.Split(m.options.Pooling, "+")); err != nil {
			return nil, fmt.Errorf("%w: Options.Pooling: %v", ErrConfig, err)
		}
		slices.Sort(m.pool.modes)
		if n := len(m.pool.modes); len(slices.Compact(m.pool.modes)) < n {
			return nil, fmt.Errorf("%w: Options.Pooling is %q, want each mode once", ErrConfig, m.options.Pooling)
		}
	}
	return rest, nil
}

// loadSplade reads the modules of a sparse encoder: a transformer with its masked-language head,
// and SpladePooling.
func (m *Model) loadSplade(fsys fs.FS, refs []Module) error {
	if len(refs) != 2 || refs[1].Class != "SpladePooling" {
		return fmt.Errorf("%w: modules.json: want SpladePooling, and nothing else, after %s", ErrConfig, refs[0].Class)
	}
	if m.options.Pooling != "" {
		return fmt.Errorf("%w: Options.Pooling is %q, a checkpoint of the SPLADE kind has its own", ErrConfig, m.options.Pooling)
	}
	if err := m.loadTransformer(fsys, refs[0].Dir); err != nil {
		return err
	}
	if err := m.loadSparse(fsys, refs[0].Dir); err != nil {
		return err
	}
	return m.sparse.readPooling(fsys, refs[1].Dir)
}

// loadTransformer reads config, weights and tokenizer from dir.
func (m *Model) loadTransformer(fsys fs.FS, dir string) error {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; the folder of a checkpoint has config.json, tokenizer.json and model.safetensors", err)
	}
	if err != nil {
		return err
	}
	a, err := readArchitecture(f)
	if err != nil {
		return err
	}
	m.info.Name = f.string("_name_or_path", "")
	if a.head != nil {
		m.info.Sigmoid = readSigmoid(f)
		if m.prompts.sigmoid != nil {
			m.info.Sigmoid = *m.prompts.sigmoid
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	if a.patches != nil {
		return m.loadPictureModel(fsys, dir, f)
	}
	o, err := m.readLength(fsys, dir, a)
	if err != nil {
		return err
	}
	if m.dry {
		m.stack = &stack{architecture: a, layers: make([]*layer, len(a.specs))}
		m.info.Hidden = a.hidden
		if m.tok, err = readTokenizer(fsys, dir, o, a.vocab); err != nil {
			return err
		}
		return m.loadSecondTower(fsys, dir, f, nil)
	}
	ck, err := safetensors.Open(fsys, dir)
	if err != nil {
		return err
	}
	defer ck.Close()
	var wg sync.WaitGroup
	var tokErr, hashErr error
	wg.Go(func() { m.tok, tokErr = readTokenizer(fsys, dir, o, a.vocab) })
	wg.Go(func() { m.info.SHA256, hashErr = ck.SHA256() })
	m.stack, err = loadStack(ck, a, m.options.Precision)
	wg.Wait()
	if err := errors.Join(tokErr, err, hashErr); err != nil {
		return err
	}
	m.info.Family, m.info.Layers, m.info.Hidden, m.info.Heads, m.info.Inner = a.family, len(a.specs), a.hidden, a.heads, a.intermediate
	m.info.Vocab, m.info.Parameters = a.vocab, m.stack.parameters
	if m.stack.head != nil {
		m.info.Labels = m.stack.head.labels
	}
	if m.options.Precision == Int8 && !a.preNorm {
		return m.smooth(ck)
	}
	return m.loadSecondTower(fsys, dir, f, ck)
}

// maxTokenizerBytes bounds tokenizer.json.
const maxTokenizerBytes = 64 << 20

// readTokenizer reads tokenizer.json from the transformer's folder or, as some checkpoints have it,
// from the root.
func readTokenizer(fsys fs.FS, dir string, o tokenizer.Options, vocab int) (*tokenizer.Tokenizer, error) {
	name := path.Join(dir, "tokenizer.json")
	b, err := readLimited(fsys, name, maxTokenizerBytes)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		name = "tokenizer.json"
		b, err = readLimited(fsys, name, maxTokenizerBytes)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingTokenizer(fsys, dir, err)
	}
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.New(b, o)
	if err != nil {
		return nil, fmt.Errorf("%s%w", strings.TrimSuffix(name, "tokenizer.json"), err) // err begins with the file's name
	}
	if tok.Size() > vocab {
		return nil, fmt.Errorf("%w: %s: ids up to %d, but the word table has %d rows", ErrConfig, name, tok.Size()-1, vocab)
	}
	return tok, nil
}

// missingTokenizer names the tool that converts an older tokenizer file, if there is one.
func missingTokenizer(fsys fs.FS, dir string, err error) error {
	for _, name := range []string{"vocab.txt", "vocab.json", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"} {
		if _, statErr := fs.Stat(fsys, path.Join(dir, name)); statErr == nil {
			return fmt.Errorf("%w; to convert %s, load and save the tokenizer with AutoTokenizer of transformers", err, name)
		}
	}
	return err
}

// describe fills the rest of info.
func (m *Model) describe() {
	i := &m.info
	i.Dim, i.MaxTokens, i.Default, i.Similarity = m.dim, m.maxLen, m.prompts.defaultName, m.prompts.similarity
	for _, mode := range m.pool.modes {
		i.Pooling = append(i.Pooling, mode.String())
	}
	if n := len(m.after); n > 0 {
		_, i.Normalize = m.after[n-1].(normalize)
	}
	i.Sparse, i.Texts, i.Pictures = m.sparse != nil, m.tok != nil, m.images != nil
	if i.Late = m.late != nil; i.Late {
		i.Normalize = m.late.normalize
	}
	i.Prompts, i.Precision = m.prompts.byName, m.options.Precision
}

// Dim is the width of the vectors.
func (m *Model) Dim() int { return m.dim }

// MaxSeqLength is the number of tokens, special ones included, at which texts are cut.
func (m *Model) MaxSeqLength() int { return m.maxLen }

// Tokenizer is that of the checkpoint; nil if it encodes pictures only.
func (m *Model) Tokenizer() *tokenizer.Tokenizer { return m.tok }

// Info describes the model. The map in it is shared and must not be changed.
func (m *Model) Info() Info { return m.info }
