package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// A primary whose machine is gone answers nothing, not even that nobody listens: who writes through a replica is told soon.
func TestPrimaryGone(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for some seconds")
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", sa.(*syscall.SockaddrInet4).Port)
	first, err := net.Dial("tcp", addr) // takes all the room there is: from here on the listener drops who comes
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	flags := followFlags{url: "http://" + addr}
	fo, err := flags.follower(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, flags.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	res, err := fo.transport.RoundTrip(r)
	if err == nil {
		res.Body.Close()
	}
	if took := time.Since(began); err == nil || took > 2*dialWait {
		t.Errorf("%v after %v, want an error within %v", err, took, dialWait)
	}
}

// The connections to the primary that wait for the next write are given up soon when its machine is gone.
func TestPrimaryKeptAlive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	flags := followFlags{url: "http://" + l.Addr().String()}
	fo, err := flags.follower(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c, err := fo.transport.(*http.Transport).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		of := func(option int) int {
			n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option)
			if err != nil {
				t.Error(err)
			}
			return n
		}
		if s := of(syscall.TCP_KEEPIDLE) + of(syscall.TCP_KEEPINTVL)*of(syscall.TCP_KEEPCNT); s > 10 {
			t.Errorf("given up after %d seconds, want 10 at most", s)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
