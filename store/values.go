package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// SetValues keeps values of the whole store by key, for what belongs to no collection: aliases, API
// keys, tasks. All of them are changed in one transaction; a nil value removes its key. A key
// follows the rules of a document id; a value has at most MaxValueBytes bytes.
func (s *Store) SetValues(ctx context.Context, values map[string][]byte) error {
	for key, value := range values {
		if err := checkText("key", key, MaxIDBytes); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if len(value) > MaxValueBytes {
			return fmt.Errorf("%w: value of key %q takes %d bytes: at most %d are allowed", ErrInvalid, key, len(value), MaxValueBytes)
		}
	}
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b, err := openTop(tx, kindValues)
		if err != nil {
			return err
		}
		for key, value := range values {
			if value == nil {
				err = b.Delete([]byte(key))
			} else {
				err = b.put([]byte(key), append(make([]byte, 0, len(value)+4), value...))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Values returns all values whose keys begin with prefix. Where some are damaged it returns the
// others, with a *ValuesError.
func (s *Store) Values(prefix string) (map[string][]byte, error) {
	values := map[string][]byte{}
	var damaged ValuesError
	err := s.view(func(tx *bbolt.Tx) error {
		b, err := openTop(tx, kindValues)
		if err != nil {
			return err
		}
		cur := b.Cursor()
		for k, v := cur.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = cur.Next() {
			payload, err := b.open(k, v)
			if err != nil {
				damaged.Keys, damaged.Err = append(damaged.Keys, string(k)), errors.Join(damaged.Err, err)
				continue
			}
			values[string(k)] = bytes.Clone(payload)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(damaged.Keys) > 0 {
		return values, &damaged
	}
	return values, nil
}

// ValuesError says which values are damaged. It matches ErrCorrupt.
type ValuesError struct {
	Keys []string
	Err  error
}

func (e *ValuesError) Error() string { return e.Err.Error() }

func (e *ValuesError) Unwrap() error { return e.Err }
