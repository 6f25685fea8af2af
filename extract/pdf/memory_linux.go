package pdf

import (
	"sync"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// regions hands out the memory of PDFium's instances as reserved address space, in which memory
// grows in place. In the Go heap each step would copy it, and leave the copies to the garbage
// collector: several times the limit for a hostile file.
//
// A region that an instance has left is given back to the operating system, but stays mapped for
// the next one, as results may still be read after an instance has failed.
type regions struct {
	mu   sync.Mutex
	free []*region
}

// newAllocator returns an allocator for one pool of instances.
func newAllocator() experimental.MemoryAllocator { return &regions{} }

func (r *regions) Allocate(_, maxBytes uint64) experimental.LinearMemory {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.free {
		if uint64(len(m.memory)) >= maxBytes {
			r.free = append(r.free[:i], r.free[i+1:]...)
			return m
		}
	}
	b, err := syscall.Mmap(-1, 0, int(maxBytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil { // the address space is limited
		return &heapMemory{}
	}
	return &region{owner: r, memory: b}
}

// heapMemory is memory in the Go heap.
type heapMemory struct{ memory []byte }

func (m *heapMemory) Reallocate(size uint64) []byte {
	m.memory = append(m.memory, make([]byte, size-uint64(len(m.memory)))...)
	return m.memory
}

func (m *heapMemory) Free() {}

type region struct {
	owner  *regions
	memory []byte
}

// Reallocate returns nil where size is beyond the limit; PDFium then reports that memory is short.
func (m *region) Reallocate(size uint64) []byte {
	if size > uint64(len(m.memory)) {
		return nil
	}
	return m.memory[:size]
}

// Free gives the memory back. Linux fills the pages with zeros when they are used again.
func (m *region) Free() {
	if syscall.Madvise(m.memory, syscall.MADV_DONTNEED) != nil {
		return // never used again
	}
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	m.owner.free = append(m.owner.free, m)
}
