package embedded

import "context"

// Values implements backend.Values.
func (b *Backend) Values(prefix string) (map[string][]byte, error) {
	values, err := b.store.Values(prefix)
	return values, translate(err)
}

// SetValues implements backend.Values.
func (b *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	return translate(b.store.SetValues(ctx, values))
}
