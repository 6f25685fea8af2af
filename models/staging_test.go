//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"os"
	"testing"
)

// TestLock goes through the case in which the holder removes the lock file while another has it
// open.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	side := func() *staging {
		parent, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		return &staging{parent: parent, base: "name"}
	}
	first, second, third := side(), side(), side()
	try := func(s *staging, want bool) {
		t.Helper()
		if ok, err := s.tryLock(); ok != want || err != nil {
			t.Fatalf("tryLock = %v, %v, want %v", ok, err, want)
		}
	}
	try(first, true)
	try(second, false)
	opened, err := second.parent.OpenFile(second.lockName(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	first.close()
	try(third, true)
	if ok, err := second.claim(opened); ok || err != nil {
		t.Errorf("claim of a file that has lost its name = %v, %v, want false", ok, err)
	}
	third.close()
	try(second, true)
	second.close()
}
