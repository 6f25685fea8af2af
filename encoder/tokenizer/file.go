package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"

	"example.com/searchd/internal/strictjson"
)

// file is a tokenizer.json whose JSON is checked but whose parts are not.
type file struct {
	model                                                             *modelFile
	normalizer, preTokenizer, postProcessor, decoder, added, truncate json.RawMessage
}

func readFile(b []byte) (*file, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("%d bytes, allowed up to %d", len(b), maxFile)
	}
	f := new(file)
	raws := map[string]*json.RawMessage{
		"normalizer": &f.normalizer, "pre_tokenizer": &f.preTokenizer, "post_processor": &f.postProcessor,
		"decoder": &f.decoder, "added_tokens": &f.added, "truncation": &f.truncate,
	}
	r := strictjson.New(b)
	err := r.Object(func(key string) (err error) {
		if key == "model" {
			f.model, err = readModel(r)
			return err
		}
		raw, err := r.Raw()
		if into := raws[key]; into != nil {
			*into = raw
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if f.model == nil {
		return nil, errors.New("model is missing")
	}
	return f, nil
}

// truncation reads the field of that name; length is unchanged if it is absent.
func (f *file) truncation(length *int) (Side, error) {
	if strictjson.IsNull(f.truncate) {
		return Right, nil
	}
	var t struct {
		Direction *string `json:"direction"`
		MaxLength *int    `json:"max_length"`
		Stride    int     `json:"stride"`
	}
	if err := json.Unmarshal(f.truncate, &t); err != nil {
		return 0, fmt.Errorf("truncation: %w", err)
	}
	if t.MaxLength == nil || *t.MaxLength < 1 {
		return 0, errors.New("truncation.max_length must be 1 or more")
	}
	if t.Stride < 0 || t.Stride >= *t.MaxLength {
		return 0, fmt.Errorf("truncation.stride %d, allowed 0 to %d (below max_length)", t.Stride, *t.MaxLength-1)
	}
	*length = *t.MaxLength
	switch {
	case t.Direction == nil || *t.Direction == "Right":
		return Right, nil
	case *t.Direction == "Left":
		return Left, nil
	}
	return 0, fmt.Errorf("truncation.direction %.40q, allowed are Right and Left", *t.Direction)
}
