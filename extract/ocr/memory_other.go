//go:build !linux

package ocr

// limitMemory does nothing here: the size of the picture limits the memory.
func limitMemory(int, uint64) {}
