package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// decoderFolder holds a small decoder.
var decoderFolder = filepath.Join("..", "..", "encoder", "testdata", "decoders", "gpt2")

// quiet says something once and then nothing more; asked is closed when somebody waits for it.
type quiet struct {
	says  string
	asked chan struct{}
}

func (q *quiet) Read(p []byte) (int, error) {
	if q.says == "" {
		close(q.asked)
		select {}
	}
	n := copy(p, q.says)
	q.says = q.says[n:]
	return n, nil
}

// A command that waits for standard input ends when it is interrupted, with an answer to each line
// that it got.
func TestInterruptedPipe(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		stdin string
	}{
		"embed":    {[]string{"embed"}, "\"a\"\n\"b\"\n\"cut o"},
		"rerank":   {[]string{"rerank", "--model", filepath.Join("..", "..", "encoder", "testdata", "cross-xlmr")}, "{\"query\":\"a\",\"text\":\"b\"}\n{\"query\":\"a\",\"text\":\"c\"}\n{\"que"},
		"generate": {[]string{"generate", "--max-tokens", "3", "--model", decoderFolder}, "\"a\"\n\"b\"\n\"cut o"},
		"score":    {[]string{"score", "--model", decoderFolder}, "{\"context\":\"a\",\"text\":\"b\"}\n{\"context\":\"a\",\"text\":\"c\"}\n{\"con"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in := &quiet{tt.stdin, make(chan struct{})}
			var out bytes.Buffer
			root := newRootCommand()
			root.SetIn(in)
			root.SetOut(&out)
			root.SetErr(io.Discard)
			root.SetArgs(tt.args)
			done := make(chan error, 1)
			go func() { done <- root.ExecuteContext(ctx) }()
			<-in.asked
			cancel()
			select {
			case err := <-done:
				if n := strings.Count(out.String(), "\n"); !errors.Is(err, context.Canceled) || n != 2 {
					t.Errorf("%v with %d lines, want %v with 2", err, n, context.Canceled)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the command goes on")
			}
		})
	}
}

// A line that cannot be read ends a command, but the lines before it have their answers.
func TestBrokenLineInPipe(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		stdin string
	}{
		"embed":    {[]string{"embed"}, "\"a\"\n\"b\"\n{}\n\"c\"\n"},
		"rerank":   {[]string{"rerank", "--model", filepath.Join("..", "..", "encoder", "testdata", "cross-xlmr")}, "{\"query\":\"a\",\"text\":\"b\"}\n{\"query\":\"a\",\"text\":\"c\"}\n{}\n"},
		"generate": {[]string{"generate", "--max-tokens", "3", "--model", decoderFolder}, "\"a\"\n\"b\"\n{}\n\"c\"\n"},
		"score":    {[]string{"score", "--model", decoderFolder}, "{\"context\":\"a\",\"text\":\"b\"}\n{\"context\":\"a\",\"text\":\"c\"}\n{}\n"},
	} {
		out, _, err := execute(t, tt.stdin, tt.args...)
		if n := strings.Count(out, "\n"); n != 2 || err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v with %d lines, want an error of line 3 with 2", name, err, n)
		}
	}
}
