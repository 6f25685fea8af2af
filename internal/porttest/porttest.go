// Package porttest finds free addresses for servers of tests.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Ports are below those that systems assign to ":0" (Linux from 32768 on, others from 49152), so a
// free one stays free until the server listens, and while a server is restarted.
const (
	first = 20_000
	most  = 12_000
)

var next atomic.Uint32

func init() { next.Store(rand.Uint32N(most)) }

// Free returns a loopback address that is free, another one each time.
func Free(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", first+next.Add(1)%most)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}
