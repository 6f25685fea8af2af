package interpose

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch is the environment variable that makes Main the launcher of another program.
const launch = "INTERPOSE_LAUNCH"

// Main must be called first in TestMain of a test that runs a Program. In the process that Run
// starts it installs the filter and becomes the program; where it returns an error there, the
// process must end.
func Main() error {
	program := os.Getenv(launch)
	if program == "" {
		return nil
	}
	reads := os.Getenv(launch+"_READS") != ""
	if err := errors.Join(os.Unsetenv(launch), os.Unsetenv(launch+"_READS"), install(reads)); err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// install gives this thread the filter and sends its listener through descriptor 3.
func install(reads bool) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	rules := filter(reads)
	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("%w: seccomp: %w", ErrUnsupported, errno)
	}
	err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
	return errors.Join(err, unix.Close(int(listener)), unix.Close(3))
}

// filter hands over the calls in watched, and of openat those that may change a file.
func filter(reads bool) (rules []unix.SockFilter) {
	const load, jumpIfEqual, jumpIfSet, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	rules = append(rules, unix.SockFilter{Code: load, K: 0}) // the number of the call
	for _, nr := range watched(reads) {
		if nr == unix.SYS_OPENAT {
			continue
		}
		rules = append(rules, unix.SockFilter{Code: jumpIfEqual, K: uint32(nr), Jt: 0, Jf: 1}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	return append(rules,
		unix.SockFilter{Code: jumpIfEqual, K: unix.SYS_OPENAT, Jt: 0, Jf: 3},
		unix.SockFilter{Code: load, K: 16 + 2*8}, // the lower half of the third argument: the flags
		unix.SockFilter{Code: jumpIfSet, K: unix.O_CREAT | unix.O_TRUNC, Jt: 0, Jf: 1},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// receive returns the descriptor that comes through a socket.
func receive(socket int) (int, error) {
	control := make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, 0)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.Join(errors.New("the program ended before it had a filter"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}
