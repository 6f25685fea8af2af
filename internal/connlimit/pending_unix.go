//go:build unix

package connlimit

import (
	"net"
	"syscall"
)

// pending reports whether conn has bytes that nobody has read yet, as far as that can be found out.
func pending(conn net.Conn) bool {
	for {
		inner, ok := conn.(interface{ NetConn() net.Conn }) // of TLS, and counted
		if !ok {
			break
		}
		conn = inner.NetConn()
	}
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, _ = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
