package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

const testPictures = "../testdata/vision/pictures/"

// patched returns a file of the test data with bytes replaced at an offset.
func patched(t testing.TB, name string, at int, with ...byte) []byte {
	t.Helper()
	b := bytes.Clone(read(t, testPictures+name))
	copy(b[at:], with)
	return b
}

// TestBombs wants pictures that claim to be large to be refused before memory is taken for them.
func TestBombs(t *testing.T) {
	big := binary.BigEndian.AppendUint32(nil, 60000)
	frame := bytes.Index(read(t, testPictures+"420.jpg"), []byte("\xff\xc0")) + 5
	progressive := bytes.Index(read(t, testPictures+"progressive.jpg"), []byte("\xff\xc2")) + 5
	lossless := bytes.Index(read(t, testPictures+"lossless.webp"), []byte("VP8L")) + 9
	for name, file := range map[string][]byte{
		"png":         withCRC(patched(t, "square.png", 16, append(big, big...)...)),
		"wide png":    withCRC(patched(t, "square.png", 16, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1)),
		"jpeg":        patched(t, "420.jpg", frame, 0xea, 0x60, 0xea, 0x60),
		"progressive": patched(t, "progressive.jpg", progressive, 0x20, 0, 0x20, 0),
		"gif":         patched(t, "plain.gif", 6, 0xff, 0xff, 0xff, 0xff),
		"webp":        patched(t, "lossless.webp", lossless, 0xff, 0xff, 0xff, 0x0f),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(file, Limits{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("%s: took %d bytes", name, used)
		}
	}
}

// withCRC corrects the checksum of the header of a PNG.
func withCRC(b []byte) []byte {
	binary.BigEndian.PutUint32(b[29:], crc(b[12:29]))
	return b
}

func crc(b []byte) uint32 {
	c := ^uint32(0)
	for _, v := range b {
		c ^= uint32(v)
		for range 8 {
			c = c>>1 ^ 0xedb88320&-(c&1)
		}
	}
	return ^c
}

func TestLimits(t *testing.T) {
	file := read(t, testPictures+"square.png") // 32×32
	if _, err := Decode(file, Limits{Pixels: 1023}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("1023 pixels: %v", err)
	}
	if _, err := Decode(file, Limits{Pixels: 1024, Bytes: 1024 * 8}); err != nil {
		t.Errorf("1024 pixels of 8 bytes: %v", err)
	}
	if _, err := Decode(file, Limits{Bytes: 1024*8 - 1}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("fewer bytes: %v", err)
	}
}

// TestDamaged cuts files short and wants an error that names the format.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"420.jpg", "progressive.jpg", "square.png", "plain.gif", "lossy.webp", "lossless.webp"} {
		file := read(t, testPictures+name)
		for _, n := range []int{4, 12, 40, len(file) / 2} {
			if _, err := Decode(file[:n], Limits{}); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, %d bytes: %v, want ErrFormat", name, n, err)
			}
		}
	}
	for _, file := range []string{"", "BM", "<svg>", "RIFF\x10\x00\x00\x00WEBP"} {
		if _, err := Decode([]byte(file), Limits{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", file, err)
		}
	}
	animation := "RIFF\x1a\x00\x00\x00WEBPANIM\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	if _, err := Decode([]byte(animation), Limits{}); !errors.Is(err, errAnimated) {
		t.Errorf("animated WebP: %v", err)
	}
}

func TestReadEXIF(t *testing.T) {
	want := EXIF{Orientation: 6, Taken: time.Date(2018, 12, 31, 23, 59, 58, 0, time.UTC), Caption: "Boats at the quay"}
	for _, name := range []string{"exif.png", "exif.webp"} {
		if got := ReadEXIF(read(t, testPictures+name)); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := ReadEXIF(read(t, testPictures+"420.jpg")); got != (EXIF{Orientation: 1}) {
		t.Errorf("420.jpg: %+v", got)
	}
}

// TestResizeLongPictures wants little work and memory for pictures whose resized size would be
// enormous.
func TestResizeLongPictures(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, maxSide))); err != nil {
		t.Fatal(err)
	}
	m, err := Decode(b.Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Processor{{Shortest: 224, CropW: 224, CropH: 224, Filter: Bicubic, Rescale: 1}, {Width: 224, Height: 224, Filter: Lanczos, Rescale: 1}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := len(p.Apply(m)); got != 3*224*224 {
			t.Errorf("%d samples", got)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%+v took %d bytes", p, used)
		}
	}
}

// FuzzDecode wants a picture or one of the two errors for any file, and metadata without a panic.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob(testPictures + "*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(read(f, file))
	}
	p := Processor{Shortest: 9, CropW: 7, CropH: 8, Filter: Bicubic, Rescale: 1, Blend: true}
	f.Fuzz(func(t *testing.T, b []byte) {
		ReadEXIF(b)
		m, err := Decode(b, Limits{Pixels: 1 << 16, Bytes: 1 << 20})
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v", err)
			}
			return
		}
		if len(m.Pixels) != 3*m.Width*m.Height || m.Alpha != nil && len(m.Alpha) != m.Width*m.Height {
			t.Errorf("%d samples for %d×%d pixels", len(m.Pixels), m.Width, m.Height)
		}
		p.Apply(m)
	})
}
