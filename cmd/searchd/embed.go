package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/encoder"
	"example.com/searchd/encoder/picture"
	"example.com/searchd/internal/lines"
	"example.com/searchd/internal/settings"
	"example.com/searchd/models"
)

// embedBatch is how many texts are read before they are encoded, and embedBytes how many bytes of
// them: enough to sort by length, little enough to stream.
const (
	embedBatch = 4096
	embedBytes = 32 << 20
)

// maxInputLine is the longest line that embed and rerank read.
const maxInputLine = 8 << 20

// Formats of embed besides jsonl.
const (
	formatF32       = "f32"
	formatDocuments = "documents"
)

func newEmbedCommand() *cobra.Command {
	var f modelFlags
	var query, ids bool
	var format string
	var dimensions int
	cmd := &cobra.Command{
		Use: "embed [PICTURE...]", Short: "Encode texts from standard input, or pictures",
		Long: `Reads a line for each text, either a JSON string or an object {"text": "..."}, and writes a line
{"embedding": [...], "ids": [...] with --ids, "truncated": true or false} for each, in order; with --format f32 the raw
little-endian float32 rows instead. The last line on standard error has texts, tokens, seconds and tokens per second.

With files of pictures (` + picture.Formats + `), or folders of them, and a model that encodes pictures, such as CLIP, writes
{"file": "...", "embedding": [...]} for each; with --format documents, a document with "file", "title", the caption as "text", when it was
"taken" and "vector", for a collection whose vectors are given. Standard input is not read.`,
		Args: cobra.ArbitraryArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&query, "query", false, "use the checkpoint's prompt for queries")
	cmd.Flags().BoolVar(&ids, "ids", false, "write the token ids too")
	cmd.Flags().StringVar(&format, "format", "jsonl", "output: jsonl or f32, of pictures also documents")
	settings.Choices(cmd, "format", "jsonl", formatF32, formatDocuments)
	cmd.Flags().IntVar(&dimensions, "dimensions", 0, "keep the first so many dimensions, normalised again (default all)")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if format != "jsonl" && format != formatF32 && (format != formatDocuments || len(files) == 0) {
			return fmt.Errorf("--format: got %q, allowed: jsonl, f32, and documents with pictures", format)
		}
		o, err := f.options()
		if err != nil {
			return err
		}
		began := time.Now()
		m, err := models.Open(f.model, o)
		if err != nil {
			return err
		}
		load := time.Since(began)
		eo := encoder.EncodeOptions{Dimensions: dimensions, KeepIDs: ids}
		if query {
			eo.Prompt = encoder.PromptQuery
		}
		if len(files) > 0 {
			return embedPictures(cmd, m, files, eo, format)
		}
		w := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<20)
		stats, err := embedAll(cmd, m, eo, w, format)
		if err = errors.Join(err, w.Flush()); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d texts, %d tokens, %.3f s, %.0f tokens/s, load %.3f s\n",
			stats.texts, stats.tokens, stats.busy.Seconds(), float64(stats.tokens)/math.Max(stats.busy.Seconds(), 1e-9), load.Seconds())
		return err
	}
	return cmd
}

type embedStats struct {
	texts, tokens int
	busy          time.Duration
}

// embedAll encodes all lines of standard input. The next texts are read while the ones before them
// are encoded. When the command's context ends, standard input does, and what it gave is encoded.
func embedAll(cmd *cobra.Command, m *models.Checkpoint, o encoder.EncodeOptions, w io.Writer, format string) (embedStats, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer cancel()
	stdin := lines.Until(cmd.Context(), cmd.InOrStdin())
	batches, failed := make(chan []string), make(chan error, 1)
	go func() {
		defer close(batches)
		failed <- readTexts(ctx, stdin, batches)
	}()
	var stats embedStats
	var encoded atomic.Int64
	defer outputProgress(cmd, "texts", &encoded)()
	var buf []byte
	for texts := range batches {
		began := time.Now()
		r, err := m.Encode(ctx, texts, o)
		if err != nil {
			return stats, err
		}
		stats.busy += time.Since(began)
		stats.texts += len(texts)
		encoded.Store(int64(stats.texts))
		stats.tokens += r.Tokens
		for i := range texts {
			if buf, err = appendEmbedding(buf[:0], r, i, format); err != nil {
				return stats, fmt.Errorf("text %d: %w", stats.texts-len(texts)+i+1, err)
			}
			if _, err := w.Write(buf); err != nil {
				return stats, err
			}
		}
	}
	return stats, <-failed
}

// readTexts sends the texts of all lines in batches. What was read before an error is sent too.
func readTexts(ctx context.Context, r io.Reader, batches chan<- []string) error {
	var texts []string
	size := 0
	send := func() error {
		if len(texts) == 0 {
			return nil
		}
		select {
		case batches <- texts:
			texts, size = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := lines.Read(r, maxInputLine, func(n int, line []byte) error {
		text, err := textOf(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		texts, size = append(texts, text), size+len(text)
		if len(texts) == embedBatch || size >= embedBytes {
			return send()
		}
		return nil
	})
	return errors.Join(err, send())
}

// textOf reads a JSON string or {"text": ...}.
func textOf(line []byte) (string, error) {
	var text string
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte{'"'}) {
		err := json.Unmarshal(line, &text)
		return text, err
	}
	var object struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("want a JSON string or {\"text\": ...}: %w", err)
	}
	if object.Text == nil {
		return "", errors.New(`want a JSON string or {"text": ...}: the field "text" is missing`)
	}
	return *object.Text, nil
}

// appendEmbedding appends what embed writes for text i: the row of float32, or a JSON object on a
// line.
func appendEmbedding(b []byte, r *encoder.Result, i int, format string) ([]byte, error) {
	if format == "f32" {
		for _, x := range r.Vectors[i] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b, nil
	}
	b = append(b, `{"embedding":[`...)
	for k, x := range r.Vectors[i] {
		if x != x || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("component %d of the vector is %v, which JSON cannot hold", k, x)
		}
		if k > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	b = append(b, ']')
	if r.IDs != nil {
		b = append(b, `,"ids":[`...)
		for k, id := range r.IDs[i] {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(id), 10)
		}
		b = append(b, ']')
	}
	b = strconv.AppendBool(append(b, `,"truncated":`...), r.Truncated[i])
	return append(b, '}', '\n'), nil
}

// outputProgress shows the progress of a command whose output is not on a terminal, where it would
// be progress enough.
func outputProgress(cmd *cobra.Command, unit string, done *atomic.Int64) (stop func()) {
	if command.IsTerminal(cmd.OutOrStdout()) {
		return func() {}
	}
	return progress.Show(cmd.ErrOrStderr(), func() progress.State { return progress.State{Text: fmt.Sprintf("%d %s", done.Load(), unit)} }).Stop
}
