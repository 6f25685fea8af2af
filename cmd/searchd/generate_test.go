package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerate generates from a prompt and from lines, and wants errors that name what is wrong.
func TestGenerate(t *testing.T) {
	one, stats, err := execute(t, "", "generate", "--model", decoderFolder, "--max-tokens", "6", "the value of")
	if err != nil || strings.TrimSpace(one) == "" || !strings.Contains(stats, "1 texts, 6 tokens") {
		t.Fatalf("%q, %q, %v", one, stats, err)
	}
	lines, _, err := execute(t, "\"the value of\"\n{\"text\":\"a class\"}\n", "generate", "--model", decoderFolder, "--max-tokens", "6")
	if err != nil || strings.Count(lines, "\n") != 2 || !strings.Contains(lines, `"reason":"length"`) {
		t.Errorf("%q, %v", lines, err)
	}
	seeded := []string{"generate", "--model", decoderFolder, "--max-tokens", "8", "--temperature", "1", "--seed", "5", "the value of"}
	first, _, err1 := execute(t, "", seeded...)
	second, _, err2 := execute(t, "", seeded...)
	if err1 != nil || err2 != nil || first != second {
		t.Errorf("%q and %q with the same seed; %v, %v", first, second, err1, err2)
	}
	for _, c := range []struct{ args, want string }{
		{"generate x", "--model"},
		{"generate --model " + filepath.Join("..", "..", "encoder", "testdata", "bert-mean") + " x", "does not generate text"},
		{"generate --model " + decoderFolder + " --top-p 3 x", "TopP is 3"},
		{"generate --model " + decoderFolder + " --chat x", "chat template"},
		{"score", "--model"},
	} {
		if _, _, err := execute(t, "", strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.args, err, c.want)
		}
	}
}

func TestScoreTokens(t *testing.T) {
	out, _, err := execute(t, `{"context":"the value","text":" of an object"}`+"\n", "score", "--tokens", "--model", decoderFolder)
	if err != nil || !strings.HasPrefix(out, `{"log_likelihood":-`) || !strings.Contains(out, `"pieces":[{"token":"Ġ`) {
		t.Errorf("%q, %v", out, err)
	}
}
