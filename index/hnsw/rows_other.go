//go:build !((linux || darwin) && (amd64 || arm64))

package hnsw

import "os"

func mapFloats(*os.File, int) []float32 { return nil }

func unmapFloats([]float32) error { return nil }
