package gguf

// Expand expands one block of a type.
func Expand(name string, block []byte) []float32 {
	for _, t := range Types {
		if t.Name == name {
			dst := make([]float32, t.block)
			t.expand(dst, block)
			return dst
		}
	}
	return nil
}
