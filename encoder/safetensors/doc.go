// Package safetensors reads checkpoints in the safetensors format: one file, or shards listed by an
// index.
//
// A file is an 8-byte little-endian header length N, N bytes of JSON that name each tensor with its
// dtype, shape and byte range, and the bytes of the tensors. Nothing of it is trusted: the header
// is decoded token by token, and every length, range and product is checked against the size of the
// file before memory is allocated for it. The tensors must cover the rest of the file exactly,
// without gap or overlap. Only then are tensors read, one at a time, each into memory of the size
// that its checked shape says.
//
// Source: the format's README and reference reader (huggingface/safetensors).
package safetensors
