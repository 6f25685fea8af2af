package pdf

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"crypto/rc4"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// shared is started once for all tests.
var shared = &Reader{Cache: os.Getenv("PDF_CACHE")}

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Close()
	os.Exit(code)
}

// file puts objects, from number 1, into a PDF; object 1 is the root.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	objects = append(objects, "<< /Title (Round tyres) >>")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, len(objects), xref)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // a Buffer does not fail
	w.Close()
	return b.String()
}

const (
	root      = "<< /Type /Catalog /Pages 2 0 R >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// pages makes a PDF with a page for each content, a stream object.
func pages(contents ...string) []byte {
	objects := []string{root, "", helvetica}
	var kids []string
	for _, c := range contents {
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", n+1), c)
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " "))
	return file(objects...)
}

// padding of the standard security handler, algorithm 2 of ISO 32000-1.
var padding = []byte("\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a")

// encrypted makes a PDF of one page, object 5 with its content, that is encrypted by RC4 with 40
// bits and opened by a password.
func encrypted(password, content string) []byte {
	cipher := func(key, data []byte) []byte {
		c, _ := rc4.NewCipher(key)
		out := make([]byte, len(data))
		c.XORKeyStream(out, data)
		return out
	}
	padded := append([]byte(password), padding...)[:32]
	hash := md5.Sum(padding)
	owner := cipher(hash[:5], padded)
	hash = md5.Sum(append(append(slices.Clone(padded), owner...), "\xff\xff\xff\xff0123456789abcdef"...))
	key := slices.Clone(hash[:5])
	hash = md5.Sum(append(slices.Clone(key), 5, 0, 0, 0, 0))
	head, body, _ := strings.Cut(content, "stream\n")
	body = string(cipher(hash[:10], []byte(strings.TrimSuffix(body, "\nendstream"))))
	b := pages(head + "stream\n" + body + "\nendstream")
	security := fmt.Sprintf("/ID [<%x> <%x>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O <%x> /U <%x> >> /Root", "0123456789abcdef", "0123456789abcdef", owner, cipher(key, padding))
	return bytes.Replace(b, []byte("/Root"), []byte(security), 1)
}
