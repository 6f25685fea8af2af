// Package safetensors reads checkpoints in the safetensors format: one file, or shards listed by an
// index.
//
// A file is an 8-byte little-endian header length N, N bytes of JSON with the dtype, shape and byte
// range of each tensor, and the bytes of the tensors. The file is not trusted: every length, range
// and product is checked against its size before memory is allocated, and the tensors must cover it
// exactly. Tensors are read one at a time.
//
// Source: the format's README and reference reader (huggingface/safetensors).
package safetensors
