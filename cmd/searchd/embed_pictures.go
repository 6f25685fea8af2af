package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/picture"
	"example.com/searchd/models"
)

// pictureBatch is how many pictures are encoded together. One is decoded at a time, which bounds
// the memory.
const pictureBatch = 32

// maxPictureFile is the largest file that embed reads as a picture.
const maxPictureFile = 256 << 20

// embedPictures encodes the files of pictures and writes a line or a row for each.
func embedPictures(cmd *cobra.Command, m *models.Checkpoint, files []string, o encoder.EncodeOptions, format string) (err error) {
	if o.KeepIDs || o.Prompt != "" {
		return errors.New("--ids and --query are for texts, not for pictures")
	}
	w := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<20)
	defer func() { err = errors.Join(err, w.Flush()) }()
	var encoded atomic.Int64
	defer outputProgress(cmd, "pictures", &encoded)()
	began := time.Now()
	for from := 0; from < len(files); from += pictureBatch {
		batch := files[from:min(from+pictureBatch, len(files))]
		var list []*encoder.Picture
		for _, file := range batch {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			p, err := readPicture(m, file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			list = append(list, p)
		}
		r, err := m.EncodePictures(cmd.Context(), list, o)
		if err != nil {
			return err
		}
		for i, file := range batch {
			if err := writePicture(w, file, r, i, format); err != nil {
				return err
			}
		}
		encoded.Add(int64(len(batch)))
	}
	seconds := time.Since(began).Seconds()
	fmt.Fprintf(cmd.ErrOrStderr(), "%d pictures, %.3f s, %.1f pictures/s\n", len(files), seconds, float64(len(files))/max(seconds, 1e-9))
	return nil
}

// readPicture reads a file of bounded size.
func readPicture(m *models.Checkpoint, file string) (*encoder.Picture, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPictureFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxPictureFile {
		return nil, fmt.Errorf("more than %d MiB, which no picture has", maxPictureFile>>20)
	}
	return m.ReadPicture(b, picture.Limits{})
}

// writePicture writes the vector of picture i.
func writePicture(w io.Writer, file string, r *encoder.Result, i int, format string) error {
	if format == "f32" {
		b, err := appendEmbedding(nil, r, i, format)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	return json.NewEncoder(w).Encode(struct {
		File      string    `json:"file"`
		Embedding []float32 `json:"embedding"`
	}{file, r.Vectors[i]})
}
