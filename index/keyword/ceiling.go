package keyword

import "context"

// Ceiling returns a score that no document can exceed for q: what one would have that repeats every term of it endlessly.
// Terms that no document has count too, so that the share of the ceiling that a score reaches says how much of the query it covers. A whole name
// that no document has does not: its parts say as much.
func (x *Index) Ceiling(ctx context.Context, q Query) (ceiling float64, err error) {
	err = x.read(func(v *view) error {
		p, err := x.newPlan(ctx, v, q)
		if err != nil {
			return err
		}
		for _, t := range p.terms {
			if !t.name || t.df > 0 {
				ceiling += t.weight
			}
		}
		return nil
	})
	return ceiling, err
}
