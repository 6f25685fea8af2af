package picture

import (
	"bytes"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pictures returns the files of the pictures that training/vision.py writes, and those in the
// folder that VISION_FIXTURES names, which hold pictures of other seeds.
func pictures(t testing.TB) []string {
	t.Helper()
	roots := []string{"../testdata/vision"}
	if dir := os.Getenv("VISION_FIXTURES"); dir != "" {
		roots = append(roots, dir)
	}
	var files []string
	for _, root := range roots {
		found, err := filepath.Glob(filepath.Join(root, "pictures", "*.*"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pictures, %v", root, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

// read returns a file.
func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecode compares pixels with those of Pillow. Decoders of JPEG round the cosine transform
// differently.
func TestDecode(t *testing.T) {
	for _, file := range pictures(t) {
		name := filepath.Base(file)
		got, err := Decode(read(t, file), Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := png.Decode(bytes.NewReader(read(t, filepath.Join(filepath.Dir(file), "decoded", name+".png"))))
		if err != nil {
			t.Fatal(err)
		}
		if m.Bounds().Dx() != got.Width || m.Bounds().Dy() != got.Height {
			t.Errorf("%s: %d×%d pixels, want %v", name, got.Width, got.Height, m.Bounds())
			continue
		}
		allowed := 0
		if strings.HasSuffix(name, ".jpg") {
			allowed = 3
		}
		worst, sum := 0, 0
		for y := range got.Height {
			for x := range got.Width {
				p := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				for c, want := range []byte{p.R, p.G, p.B} {
					d := int(got.Pixels[3*(y*got.Width+x)+c]) - int(want)
					worst = max(worst, d, -d)
					sum += max(d, -d)
				}
			}
		}
		t.Logf("%s: differs by at most %d, %.3f on average", name, worst, float64(sum)/float64(len(got.Pixels)))
		if worst > allowed {
			t.Errorf("%s: differs by %d, want at most %d", name, worst, allowed)
		}
	}
}
