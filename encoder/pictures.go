package encoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"example.com/searchd/encoder/picture"
	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/pooling"
)

// Errors of a checkpoint that encodes only texts or only pictures.
var (
	ErrNoPictures = errors.New("encoder: the checkpoint does not encode pictures")
	ErrNoTexts    = errors.New("encoder: the checkpoint encodes pictures only, no texts")
)

// Picture is a picture prepared for one checkpoint.
type Picture struct {
	pixels []float32 // [patches, C*P*P]
}

// vision encodes pictures.
type vision struct {
	*Model    // the tower's stack and memory; it shares the goroutines of the model for texts
	processor *picture.Processor
}

// towers maps a model_type to the function that reads its encoder of pictures.
var towers = map[string]func(*fields) *architecture{
	"vit":    vit,
	"clip":   clipVision,
	"siglip": siglipVision,
}

// loadVision reads the encoder of pictures of a checkpoint that has one.
func (m *Model) loadVision(fsys fs.FS, dir string, f *fields, ck *safetensors.Checkpoint) error {
	a, err := readHalf(f, towers)
	if err != nil {
		return err
	}
	v := &vision{Model: &Model{options: m.options, dry: m.dry, slots: m.slots}}
	if v.processor, err = picture.ReadProcessor(fsys, dir, classes[a.family], a.patches.size); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if m.dry {
		v.stack = &stack{architecture: a, layers: make([]*layer, len(a.specs))}
	} else {
		v.spaces = make(chan *workspace, m.options.Threads)
		if v.stack, err = loadStack(ck, a, m.options.Precision); err != nil {
			return err
		}
		v.after = v.stack.vector.modules()
	}
	v.describeStack()
	v.pool.modes = []pooling.Mode{pooling.CLSMode}
	v.dim = cmp.Or(a.vector.out, a.hidden)
	m.images = v
	return nil
}

// classes are the image processors of checkpoints whose file names none.
var classes = map[string]string{"vit": "ViT", "clip": "CLIP", "siglip": "Siglip"}

// loadPictureModel reads a checkpoint that encodes pictures only.
func (m *Model) loadPictureModel(fsys fs.FS, dir string, f *fields) error {
	if m.dry {
		return m.loadVision(fsys, dir, f, nil)
	}
	ck, err := safetensors.Open(fsys, dir)
	if err != nil {
		return err
	}
	defer ck.Close()
	if err := m.loadVision(fsys, dir, f, ck); err != nil {
		return err
	}
	name := m.info.Name
	m.info = m.images.info
	m.info.Name = name
	m.info.SHA256, err = ck.SHA256()
	return err
}

// loadSecondTower reads the encoder of pictures beside one of texts, if there is one.
func (m *Model) loadSecondTower(fsys fs.FS, dir string, f *fields, ck *safetensors.Checkpoint) error {
	a := m.stack.architecture
	if towers[a.family] == nil {
		return nil
	}
	if a.padded {
		if id, ok := m.tok.ID(a.padToken); ok {
			a.pad = int(id)
		}
		if a.pad >= a.vocab {
			return fmt.Errorf("%w: the padding token has the id %d, but the word table has %d rows", ErrConfig, a.pad, a.vocab)
		}
	}
	if err := m.loadVision(fsys, dir, f, ck); err != nil {
		return err
	}
	m.info.Parameters += m.images.info.Parameters
	return nil
}

// loadTowers completes a checkpoint that encodes pictures.
func (m *Model) loadTowers() error {
	v := m.images
	if m.stack == nil {
		if m.options.Pooling == "" {
			return nil
		}
		modes, err := parseModes(strings.Split(m.options.Pooling, "+"))
		if err != nil {
			return fmt.Errorf("%w: Options.Pooling: %v", ErrConfig, err)
		}
		v.pool.modes, v.dim = modes, v.info.Hidden*len(modes)
		return nil
	}
	a := m.stack.architecture
	if m.options.Pooling != "" || m.options.Sparse {
		return fmt.Errorf("%w: Options: a checkpoint of model_type %s has its own pooling and gives no sparse vectors", ErrConfig, a.family)
	}
	if a.vector.out != v.dim {
		return fmt.Errorf("%w: config.json: vectors of texts have %d dimensions, of pictures %d", ErrConfig, a.vector.out, v.dim)
	}
	m.pool = poolConfig{modes: []pooling.Mode{pooling.LastTokenMode}, includePrompt: true}
	m.after = m.stack.vector.modules()
	return nil
}

// modules returns the projection as a module after the pooling.
func (h *vectorHead) modules() []vectorModule {
	if h.projection == nil {
		return nil
	}
	return []vectorModule{&dense{linear: h.projection}}
}

// ReadPicture decodes a JPEG, PNG, GIF or WebP file and prepares it as the image processor of the
// checkpoint does. It returns ErrNoPictures, picture.ErrFormat or picture.ErrTooLarge.
func (m *Model) ReadPicture(file []byte, l picture.Limits) (*Picture, error) {
	if m.images == nil {
		return nil, ErrNoPictures
	}
	p, err := picture.Decode(file, l)
	if err != nil {
		return nil, err
	}
	spec := m.images.stack.patches
	return &Picture{picture.Patches(m.images.processor.Apply(p), spec.size, spec.patch)}, nil
}

// EncodePictures returns the vectors of pictures that ReadPicture of this model returned. Of o only
// Dimensions counts. It returns ErrNoPictures, ErrDimensions, ErrNotFinite or the error of ctx.
func (m *Model) EncodePictures(ctx context.Context, list []*Picture, o EncodeOptions) (*Result, error) {
	if m.images == nil {
		return nil, ErrNoPictures
	}
	v := m.images
	if o.Dimensions < 0 || o.Dimensions > v.dim {
		return nil, fmt.Errorf("%w: %d, want 0 or 1 to %d", ErrDimensions, o.Dimensions, v.dim)
	}
	return v.vectors(ctx, v.sequences(list), EncodeOptions{Dimensions: o.Dimensions})
}

// sequences returns a sequence of patches for each picture. All share the ids, which only count.
func (v *vision) sequences(list []*Picture) []sequence {
	ids := make([]int32, v.stack.patches.tokens())
	seqs := make([]sequence, len(list))
	for i, p := range list {
		seqs[i] = sequence{ids: ids, pixels: p.pixels}
	}
	return seqs
}
