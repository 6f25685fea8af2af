package interpose

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kill, returned by Program.Decide, ends the program with kill -9 before the call.
const Kill = syscall.Errno(1 << 20)

// A Program is a command whose calls are interposed.
type Program struct {
	Cmd  *exec.Cmd
	Root string // folder whose files are watched; absolute, without symbolic links

	// Decide is asked before each call with the number of calls before it, without reads. It
	// returns 0 to have the call carried out, the error with which it shall fail, or Kill. nil: all
	// are carried out.
	Decide func(n int, c Call) syscall.Errno

	Reads bool // also reads are handed to Decide; they are not in the log

	n     int
	calls []Call
	err   error
}

// ErrUnsupported says that the system does not let a process interpose the calls of another.
var ErrUnsupported = errors.New("interpose: not supported here")

// notification and response are the structs of seccomp_unotify(2).
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

const goOn = 1 // flag of a response: the kernel carries the call out

// Run runs the program to its end and returns the log. The error is that of Cmd.Wait, which is an
// *exec.ExitError where the program was killed, or says why a call could not be interposed.
func (p *Program) Run() ([]Call, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	if p.Cmd.Env == nil {
		p.Cmd.Env = os.Environ()
	}
	p.Cmd.Env = append(p.Cmd.Env, launch+"="+p.Cmd.Path)
	if p.Reads {
		p.Cmd.Env = append(p.Cmd.Env, launch+"_READS=1")
	}
	p.Cmd.Path, p.Cmd.ExtraFiles = self, []*os.File{theirs}
	err = p.Cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	listener, err := receive(pair[0])
	if err != nil {
		_ = p.Cmd.Wait()
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	served := make(chan struct{})
	go func() {
		p.serve(listener)
		close(served)
	}()
	err = p.Cmd.Wait()
	<-served
	unix.Close(listener)
	return p.calls, errors.Join(p.err, err)
}

// serve answers notifications until the program has ended.
func (p *Program) serve(listener int) {
	pidfd, err := unix.PidfdOpen(p.Cmd.Process.Pid, 0)
	if err != nil {
		p.err = err
		_ = p.Cmd.Process.Kill()
		return
	}
	defer unix.Close(pidfd)
	for {
		var n notification
		for {
			poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
			if _, err := unix.Poll(poll, -1); err == unix.EINTR {
				continue
			}
			if poll[0].Revents&unix.POLLIN == 0 {
				return // nobody uses the filter any more
			}
			break
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.ENOENT || errno == unix.EINTR { // the thread was killed meanwhile
				continue
			}
			return
		}
		t := target{p: p, pid: int(n.pid), pidfd: pidfd}
		r := t.answer(n.nr, n.args)
		if t.err != nil && p.err == nil {
			p.err = t.err
			_ = p.Cmd.Process.Kill()
			continue
		}
		if t.killed {
			_ = p.Cmd.Process.Kill()
			p.Decide = func(int, Call) syscall.Errno { return Kill }
			continue
		}
		r.id = n.id
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}
