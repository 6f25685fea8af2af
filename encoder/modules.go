package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// Module is an entry of modules.json: the last segment of its class, and its folder.
type Module struct {
	Class string
	Dir   string
}

// missing adds to fs.ErrNotExist which module wants the folder.
func (r Module) missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; modules.json wants the folder %s for %s", err, r.Dir, r.Class)
	}
	return err
}

// Modules reads modules.json. The class paths differ between releases of sentence-transformers,
// their last segments do not. A folder without the file is a plain transformer, which
// sentence-transformers pools by the mean.
func Modules(fsys fs.FS) ([]Module, error) {
	const name = "modules.json"
	b, err := readLimited(fsys, name, maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return []Module{{"Transformer", "."}}, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, fmt.Errorf("%w: %s: want an array of 1 to 32 modules: %v", ErrConfig, name, err)
	}
	if len(entries) == 0 || len(entries) > 32 {
		return nil, fmt.Errorf("%w: %s: %d modules, want an array of 1 to 32", ErrConfig, name, len(entries))
	}
	refs := make([]Module, len(entries))
	for i, raw := range entries {
		f, err := parseFields(fmt.Sprintf("%s: module %d", name, i), raw)
		if err != nil {
			return nil, err
		}
		class, dir := f.string("type", ""), path.Clean(f.string("path", ""))
		if !fs.ValidPath(dir) {
			f.fail("path", "is %s, want a folder inside the checkpoint", f.text("path"))
		}
		if err := f.err(); err != nil {
			return nil, err
		}
		refs[i] = Module{Class: class[strings.LastIndexByte(class, '.')+1:], Dir: dir}
	}
	return refs, nil
}

// vectorModule is a step after pooling; it maps x [rows, In] to [rows, Out], perhaps in place.
type vectorModule interface {
	apply(x []float32, rows int) []float32
	width(in int) (out int)
}

// readVectorModule reads one of the modules that may follow the pooling. in is the width of its
// input, 0 if only the weights determine it.
func (m *Model) readVectorModule(fsys fs.FS, ref Module, in int) (vectorModule, error) {
	switch ref.Class {
	case "Normalize":
		return normalize{}, nil
	case "Dropout": // does nothing outside training
		return nil, nil
	case "Dense":
		return readDense(fsys, ref.Dir, in, m.dry, "sentence_embedding")
	case "LayerNorm":
		return readLayerNorm(fsys, ref.Dir, in, m.dry)
	}
	return nil, fmt.Errorf("%w: modules.json: module %q after the pooling is not supported, want one of Dense, LayerNorm, Normalize, Dropout",
		ErrConfig, ref.Class)
}

// normalize scales each vector to unit length.
type normalize struct{}

func (normalize) width(in int) int { return in }

func (normalize) apply(x []float32, rows int) []float32 {
	width := len(x) / max(rows, 1)
	for i := range rows {
		pooling.Normalize(x[i*width : (i+1)*width])
	}
	return x
}

// dense is a linear layer with activation.
type dense struct {
	linear *linear
	act    simd.Activation
}

func (d *dense) width(int) int { return d.linear.w.Out() }

func (d *dense) apply(x []float32, rows int) []float32 {
	y := make([]float32, rows*d.linear.w.Out())
	d.linear.mul(y, x, rows, d.act, nil)
	return y
}

// readDense reads a Dense module over what level names: vectors of texts or of tokens.
func readDense(fsys fs.FS, dir string, in int, dry bool, level string) (vectorModule, error) {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	if n := f.needInt("in_features", maxHidden); n != in && in > 0 && f.err() == nil {
		f.fail("in_features", "is %d, but the module before gives %d", n, in)
	}
	out := f.needInt("out_features", maxHidden)
	bias := f.bool("bias", true)
	act := f.denseActivation()
	f.want("use_residual", false)
	f.oneOf("module_input_name", level, level)
	f.oneOf("module_output_name", level, level)
	if err := f.err(); err != nil {
		return nil, err
	}
	if dry {
		return unread(out), nil
	}
	d := &dense{act: act}
	err = readWeights(fsys, dir, func(l *loader) { d.linear = l.linear("linear", out, in, bias) })
	return d, err
}

// denseActivation reads activation_function, an import path of which the last segment counts.
func (f *fields) denseActivation() simd.Activation {
	const name = "activation_function"
	class := f.string(name, "torch.nn.modules.activation.Tanh")
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "Identity":
		return simd.Identity
	case "Tanh":
		return simd.Tanh
	case "ReLU":
		return simd.ReLU
	case "GELU":
		return simd.GELU
	case "SiLU":
		return simd.SiLU
	}
	f.fail(name, "is %q, want a path that ends in Identity, Tanh, ReLU, GELU or SiLU", class)
	return simd.Identity
}

// layerNormModule is the LayerNorm of a checkpoint's modules.
type layerNormModule struct{ norm *norm }

func (m layerNormModule) width(in int) int { return in }

func (m layerNormModule) apply(x []float32, rows int) []float32 {
	m.norm.apply(x, x, rows)
	return x
}

func readLayerNorm(fsys fs.FS, dir string, in int, dry bool) (vectorModule, error) {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	if n := f.needInt("dimension", maxHidden); n != in && in > 0 && f.err() == nil {
		f.fail("dimension", "is %d, but the module before gives %d", n, in)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if dry {
		return unread(in), nil
	}
	var m layerNormModule
	const eps = 1e-5 // the default of torch.nn.LayerNorm, which the module does not change
	err = readWeights(fsys, dir, func(l *loader) { m.norm = l.norm("norm", in, layerNorm, true, eps) })
	return m, err
}

// unread is a module whose weights are not read; it is never applied.
type unread int

func (u unread) width(int) int { return int(u) }

func (unread) apply(x []float32, _ int) []float32 { return x }

// readWeights opens the checkpoint in dir and runs load twice, first dry.
func readWeights(fsys fs.FS, dir string, load func(*loader)) error {
	ck, err := safetensors.Open(fsys, dir)
	if err != nil {
		return err
	}
	defer ck.Close()
	if err := (&loader{ck: ck, dry: true, used: map[string]bool{}}).twice(load); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
