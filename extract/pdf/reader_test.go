package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain is the child, too, as a program that uses a Reader has to be.
func TestMain(m *testing.M) {
	if code, child := AsChild(); child {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// file puts objects, from number 1, into a PDF; object 1 is the catalogue.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
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
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info << /Title (Round tyres) >> >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
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
	catalogue = "<< /Type /Catalog /Pages 2 0 R >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// pages makes a PDF with a page for each content, a stream object.
func pages(contents ...string) []byte {
	objects := []string{catalogue, "", helvetica}
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

func TestRead(t *testing.T) {
	one := stream("", "BT /F1 12 Tf 72 700 Td (Hel) Tj (lo) Tj [(wor) -50 (ld) -500 (again)] TJ 0 -14 Td (next line with an exam-) Tj T* 0 -14 Td (ple.) Tj 0 -40 Td (Caf\xe9) Tj ET")
	for _, tt := range []struct {
		name          string
		in            []byte
		text, warning string
		err           string
	}{
		{"lines", pages(one), "Helloworld again\nnext line with an example.\n\nCafé", "", ""},
		{"deflated", pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf (packed) Tj ET"))), "packed", "", ""},
		{"pages", pages(stream("", "BT /F1 9 Tf (one) Tj ET"), stream("", ""), stream("", "BT /F1 9 Tf (three) Tj ET")), "one\n\nthree", "", ""},
		{"a broken page", pages(stream("", "BT /F1 9 Tf (one) Tj ET"), stream("/Filter /Nonsense", "x")), "one", "1 of 2 pages cannot be read; page 2", ""},
		{"spaces that are character spacing", pages(stream("", "BT /F1 12 Tf 72 700 Td (ove) Tj 18 0 Td 5 Tc (rm) Tj 0 Tc 17 0 Td (any) Tj 22 0 Td 4 Tc (TITLE) Tj ET")), "over many TITLE", "", ""},
		{"no text layer", pages(stream("", "q 1 0 0 1 0 0 cm Q")), "", "", "no text layer on its 1 pages"},
		{"all pages broken", pages(stream("/Filter /Nonsense", "x")), "", "", "1 of 1 pages cannot be read"},
		{"broken operators", pages(stream("", "Tj Q Q 1 Td ] >> BT /F1 9 Tf (still) Tj ET")), "still", "", ""},
		{"cut", pages(one)[:300], "", "", "its end is missing"},
		{"not a PDF", []byte("hello"), "", "", "not a PDF"},
		{"empty", nil, "", "", "not a PDF"},
		{"only a header", []byte("%PDF-1.7\n%%EOF"), "", "", "damaged"},
		{"rubbish around it", append(append([]byte("HTTP/1.1 200\n\n"), pages(one)...), "\n<!-- -->"...), "Helloworld again\nnext line with an example.\n\nCafé", "", ""},
		{"rubbish behind it", append(pages(stream("", "BT /F1 9 Tf (one) Tj ET")), "\n<!-- -->"...), "one", "", ""},
		{"no pages", file(catalogue, "<< /Type /Pages /Count 0 /Kids [] >>"), "", "", "no pages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Reader{Command: Self()}.Read(context.Background(), tt.in)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.Text != tt.text || got.Title != "Round tyres" {
				t.Errorf("Read = %+v, %v, want text %q", got, err, tt.text)
			}
			if (tt.warning == "") != (got.Warning == "") || !strings.Contains(got.Warning, tt.warning) {
				t.Errorf("warning %q, want %q", got.Warning, tt.warning)
			}
		})
	}
}

// A font of TeX's says in its own program what its codes are.
func TestBuiltinEncoding(t *testing.T) {
	program := "%!PS-AdobeFont-1.0: CMR10\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 12 /fi put\ndup 14/ffi put\ndup 92 /quotedblleft put\ndup 999 /ff put\ndup 65 /A put\nreadonly def\ncurrentfile eexec\ndup 69 /ff put"
	for name, tt := range map[string]struct{ font, want string }{
		"builtin":  {"/FontDescriptor << /Type /FontDescriptor /FontFile 6 0 R >>", "“Efficient A find"},
		"encoding": {"/Encoding /WinAnsiEncoding /FontDescriptor << /FontFile 6 0 R >>", "\\Ecient A  nd"},
		"broken":   {"/FontDescriptor << /FontFile 7 0 R >>", "\\Ecient A nd"},
	} {
		in := file(catalogue, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
			stream("", "BT /F1 9 Tf (\\\\E\\016cient A \\014nd) Tj ET"), "<< /Type /Font /Subtype /Type1 /BaseFont /CMR10 "+tt.font+" >>",
			stream("/Filter /FlateDecode", deflate(program)), stream("/Filter /FlateDecode", "nonsense"))
		got, err := Reader{Command: Self()}.Read(context.Background(), in)
		if err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Text, err, tt.want)
		}
	}
}

// Widths of characters from one number to another that no file has cost nothing.
func TestWidths(t *testing.T) {
	for _, w := range []string{"[65 66 500]", "[-9223372036854775807 9223372036854775807 500]", "[0 2147483647 500]", "[66 65 500]", "[65 [500]]", "[65 66]", "[65]"} {
		in := file(catalogue, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>", stream("", "BT /F1 9 Tf (text) Tj ET"),
			"<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /WinAnsiEncoding /DescendantFonts [<< /W "+w+" >>] >>")
		got, err := Reader{Command: Self(), Time: 5 * time.Second}.Read(context.Background(), in)
		if err != nil || got.Text != "text" {
			t.Errorf("/W %s: %q, %v, want the text", w, got.Text, err)
		}
	}
}

func TestReadLimits(t *testing.T) {
	r := Reader{Command: Self()}
	r.MaxText = 10
	page := stream("", "BT /F1 9 Tf (eight ch) Tj ET")
	got, err := r.Read(context.Background(), pages(page, page))
	if err != nil || got.Text != "eight ch" || !strings.Contains(got.Warning, "1 of 2 pages are read") {
		t.Errorf("Read = %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Read(ctx, pages(page)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := (Reader{Command: []string{"/nowhere/at/all"}}).Read(context.Background(), nil); err == nil {
		t.Error("no program: no error")
	}
	for _, args := range [][]string{nil, {"x", "1"}, {"1", "-1"}} {
		if Child(args, strings.NewReader(""), os.Stdout) != 2 {
			t.Errorf("Child(%q) does not refuse its limits", args)
		}
	}
}
