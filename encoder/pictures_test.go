package encoder

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder/picture"
	"example.com/searchd/encoder/safetensors"
)

// visionExpectation is expected.json as training/vision.py writes it.
type visionExpectation struct {
	Pictures []string
	Table    [][]float32 // of each colour, what a sample becomes
	Texts    []struct {
		Text string
		IDs  []int32
	}
}

// visionFixtures returns the folders of the checkpoints in testdata/vision, and those in the folder
// that VISION_FIXTURES names, which hold checkpoints of other seeds.
func visionFixtures(t testing.TB) []string {
	return fixtureFolders(t, "testdata/vision", os.Getenv("VISION_FIXTURES"), "expected.json")
}

func readVision(t testing.TB, dir string) (e visionExpectation) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// rows reads a matrix of the expected results as rows.
func rows(t testing.TB, dir, name string, n int) [][]float32 {
	t.Helper()
	ck, err := safetensors.Open(os.DirFS(dir), "expected")
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	x, err := ck.Float32(name)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]float32
	for row := range slices.Chunk(x, len(x)/n) {
		list = append(list, row)
	}
	return list
}

// pictureFile returns a picture. A JPEG comes as Pillow decodes it, so that what is compared does
// not depend on the rounding of decoders.
func pictureFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	file := filepath.Join(filepath.Dir(dir), "pictures", name)
	if strings.HasSuffix(name, ".jpg") {
		file = filepath.Join(filepath.Dir(file), "decoded", name+".png")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readPictures(t testing.TB, m *Model, dir string, names []string) []*Picture {
	t.Helper()
	var list []*Picture
	for _, name := range names {
		p, err := m.ReadPicture(pictureFile(t, dir, name), picture.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, p)
	}
	return list
}

// TestPreparedPictures wants each sample that the image processors of transformers give, for tiny,
// long, grey, transparent and other pictures.
func TestPreparedPictures(t *testing.T) {
	for _, dir := range visionFixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			e := readVision(t, dir)
			m := mustLoad(t, os.DirFS(dir), Options{Threads: 1})
			want, err := os.ReadFile(filepath.Join(dir, "pixels.bin"))
			if err != nil {
				t.Fatal(err)
			}
			size := len(want) / len(e.Pictures)
			for i, p := range readPictures(t, m, dir, e.Pictures) {
				if len(p.pixels) != size {
					t.Fatalf("%s: %d samples, want %d", e.Pictures[i], len(p.pixels), size)
				}
				planes := make([]float32, size)
				for k, v := range want[i*size : (i+1)*size] {
					planes[k] = e.Table[k/(size/3)][v]
				}
				spec := m.images.stack.patches
				for k, w := range picture.Patches(planes, spec.size, spec.patch) {
					if p.pixels[k] != w {
						t.Errorf("%s: sample %d is %v, want %v", e.Pictures[i], k, p.pixels[k], w)
						break
					}
				}
			}
		})
	}
}

// TestVision wants the vectors and the states of the patches of transformers, for all pictures in
// one call and each alone.
func TestVision(t *testing.T) {
	for _, dir := range visionFixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			e := readVision(t, dir)
			want := rows(t, dir, "pictures", len(e.Pictures))
			for _, o := range []Options{{Threads: 1}, {Threads: 3, MaxBatchTokens: 50}, {Threads: 2, Precision: Int8}} {
				m := mustLoad(t, os.DirFS(dir), o)
				list := readPictures(t, m, dir, e.Pictures)
				r, err := m.EncodePictures(t.Context(), list, EncodeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if m.Dim() != len(want[0]) || !m.Info().Pictures || m.Info().Texts != (e.Texts != nil) {
					t.Errorf("%d dimensions, want %d; info %+v", m.Dim(), len(want[0]), m.Info())
				}
				worst, cosine := 0.0, 1.0
				for i := range list {
					worst = max(worst, difference(r.Vectors[i], want[i]))
					cosine = min(cosine, cosineOf(r.Vectors[i], want[i]))
					one, err := m.EncodePictures(t.Context(), list[i:i+1], EncodeOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if d := difference(one.Vectors[0], r.Vectors[i]); d > 1e-5 && o.Precision == Float32 {
						t.Errorf("%s alone differs by %.2g", e.Pictures[i], d)
					}
				}
				checkVectors(t, "pictures", o, worst, cosine)
				if o.Precision == Float32 {
					checkPatches(t, m, dir, list)
				}
			}
		})
	}
}

func checkVectors(t *testing.T, what string, o Options, worst, cosine float64) {
	t.Helper()
	t.Logf("%s, %v: max difference %.2g, least cosine %.5f", what, o.Precision, worst, cosine)
	if o.Precision == Float32 && worst > tolerance || cosine < 0.99 {
		t.Errorf("%s, %v: max difference %.2g, want at most %g; least cosine %.5f, want .99", what, o.Precision, worst, tolerance, cosine)
	}
}

func cosineOf(a, b []float32) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

// checkPatches compares the states of the patches of the first pictures.
func checkPatches(t *testing.T, m *Model, dir string, list []*Picture) {
	t.Helper()
	const kept = 4
	want := rows(t, dir, "states", kept)
	err := m.images.eachText(t.Context(), m.images.sequences(list[:kept]), func(n int, states []float32) error {
		if d := difference(states, want[n]); d > tolerance {
			t.Errorf("picture %d: states differ by %.2g", n, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestVisionTexts wants the ids and vectors of texts of the checkpoints that have both towers.
func TestVisionTexts(t *testing.T) {
	for _, dir := range visionFixtures(t) {
		e := readVision(t, dir)
		if e.Texts == nil {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := rows(t, dir, "texts", len(e.Texts))
			texts := make([]string, len(e.Texts))
			for i, x := range e.Texts {
				texts[i] = x.Text
			}
			for _, o := range []Options{{Threads: 2, MaxBatchTokens: 80}, {Precision: Int8}} {
				r, err := mustLoad(t, os.DirFS(dir), o).Encode(t.Context(), texts, EncodeOptions{KeepIDs: true})
				if err != nil {
					t.Fatal(err)
				}
				worst, cosine := 0.0, 1.0
				for i := range texts {
					if !slices.Equal(r.IDs[i], e.Texts[i].IDs) {
						t.Fatalf("%q: ids %v, want %v", texts[i], r.IDs[i], e.Texts[i].IDs)
					}
					worst, cosine = max(worst, difference(r.Vectors[i], want[i])), min(cosine, cosineOf(r.Vectors[i], want[i]))
				}
				checkVectors(t, "texts", o, worst, cosine)
			}
		})
	}
}

// TestOneTower wants clear errors from a checkpoint that encodes only texts or only pictures.
func TestOneTower(t *testing.T) {
	words := mustLoad(t, os.DirFS("testdata/bert-mean"), Options{})
	if _, err := words.ReadPicture(nil, picture.Limits{}); !errors.Is(err, ErrNoPictures) {
		t.Errorf("ReadPicture: %v, want ErrNoPictures", err)
	}
	if _, err := words.EncodePictures(t.Context(), nil, EncodeOptions{}); !errors.Is(err, ErrNoPictures) {
		t.Errorf("EncodePictures: %v, want ErrNoPictures", err)
	}
	m := mustLoad(t, os.DirFS("testdata/vision/vit"), Options{})
	one := []string{"a"}
	for name, call := range map[string]func(ctx context.Context) error{
		"Encode": func(ctx context.Context) error { _, err := m.Encode(ctx, one, EncodeOptions{}); return err },
		"EncodeIDs": func(ctx context.Context) error {
			_, err := m.EncodeIDs(ctx, [][]int32{{1}}, EncodeOptions{})
			return err
		},
		"EncodeTokens": func(ctx context.Context) error { _, err := m.EncodeTokens(ctx, one, EncodeOptions{}); return err },
		"EncodeTokensIDs": func(ctx context.Context) error {
			_, err := m.EncodeTokensIDs(ctx, [][]int32{{1}}, EncodeOptions{})
			return err
		},
		"Contributions": func(ctx context.Context) error {
			_, err := m.Contributions(ctx, [2]string{"a", "b"}, [2]string{})
			return err
		},
		"LayerCosines": func(ctx context.Context) error {
			_, err := m.LayerCosines(ctx, [2]string{"a", "b"}, [2]string{})
			return err
		},
		"Inspect": func(ctx context.Context) error {
			_, err := m.Inspect(ctx, "a", InspectOptions{})
			return err
		},
	} {
		if err := call(t.Context()); !errors.Is(err, ErrNoTexts) {
			t.Errorf("%s: %v, want ErrNoTexts", name, err)
		}
	}
	if _, err := m.Score(t.Context(), [][2]string{{"a", "b"}}); !errors.Is(err, ErrNoHead) {
		t.Errorf("Score: %v, want ErrNoHead", err)
	}
	if _, err := m.EncodeSparse(t.Context(), one, EncodeOptions{}); !errors.Is(err, ErrNotSparse) {
		t.Errorf("EncodeSparse: %v, want ErrNotSparse", err)
	}
}

// TestVisionConfigsChanged puts wrong values into each member of config.json and
// preprocessor_config.json and wants an error or a model that encodes, never a panic.
func TestVisionConfigsChanged(t *testing.T) {
	for _, dir := range visionFixtures(t)[:3] {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			e := readVision(t, dir)
			file := pictureFile(t, dir, e.Pictures[0])
			loaded := 0
			for _, name := range []string{"config.json", picture.Files[0]} {
				changeMembers(t, filepath.Join(dir, name), func(member, text string) {
					m, err := Load(overlay{os.DirFS(dir), map[string]string{name: text}}, Options{Threads: 1})
					if err != nil {
						if !errors.Is(err, ErrConfig) && !errors.Is(err, ErrWeights) {
							t.Errorf("%s: error %v", member, err)
						}
						return
					}
					loaded++
					p, err := m.ReadPicture(file, picture.Limits{})
					if err != nil {
						t.Fatalf("%s: %v", member, err)
					}
					if _, err := m.EncodePictures(t.Context(), []*Picture{p}, EncodeOptions{}); err != nil && !errors.Is(err, ErrNotFinite) {
						t.Errorf("%s: %v", member, err)
					}
					if _, err := m.Encode(t.Context(), []string{"a boat"}, EncodeOptions{}); err != nil && !errors.Is(err, ErrNotFinite) && !errors.Is(err, ErrNoTexts) {
						t.Errorf("%s: %v", member, err)
					}
				})
			}
			if loaded == 0 {
				t.Error("no changed config loads")
			}
		})
	}
}

// changeMembers calls try with a JSON file in which a member, also of an inner object, has another
// value.
func changeMembers(t *testing.T, file string, try func(member, text string)) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(b, &top); err != nil {
		t.Fatal(err)
	}
	objects := []map[string]any{top}
	for _, v := range top {
		if inner, ok := v.(map[string]any); ok {
			objects = append(objects, inner)
		}
	}
	for _, o := range objects {
		for member, old := range o {
			for _, value := range []string{"null", "0", "-1", "7", "999999999", `"x"`, "[0,0,0]", "{}", "true"} {
				o[member] = json.RawMessage(value)
				text, err := json.Marshal(top)
				if err != nil {
					t.Fatal(err)
				}
				try(member+" = "+value, string(text))
			}
			o[member] = old
		}
	}
}
