package keyword

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"
)

// Fields names value fields and text fields.
type Fields struct{ Values, Texts []string }

// Lacking returns the fields of f that no document has a value of, or a word.
func (x *Index) Lacking(ctx context.Context, f Fields) (lacking Fields, err error) {
	err = x.read(func(v *view) error {
		for _, name := range f.Values {
			if err := ctx.Err(); err != nil {
				return err
			}
			have, err := v.hasValue(name)
			if err != nil {
				return err
			}
			if !have {
				lacking.Values = append(lacking.Values, name)
			}
		}
		for _, name := range f.Texts {
			if v.tokens[name] == 0 {
				lacking.Texts = append(lacking.Texts, name)
			}
		}
		return nil
	})
	return lacking, err
}

// hasValue reports whether a document that is not deleted has a value in a field.
func (v *view) hasValue(field string) (bool, error) {
	for _, s := range v.segments {
		values, err := s.values(field)
		if err != nil {
			return false, err
		}
		deleted := s.deleted
		if deleted == nil {
			deleted = roaring.New()
		}
		pl, err := values.postings([]byte{termExists}, deleted)
		if err != nil || pl.Count() > 0 {
			return err == nil, err
		}
	}
	return false, nil
}
