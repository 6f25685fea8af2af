package store

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// CheckWrites returns the error with which Apply refuses writes in any state of the store, nil for
// others.
func CheckWrites(writes []Write) error {
	_, err := checkWrites(writes)
	return err
}

// checkWrites refuses what no state of the store would accept and returns the size of the batch in
// bytes.
func checkWrites(writes []Write) (size int, err error) {
	if len(writes) > MaxBatchWrites {
		return 0, fmt.Errorf("%w: batch has %d writes: at most %d are allowed", ErrInvalid, len(writes), MaxBatchWrites)
	}
	for i := range writes {
		n, err := checkWrite(&writes[i])
		if err != nil {
			return 0, &WriteError{Index: i, ID: writes[i].ID, Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
		}
		if size += n; size > MaxBatchBytes {
			return 0, fmt.Errorf("%w: batch takes more than %d bytes from write %d on: send it in parts", ErrInvalid, MaxBatchBytes, i)
		}
	}
	return size, nil
}

func checkWrite(w *Write) (size int, err error) {
	if err := checkText("id", w.ID, MaxIDBytes); err != nil {
		return 0, err
	}
	if w.Revision != 0 && (w.IfRevision != nil || !w.Delete && w.No == 0) {
		return 0, errors.New("a write with a revision of its own has a condition, or no document number")
	}
	if w.Place != 0 && (w.Revision == 0 || w.Place < w.Revision) {
		return 0, fmt.Errorf("a write with the place %d and the revision %d", w.Place, w.Revision)
	}
	if w.Delete {
		return len(w.ID), nil
	}
	if len(w.Fields) > MaxFieldsBytes {
		return 0, fmt.Errorf("fields take %d bytes: at most %d are allowed", len(w.Fields), MaxFieldsBytes)
	}
	if !isObject(w.Fields) {
		return 0, errors.New("fields are not a JSON object")
	}
	if len(w.Passages) > MaxPassages {
		return 0, fmt.Errorf("document has %d passages: at most %d are allowed", len(w.Passages), MaxPassages)
	}
	if len(w.Vectors) != 0 && len(w.Vectors) != len(w.Passages) {
		return 0, fmt.Errorf("%d vectors for %d passages: want one per passage, or none at all", len(w.Vectors), len(w.Passages))
	}
	if len(w.Structure) > MaxStructureBytes {
		return 0, fmt.Errorf("structure takes %d bytes: at most %d are allowed", len(w.Structure), MaxStructureBytes)
	}
	size = len(w.ID) + len(w.Fields) + len(w.Structure)
	for i, p := range w.Passages {
		if p.Start < 0 || p.End < p.Start || p.End > MaxFieldsBytes {
			return 0, fmt.Errorf("passage %d has offsets [%d, %d): want 0 <= start <= end <= %d", i, p.Start, p.End, MaxFieldsBytes)
		}
		if len(p.Field) > MaxFieldNameBytes || !utf8.ValidString(p.Field) {
			return 0, fmt.Errorf("passage %d: field name %.40q: want valid UTF-8 of at most %d bytes", i, p.Field, MaxFieldNameBytes)
		}
		size += passageBytes
	}
	for i, v := range w.Vectors {
		if v == nil {
			continue
		}
		if err := checkVector(v); err != nil {
			return 0, fmt.Errorf("vector of passage %d: %w", i, err)
		}
		size += 4 * len(v)
	}
	return size, nil
}

// checkVector refuses lengths out of range, NaN and infinities.
func checkVector(v []float32) error {
	if len(v) == 0 || len(v) > MaxDim {
		return fmt.Errorf("%d components: want 1 to %d", len(v), MaxDim)
	}
	for i, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 { // the exponent of NaN and the infinities
			return fmt.Errorf("component %d is %v: want a finite number", i, x)
		}
	}
	return nil
}

// checkText refuses s unless it is valid UTF-8 of 1 to limit bytes without control characters.
func checkText(what, s string, limit int) error {
	if s == "" {
		return fmt.Errorf("%s is empty: want 1 to %d bytes", what, limit)
	}
	if len(s) > limit {
		return fmt.Errorf("%s %.40q... takes %d bytes: at most %d are allowed", what, s, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q is not valid UTF-8", what, s)
	}
	for i, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return fmt.Errorf("%s %q has the control character %U at byte %d", what, s, r, i)
		}
	}
	return nil
}
