// Package simd holds the arithmetic kernels of the encoder and of the vector index: matrix products
// with packed weights, the two products of attention, activations, normalisations, softmax and
// distances.
//
// Matrices are row-major float32. Every function runs on the calling goroutine, retains no memory,
// and is safe for concurrent use as long as destinations do not overlap; callers split rows over
// goroutines.
//
// The pure Go code is the specification: other back ends agree with it up to the order of
// summation. A NaN in the input gives NaN in every output that depends on it; no kernel writes
// outside its destination. Wrong lengths are a programmer's error: the functions panic before
// anything is written.
package simd
