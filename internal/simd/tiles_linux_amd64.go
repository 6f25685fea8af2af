//go:build !purego

package simd

import (
	"syscall"
	"unsafe"
)

// tilesPermitted asks the kernel for the state of AMX's tiles, which a process must do once before
// it touches them. The kernel refuses where it does not know AMX or may not save the state.
func tilesPermitted() bool {
	const (
		getPermission     = 0x1022 // ARCH_GET_XCOMP_PERM
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		config, data      = 17, 18 // numbers of the components of the state: TILECFG and TILEDATA
		both              = 1<<config | 1<<data
	)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, data, 0); errno != 0 {
		return false
	}
	var have uint64
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, getPermission, uintptr(unsafe.Pointer(&have)), 0)
	return errno == 0 && have&both == both
}
