package keyword

import "context"

// Lengths calls f with every document of the index and the number of terms of each of its text fields, fields without terms left
// out, in no order. f must not keep the map. It ends with the first error of f.
func (x *Index) Lengths(ctx context.Context, f func(no uint32, terms map[string]int) error) error {
	return x.read(func(v *view) error {
		terms := map[string]int{}
		for _, s := range v.segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			for local, no := range s.nos {
				if s.deleted != nil && s.deleted.Contains(uint32(local)) {
					continue
				}
				clear(terms)
				for field, lengths := range s.lengths {
					if n := lengths[local]; n > 0 {
						terms[field] = int(n)
					}
				}
				if err := f(no, terms); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
