package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestEncodings has the GNU assembler make of each comment the word that stands before it.
func TestEncodings(t *testing.T) {
	const as, objcopy = "aarch64-linux-gnu-as", "aarch64-linux-gnu-objcopy"
	if _, err := exec.LookPath(as); err != nil {
		if os.Getenv("ASSEMBLER_REQUIRE") == "1" {
			t.Fatalf("%v, and ASSEMBLER_REQUIRE=1", err)
		}
		t.Skip(err)
	}
	sources, err := filepath.Glob("../*_arm64.s")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	want := map[string]uint32{}
	var lines []string
	for _, s := range sources {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`WORD \$(0x[0-9a-f]{8}) // (.*)`).FindAllStringSubmatch(string(text), -1) {
			word, err := strconv.ParseUint(m[1], 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			if w, ok := want[m[2]]; ok && w != uint32(word) {
				t.Errorf("%s is both %08x and %08x", m[2], w, word)
			} else if !ok {
				want[m[2]] = uint32(word)
				lines = append(lines, m[2])
			}
		}
	}
	object, raw := filepath.Join(t.TempDir(), "o"), filepath.Join(t.TempDir(), "raw")
	assemble := exec.Command(as, "-march=armv8.2-a+dotprod", "-o", object, "-")
	var input bytes.Buffer
	for _, l := range lines {
		input.WriteString(l + "\n")
	}
	assemble.Stdin = &input
	for _, c := range []*exec.Cmd{assemble, exec.Command(objcopy, "-O", "binary", "-j", ".text", object, raw)} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	code, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(lines) {
		t.Fatalf("%d bytes for %d lines", len(code), len(lines))
	}
	for i, l := range lines {
		if got := binary.LittleEndian.Uint32(code[4*i:]); got != want[l] {
			t.Errorf("%s: the word is %08x, the assembler's is %08x", l, want[l], got)
		}
	}
	t.Logf("%d different instructions", len(lines))
}
