package main

import (
	"strings"
	"testing"
)

// TestReadTextsOfLongLines: however long lines are, what is read ahead of the encoder stays small,
// and none is lost.
func TestReadTextsOfLongLines(t *testing.T) {
	const long, lines = 3 << 20, 40
	in := strings.Repeat(`"`+strings.Repeat("a", long)+"\"\n", lines) + strings.Repeat("\"b\"\n", embedBatch+1)
	batches, failed := make(chan []string), make(chan error, 1)
	go func() {
		failed <- readTexts(t.Context(), strings.NewReader(in), batches)
		close(batches)
	}()
	var sizes []int
	texts := 0
	for batch := range batches {
		size := 0
		for _, text := range batch {
			size += len(text)
		}
		if sizes = append(sizes, size); size >= embedBytes+long || len(batch) > embedBatch {
			t.Errorf("%d texts of %d bytes are read at once", len(batch), size)
		}
		texts += len(batch)
	}
	if err := <-failed; err != nil || texts != lines+embedBatch+1 || len(sizes) != 5 {
		t.Errorf("%v; %d texts in batches of %d bytes", err, texts, sizes)
	}
}
