//go:build !linux

package pdf

// limit does nothing here: the parent's clock and the limit of the garbage collector are what there is.
func limit(_, _ uint64) error { return nil }
