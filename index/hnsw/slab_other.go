//go:build !linux

package hnsw

func adviseHuge([]byte) {}
