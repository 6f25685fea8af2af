package encoder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// Bounds of what a config may ask for, far above every published encoder: they keep sums and
// products small until the sizes of the tensors are checked.
const (
	maxLayers       = 512
	maxHeads        = 1024
	maxHidden       = 1 << 16
	maxIntermediate = 1 << 19
	maxVocab        = 1 << 22
	maxPositions    = 1 << 22
)

// architecture describes a family's transformer as read from its config: the choices of the stack
// and the names of its tensors. Letters of the shapes: V vocabulary, E width of the embedding
// tables, H hidden size, A heads, K key/value heads, D head size, I intermediate size.
type architecture struct {
	family   string
	prefixes []string // possible prefixes of all names; the first with which the word table exists is used

	vocab        int // V
	embedding    int // E; 0: H
	hidden       int // H
	heads        int // A
	kvHeads      int // K; 0: A
	headSize     int // D; 0: H/A
	intermediate int // I
	types        int // rows of the segment table
	maxTokens    int // longest sequence that the positions allow; 0: any
	statedTokens int // longest sequence that the config mentions although the positions allow more; 0: none

	words         []string   // [V, E]; names to try
	patches       *patchSpec // instead of words: the input is a picture; nil: it is a text
	typeTable     string     // [types, E]; "": none
	positions     positionTable
	embeddingNorm string // at width E; "": none
	projection    string // [H, E] with bias; "": none
	finalNorm     string // "": none

	norm       normKind
	normOffset float64 // added to the weights of all norms; 1 for Gemma
	wordScale  float64 // factor of the word table; 0: none
	eps        float64
	normBias   bool
	preNorm    bool // norm before the sub-layer and not after the residual
	parallel   bool // attention and feed-forward start from the same states, as in GPT-NeoX; with preNorm
	causal     bool
	scale      float64 // of the scores; 0: 1/sqrt(D)
	act        simd.Activation
	actFactor  float64 // act is applied to so many times its input, and divided by it; 0: 1
	alibi      bool
	relative   relativeTable
	transposed bool // linear weights are [in, out], as in GPT-2

	specs     []layerSpec
	layerRoot string       // prefix of the layers' names; unused tensors with it are an error
	adapters  *adapterSpec // nil: none
	head      *headSpec    // nil: none
	output    outputSpec
	mlm       *mlmSpec // nil: not supported; the checkpoint need not have it

	vector vectorSpec // of a family that encodes pictures
	end    int        // id of the token at which CLIP pools a text
	padded bool       // texts are filled up with the token pad
	pad    int        // of the config; that of the tokenizer, if it names one, takes its place

	padToken string // of the tokenizer; empty: none
}

type normKind uint8

const (
	layerNorm normKind = iota
	rmsNorm
)

// positionTable is a learned table that is added to the embeddings.
type positionTable struct {
	name   string // [rows, E]; "": none
	rows   int
	offset int // row of the first token
	padID  int // tokens with this id take row offset-1 and do not count, as in RoBERTa; -1: none

	sinusoidal bool // the table may be left out of the file and is then computed
	batched    bool // the table is [1, rows, E]
	halves     bool // of a computed table: sines in the first half of a row, cosines in the second
}

// relativeTable is a learned bias of the scores by distance bucket, shared by all layers, as in T5
// and MPNet.
type relativeTable struct {
	name        string // [rows, A]; "": none
	rows        int
	buckets     int // both directions together
	maxDistance int
	past        bool // all buckets are for keys before the query, as in the decoder of T5
}

// layerSpec names the tensors of one layer and its options. Layers with the same root share their
// weights.
type layerSpec struct {
	root              string
	query, key, value string // [A*D, H], [K*D, H], [K*D, H]
	qkv               string // instead of the three: [(A+2K)*D, H]
	byHead            bool   // qkv holds query, key and value of the first head, then of the second, ...
	interleaved       bool   // the rotation turns dimensions 2j and 2j+1 together; loading puts them j and j+D/2
	queryNorm         string
	keyNorm           string // RMSNorm over each head, before the rotation; "": none
	qkvBias           bool
	output            string // [H, A*D]
	outputBias        bool
	attentionNorm     string // "": identity
	outputNorm        string // of the output of attention before it is added; "": identity
	gate, up          string // [I, H]; gate "": a plain feed-forward
	fused             fusion // how one tensor holds gate and up, which is then named by up: [2I, H]
	upBias            bool
	down              string // [H, I]
	downBias          bool
	downNorm          string      // of the output of the feed-forward before it is added; "": identity
	experts           *expertSpec // instead of gate, up and down; nil: none
	feedForwardNorm   string
	cross             crossSpec // attention to the states of an encoder, between the other two parts
	rope              *rope
	window            int // keys at a distance above window-1 to either side are masked; 0: none
}

// crossSpec names the tensors of a layer's attention to the states of an encoder.
type crossSpec struct {
	query, key, value string // [A*D, H]; query "": none
	output            string // [H, A*D]
	bias              bool   // of all four
	norm              string
}

// outputSpec names the output of a language model: logits over the vocabulary from the last states.
type outputSpec struct {
	weight string  // [V, H]; "": the family does not generate
	tied   bool    // the word table takes its place
	bias   string  // [V] or [1, V], need not be in the file; "": none
	factor float64 // of the states; 0: 1
}

// fusion is how one tensor [2I, H] holds the two halves of a gated feed-forward.
type fusion uint8

const (
	separate fusion = iota
	gateUp          // act(first half) * second half
	upGate          // first half * act(second half)
)

// headSpec names the tensors of a classification head: pool, dense with activation, norm, linear. A
// name that begins with a slash takes no prefix.
type headSpec struct {
	mode          pooling.Mode
	dense         string // [H, H]; "": none
	denseBias     bool
	denseOptional bool
	act           simd.Activation
	norm          string
	out           string // [labels, H]
	outBias       bool
}

// families maps a model_type to the function that reads its config.
var families = map[string]func(*fields) *architecture{
	"bert":               bert,
	"roberta":            roberta,
	"xlm-roberta":        roberta,
	"camembert":          roberta,
	"distilbert":         distilbert,
	"mpnet":              mpnet,
	"albert":             albert,
	"electra":            electra,
	"t5":                 t5,
	"mt5":                t5,
	"nomic_bert":         nomic,
	"modernbert":         modernbert,
	"new":                gte,
	"gte":                gte,
	"llama":              llama,
	"mistral":            llama,
	"qwen2":              llama,
	"qwen3":              llama,
	"gpt2":               gpt2,
	"gemma3_text":        gemma,
	"jina_embeddings_v3": jinaV3,
	"eurobert":           llama,
	"neobert":            neobert,
	"gemma":              llama,
	"gpt_neox":           gptNeoX,
	"bart":               bart,
	"mbart":              bart,
	"pegasus":            bart,
	"marian":             bart,
	"vit":                vit,
	"clip":               clipText,
	"siglip":             siglipText,
}

// decoders maps the model_type of an encoder–decoder to the function that reads its second half.
var decoders = map[string]func(*fields) *architecture{
	"t5":      t5Decoder,
	"mt5":     t5Decoder,
	"bart":    bartDecoder,
	"mbart":   bartDecoder,
	"pegasus": bartDecoder,
	"marian":  bartDecoder,
}

// readArchitecture reads config.json. It returns every wrong field at once.
func readArchitecture(f *fields) (*architecture, error) { return readHalf(f, families) }

// readHalf reads the half of config.json that table knows.
func readHalf(f *fields, table map[string]func(*fields) *architecture) (*architecture, error) {
	model := f.string("model_type", "")
	read, ok := table[model]
	if !ok {
		f.fail("model_type", "is %q, want one of %s", model, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
		return nil, f.err()
	}
	a := read(f)
	if err := f.err(); err != nil {
		return nil, err
	}
	if a.embedding == 0 {
		a.embedding = a.hidden
	}
	if a.kvHeads == 0 {
		a.kvHeads = a.heads
	}
	if a.headSize == 0 {
		if a.hidden%a.heads != 0 {
			return nil, fmt.Errorf("%w: %s: hidden size %d is not divisible by %d attention heads", ErrConfig, f.file, a.hidden, a.heads)
		}
		a.headSize = a.hidden / a.heads
	}
	if a.heads%a.kvHeads != 0 {
		return nil, fmt.Errorf("%w: %s: %d attention heads are not divisible by %d key/value heads", ErrConfig, f.file, a.heads, a.kvHeads)
	}
	for _, l := range a.specs {
		if l.rope != nil && (l.rope.dims%2 != 0 || l.rope.dims < 2 || l.rope.dims > a.headSize) {
			return nil, fmt.Errorf("%w: %s: rotary positions over %d of %d dimensions of a head, want an even number", ErrConfig, f.file, l.rope.dims, a.headSize)
		}
	}
	return a, nil
}

// activation reads the name of an activation function.
func (f *fields) activation(name, def string) simd.Activation {
	switch s := f.string(name, def); s {
	case "gelu", "gelu_python":
		return simd.GELU
	case "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python_tanh":
		return simd.GELUTanh
	case "relu":
		return simd.ReLU
	case "silu", "swish":
		return simd.SiLU
	case "tanh":
		return simd.Tanh
	default:
		f.fail(name, "is %q, want one of gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, silu, swish, tanh", s)
		return simd.Identity
	}
}

// readActivation reads hidden_act. Besides the usual names there is quick_gelu, which is
// x·sigmoid(1.702x) and so a scaled SiLU.
func (a *architecture) readActivation(f *fields, def string) {
	const name, quick, factor = "hidden_act", "quick_gelu", 1.702
	if f.string(name, def) == quick {
		a.act, a.actFactor = simd.SiLU, factor
		return
	}
	a.act = f.activation(name, def)
}

// eps reads the epsilon of the norms.
func (f *fields) eps(name string, def float64) float64 { return f.float(name, def, 1e-30, 1) }

// classifies reports whether the checkpoint is one for sequence classification.
func (f *fields) classifies() bool {
	return slices.ContainsFunc(f.strings("architectures"), func(s string) bool { return strings.HasSuffix(s, "ForSequenceClassification") })
}

// numbered returns the prefix of the names of layer i.
func numbered(root string, i int) string { return fmt.Sprintf("%s%d.", root, i) }

// repeat makes the specs of n layers.
func repeat(n int, layer func(i int) layerSpec) []layerSpec {
	specs := make([]layerSpec, n)
	for i := range specs {
		specs[i] = layer(i)
	}
	return specs
}
