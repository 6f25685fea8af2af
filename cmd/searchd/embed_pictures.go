package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/encoder"
	"example.com/searchd/encoder/picture"
	"example.com/searchd/models"
)

// pictureBatch is how many pictures are encoded together. One is decoded at a time, which bounds
// the memory.
const pictureBatch = 32

// maxPictureFile is the largest file that embed reads as a picture.
const maxPictureFile = 256 << 20

// pictureExtensions are the ends of the names that count as pictures in a folder.
var pictureExtensions = []string{".jpg", ".jpeg", ".png", ".gif", ".webp"}

// readyPicture is a picture that waits to be encoded, with what a document of it has.
type readyPicture struct {
	*encoder.Picture
	file string
	exif picture.EXIF
}

// pictureEncoder encodes pictures and writes a line or a row for each.
type pictureEncoder struct {
	m       *models.Checkpoint
	o       encoder.EncodeOptions
	format  string
	w       *bufio.Writer
	waiting []readyPicture
	encoded atomic.Int64
}

// embedPictures encodes files of pictures, and those in folders. In the format for documents a
// picture that cannot be read is reported and left out; in the others it ends the command, because
// rows would move.
func embedPictures(cmd *cobra.Command, m *models.Checkpoint, args []string, o encoder.EncodeOptions, format string) (err error) {
	if o.KeepIDs || o.Prompt != "" {
		return errors.New("--ids and --query are for texts, not for pictures")
	}
	if !m.Info().Pictures {
		return fmt.Errorf("checkpoint %s: %w", m.Name, encoder.ErrNoPictures)
	}
	e := &pictureEncoder{m: m, o: o, format: format, w: bufio.NewWriterSize(cmd.OutOrStdout(), 1<<20)}
	defer func() { err = errors.Join(err, e.w.Flush()) }()
	defer outputProgress(cmd, "pictures", &e.encoded)()
	began := time.Now()
	failed := 0
	err = eachPicture(args, func(file string) error {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		err := e.add(file)
		if err != nil && format == formatDocuments {
			failed++
			fmt.Fprintf(cmd.ErrOrStderr(), "searchd: %s: %v\n", file, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if len(e.waiting) == pictureBatch {
			return e.flush(cmd)
		}
		return nil
	})
	if err = errors.Join(err, e.flush(cmd)); err != nil {
		return err
	}
	seconds, n := time.Since(began).Seconds(), e.encoded.Load()
	fmt.Fprintf(cmd.ErrOrStderr(), "%d pictures, %.3f s, %.1f pictures/s\n", n, seconds, float64(n)/max(seconds, 1e-9))
	if failed > 0 {
		return command.ErrSome
	}
	return nil
}

// eachPicture calls visit with the files, and with those in folders that are pictures by their
// names, in order. Symbolic links in folders are not followed.
func eachPicture(args []string, visit func(file string) error) error {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			if err := visit(arg); err != nil {
				return err
			}
			continue
		}
		err = filepath.WalkDir(arg, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !slices.Contains(pictureExtensions, strings.ToLower(filepath.Ext(file))) {
				return err
			}
			return visit(file)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add reads a file of bounded size.
func (e *pictureEncoder) add(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPictureFile+1))
	if err != nil {
		return err
	}
	if len(b) > maxPictureFile {
		return fmt.Errorf("more than %d MiB, which no picture has", maxPictureFile>>20)
	}
	p, err := e.m.ReadPicture(b, picture.Limits{})
	if err == nil {
		e.waiting = append(e.waiting, readyPicture{p, file, picture.ReadEXIF(b)})
	}
	return err
}

// flush encodes and writes the pictures that wait.
func (e *pictureEncoder) flush(cmd *cobra.Command) error {
	list := make([]*encoder.Picture, len(e.waiting))
	for i, p := range e.waiting {
		list[i] = p.Picture
	}
	r, err := e.m.EncodePictures(cmd.Context(), list, e.o)
	if err != nil {
		return err
	}
	for i, p := range e.waiting {
		if err := e.write(p, r, i); err != nil {
			return err
		}
	}
	e.encoded.Add(int64(len(list)))
	e.waiting = e.waiting[:0]
	return nil
}

// pictureDocument is a picture as a document of a collection whose vectors are given.
type pictureDocument struct {
	ID     string     `json:"id"`
	File   string     `json:"file"`
	Title  string     `json:"title"`
	Text   string     `json:"text,omitempty"`  // the caption
	Taken  *time.Time `json:"taken,omitempty"` // as the camera's clock had it
	Vector []float32  `json:"vector"`
}

// write writes the vector of picture i.
func (e *pictureEncoder) write(p readyPicture, r *encoder.Result, i int) error {
	switch e.format {
	case formatF32:
		b, err := appendEmbedding(nil, r, i, e.format)
		if err == nil {
			_, err = e.w.Write(b)
		}
		return err
	case formatDocuments:
		base := filepath.Base(p.file)
		d := pictureDocument{ID: filepath.ToSlash(p.file), File: base, Text: p.exif.Caption, Vector: r.Vectors[i]}
		d.Title = strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimSuffix(base, filepath.Ext(base)))
		if !p.exif.Taken.IsZero() {
			d.Taken = &p.exif.Taken
		}
		return json.NewEncoder(e.w).Encode(d)
	}
	return json.NewEncoder(e.w).Encode(struct {
		File      string    `json:"file"`
		Embedding []float32 `json:"embedding"`
	}{p.file, r.Vectors[i]})
}
