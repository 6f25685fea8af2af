package picture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"example.com/searchd/internal/strictjson"
)

// defaults are those of the image processors of transformers, by their class without Pil, Fast,
// ImageProcessor or FeatureExtractor at the end.
var defaults = map[string]Processor{
	"CLIP":   {Blend: true, Shortest: 224, Filter: Bicubic, CropW: 224, CropH: 224, Mean: &clipMean, Deviation: &clipDeviation},
	"ViT":    {Width: 224, Height: 224, Filter: Bilinear, Mean: &halves, Deviation: &halves},
	"Siglip": {Blend: true, Width: 224, Height: 224, Filter: Bicubic, Mean: &halves, Deviation: &halves},
}

var (
	clipMean      = [3]float64{0.48145466, 0.4578275, 0.40821073}
	clipDeviation = [3]float64{0.26862954, 0.26130258, 0.27577711}
	halves        = [3]float64{0.5, 0.5, 0.5}
)

// Bounds of settings.
const (
	maxProcessed = 4096
	maxDeviation = 1e6
)

// Files are those with the settings of the image processor. The second has them under
// image_processor.
var Files = []string{"preprocessor_config.json", "processor_config.json"}

// maxFile bounds their sizes.
const maxFile = 1 << 20

// ReadProcessor reads the settings from a checkpoint's folder. The other parameters are those of
// ParseProcessor.
func ReadProcessor(fsys fs.FS, dir, class string, size int) (*Processor, error) {
	for i, name := range Files {
		name = path.Join(dir, name)
		f, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err = errors.Join(err, f.Close()); err == nil && len(b) > maxFile {
			err = fmt.Errorf("longer than %d bytes", maxFile)
		}
		if err == nil && i == 1 {
			var outer *settings
			if outer, err = parse(b); err == nil {
				if !outer.has("image_processor") {
					break
				}
				b, name = outer.raw["image_processor"], name+": image_processor"
			}
		}
		var p *Processor
		if err == nil {
			p, err = ParseProcessor(b, class, size)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("%s is missing, which says how pictures are prepared", path.Join(dir, Files[0]))
}

// ParseProcessor reads a preprocessor_config.json. class is that of an image processor, without
// ImageProcessor at the end, for a file that names none. The result must be pictures of side size.
// All errors are returned at once. Source: transformers image_processing_backends.py and its
// subclasses for CLIP, ViT and SigLIP.
func ParseProcessor(file []byte, class string, size int) (*Processor, error) {
	s, err := parse(file)
	if err != nil {
		return nil, err
	}
	name := "image_processor_type"
	if !s.has(name) {
		name = "feature_extractor_type"
	}
	class = get(s, name, "the class of an image processor", class, nil)
	for _, suffix := range []string{"Fast", "Pil", "ImageProcessor", "FeatureExtractor"} {
		class = strings.TrimSuffix(class, suffix)
	}
	p, ok := defaults[class]
	if !ok {
		s.fail(name, "an image processor of CLIP, ViT or Siglip")
		return nil, s.err()
	}
	p.Blend = s.bool("do_convert_rgb", p.Blend)
	p.Filter = Filter(s.int("resample", int(p.Filter), 0, int(Hamming)))
	side := max(p.Shortest, p.Width)
	s.size(&p, side)
	if s.bool("do_center_crop", p.CropW > 0) {
		p.CropW, p.CropH = s.crop(side)
	} else {
		p.CropW, p.CropH = 0, 0
	}
	p.Rescale = 1
	if s.bool("do_rescale", true) {
		const least, most = 1e-9, 1e9
		p.Rescale = get(s, "rescale_factor", fmt.Sprintf("a number from %g to %g", least, most), 1.0/255, func(x float64) bool { return x >= least && x <= most })
	}
	if s.bool("do_normalize", true) {
		p.Mean, p.Deviation = s.three("image_mean", -maxDeviation, p.Mean), s.three("image_std", 1e-9, p.Deviation)
	} else {
		p.Mean, p.Deviation = nil, nil
	}
	if w, h, fixed := p.Size(); s.err() == nil && (!fixed || w != size || h != size) {
		s.errs = append(s.errs, fmt.Errorf("size and crop_size do not give pictures of %d×%d pixels, which config.json wants", size, size))
	}
	return &p, s.err()
}

// settings are the members of an object; errors are collected.
type settings struct {
	within string // of the path of the object
	raw    map[string]json.RawMessage
	errs   []error
}

func parse(file []byte) (*settings, error) {
	s := &settings{raw: map[string]json.RawMessage{}}
	r := strictjson.New(file)
	err := r.Object(func(key string) (err error) {
		s.raw[key], err = r.Raw()
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	return s, nil
}

func (s *settings) err() error { return errors.Join(s.errs...) }

// has reports whether a member is there and not null.
func (s *settings) has(name string) bool {
	v, ok := s.raw[name]
	return ok && string(v) != "null"
}

func (s *settings) fail(name, want string) {
	s.errs = append(s.errs, fmt.Errorf("%s%s is %.60s, want %s", s.within, name, s.raw[name], want))
}

// get reads a member for which ok, unless nil, is true; an absent one is def.
func get[T any](s *settings, name, want string, def T, ok func(T) bool) T {
	if !s.has(name) {
		return def
	}
	var v T
	if json.Unmarshal(s.raw[name], &v) != nil || ok != nil && !ok(v) {
		s.fail(name, want)
		return def
	}
	return v
}

func (s *settings) bool(name string, def bool) bool { return get(s, name, "true or false", def, nil) }

func (s *settings) int(name string, def, lo, hi int) int {
	return get(s, name, fmt.Sprintf("an integer from %d to %d", lo, hi), def, func(n int) bool { return n >= lo && n <= hi })
}

// object reads a member that is an object; nil if it is none.
func (s *settings) object(name string) *settings {
	if !s.has(name) || s.raw[name][0] != '{' {
		return nil
	}
	o, err := parse(s.raw[name])
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	o.within = name + ": "
	return o
}

// side reads the length of a side that must be there.
func (s *settings) side(name string) int {
	if !s.has(name) {
		s.errs = append(s.errs, fmt.Errorf("%s%s is missing", s.within, name))
	}
	return s.int(name, 1, 1, maxProcessed)
}

// size reads how pictures are resized: to a number or to what an object says.
func (s *settings) size(p *Processor, def int) {
	const name = "size"
	if !s.bool("do_resize", true) {
		p.Shortest, p.Width, p.Height = 0, 0, 0
		return
	}
	o := s.object(name)
	switch {
	case o == nil && p.Shortest > 0:
		p.Shortest = s.int(name, def, 1, maxProcessed)
		return
	case o == nil:
		p.Width = s.int(name, def, 1, maxProcessed)
		p.Height = p.Width
		return
	case o.has("longest_edge"):
		s.fail(name, "shortest_edge alone, or height and width")
	case o.has("shortest_edge"):
		p.Width, p.Height, p.Shortest = 0, 0, o.side("shortest_edge")
	default:
		p.Shortest, p.Width, p.Height = 0, o.side("width"), o.side("height")
	}
	s.errs = append(s.errs, o.errs...)
}

// crop reads crop_size: a number or an object.
func (s *settings) crop(def int) (w, h int) {
	const name = "crop_size"
	if o := s.object(name); o != nil {
		w, h = o.side("width"), o.side("height")
		s.errs = append(s.errs, o.errs...)
		return w, h
	}
	n := s.int(name, def, 1, maxProcessed)
	return n, n
}

// three reads a list of three numbers from lo on.
func (s *settings) three(name string, lo float64, def *[3]float64) *[3]float64 {
	want := fmt.Sprintf("3 numbers from %g to %g", lo, float64(maxDeviation))
	list := get(s, name, want, def[:], func(list []float64) bool {
		return len(list) == 3 && min(list[0], list[1], list[2]) >= lo && max(list[0], list[1], list[2]) <= maxDeviation
	})
	return (*[3]float64)(list)
}
