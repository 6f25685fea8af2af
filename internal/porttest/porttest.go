// Package porttest finds addresses for servers of tests that are named before they are opened.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Ports below those that systems give away by themselves (Linux from 32768 on, others from 49152):
// one that was free stays so between the look at it and the server, and while a server is down that
// will come back. A port of ":0" may be given to anybody meanwhile, such as the tests of another
// package.
const (
	first = 20_000
	most  = 12_000
)

var next atomic.Uint32

func init() { next.Store(rand.Uint32N(most)) }

// Free returns an address of this machine on which nobody listens, another one each time.
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
