package interpose

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// target is the thread whose call is answered.
type target struct {
	p      *Program
	pid    int
	pidfd  int
	killed bool
	err    error
}

// fate asks Decide for a call and logs it. Where ok is false the call is not carried out.
func (t *target) fate(c Call) (r response, ok bool) {
	if t.p.Decide != nil {
		switch errno := t.p.Decide(t.p.n, c); errno {
		case 0:
		case Kill:
			t.killed = true
			return r, false
		default:
			if c.Op != Read {
				t.p.n++
			}
			return response{errno: -int32(errno)}, false
		}
	}
	if c.Op != Read {
		t.p.n++
	}
	return r, true
}

// log keeps a call that was carried out, or fails with its error.
func (t *target) log(c Call, val int, err error) response {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return response{errno: -int32(errno)}
	}
	if err != nil {
		t.err = fmt.Errorf("interpose: %s: %w", c, err)
		return response{}
	}
	t.p.calls = append(t.p.calls, c)
	return response{val: int64(val)}
}

// within returns the part of path below the root.
func (t *target) within(path string) (string, bool) {
	rest, ok := strings.CutPrefix(filepath.Clean(path), t.p.Root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// pathOf returns the path of a descriptor, relative to the root.
func (t *target) pathOf(fd uint64) (string, bool) {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(fd)))
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return "", false
	}
	return t.within(path)
}

// path returns the absolute path that an argument names.
func (t *target) path(dirfd uint64, pointer uint64) (string, error) {
	name, err := t.text(pointer)
	if err != nil || filepath.IsAbs(name) {
		return name, err
	}
	from := fmt.Sprintf("/proc/%d/cwd", t.pid)
	if int32(dirfd) != unix.AT_FDCWD {
		from = fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(dirfd))
	}
	dir, err := os.Readlink(from)
	return filepath.Join(dir, name), err
}

// text returns a string of the program's memory.
func (t *target) text(pointer uint64) (string, error) {
	for size := 256; size <= 8192; size *= 2 {
		b := make([]byte, size)
		n, err := t.memory(b, pointer)
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(b[:i]), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", unix.ENAMETOOLONG
}

// memory reads the program's memory.
func (t *target) memory(b []byte, pointer uint64) (int, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.pid))
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	return mem.ReadAt(b, int64(pointer))
}

// with runs fn with a copy of the program's descriptor.
func (t *target) with(fd uint64, fn func(fd int) (int, error)) (int, error) {
	mine, err := unix.PidfdGetfd(t.pidfd, int(int32(fd)), 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(mine)
	return fn(mine)
}

// answer carries out a call, or says that the kernel shall.
func (t *target) answer(nr int32, a [6]uint64) response {
	switch kindOf(nr) {
	case callWrite:
		return t.write(a, false)
	case callPwrite:
		return t.write(a, true)
	case callRead:
		if path, ok := t.pathOf(a[0]); ok {
			if r, ok := t.fate(Call{Op: Read, Path: path, Data: make([]byte, 0)}); !ok {
				return r
			}
		}
	case callSync:
		return t.sync(a[0])
	case callTruncate:
		if path, ok := t.pathOf(a[0]); ok {
			c := Call{Op: Truncate, Path: path, Offset: int64(a[1])}
			if r, ok := t.fate(c); !ok {
				return r
			}
			n, err := t.with(a[0], func(fd int) (int, error) { return 0, unix.Ftruncate(fd, c.Offset) })
			return t.log(c, n, err)
		}
	case callOpenat:
		return t.open(a[0], a[1], int(a[2]), uint32(a[3]))
	case callRename:
		return t.rename(unix.AT_FDCWD&0xFFFFFFFF, a[0], unix.AT_FDCWD&0xFFFFFFFF, a[1])
	case callRenameat:
		return t.rename(a[0], a[1], a[2], a[3])
	case callUnlink:
		return t.remove(unix.AT_FDCWD&0xFFFFFFFF, a[0], 0)
	case callRmdir:
		return t.remove(unix.AT_FDCWD&0xFFFFFFFF, a[0], unix.AT_REMOVEDIR)
	case callUnlinkat:
		return t.remove(a[0], a[1], int(a[2]))
	case callMkdir:
		return t.mkdir(unix.AT_FDCWD&0xFFFFFFFF, a[0], uint32(a[1]))
	case callMkdirat:
		return t.mkdir(a[0], a[1], uint32(a[2]))
	case callCopy: // between files by the kernel: the program falls back to reading and writing
		if _, ok := t.pathOf(a[2]); ok {
			return response{errno: -int32(unix.EXDEV)}
		}
	case callSendfile:
		if _, ok := t.pathOf(a[0]); ok {
			return response{errno: -int32(unix.EINVAL)}
		}
	case callOther:
		t.err = fmt.Errorf("interpose: call %d is not understood", nr)
	}
	return response{flags: goOn}
}

func (t *target) write(a [6]uint64, at bool) response {
	c := Call{Op: Write}
	var ok bool
	if c.Path, ok = t.pathOf(a[0]); !ok && (at || a[0] != 1) {
		return response{flags: goOn}
	} else if !ok {
		c.Op = Output
	}
	c.Data = make([]byte, a[2])
	if _, err := t.memory(c.Data, a[1]); err != nil {
		return response{errno: -int32(unix.EFAULT)}
	}
	if c.Op == Output {
		r, ok := t.fate(c)
		if ok {
			t.p.calls = append(t.p.calls, c)
			r.flags = goOn
		}
		return r
	}
	n, err := t.with(a[0], func(fd int) (_ int, err error) {
		c.Offset = int64(a[3])
		if !at {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if err != nil {
				return 0, err
			}
			whence := unix.SEEK_CUR
			if flags&unix.O_APPEND != 0 {
				whence = unix.SEEK_END
			}
			if c.Offset, err = unix.Seek(fd, 0, whence); err != nil {
				return 0, err
			}
		}
		r, ok := t.fate(c)
		switch {
		case t.killed:
			return 0, nil
		case !ok:
			return 0, syscall.Errno(-r.errno)
		case at:
			return unix.Pwrite(fd, c.Data, c.Offset)
		}
		return unix.Write(fd, c.Data)
	})
	if t.killed {
		return response{}
	}
	return t.log(c, n, err)
}

// sync does not flush anything: the log is what says which bytes would be on the disk.
func (t *target) sync(fd uint64) response {
	path, ok := t.pathOf(fd)
	if !ok {
		return response{flags: goOn}
	}
	c := Call{Op: Sync, Path: path}
	if fi, err := os.Stat(filepath.Join(t.p.Root, path)); err == nil && fi.IsDir() {
		c.Op = SyncFolder
	}
	r, ok := t.fate(c)
	if !ok && (t.killed || c.Op != Sync) {
		return r
	}
	c.Failed = !ok
	t.p.calls = append(t.p.calls, c)
	return r
}

// open creates or cuts the file, after which the kernel opens it.
func (t *target) open(dirfd, pointer uint64, flags int, mode uint32) response {
	full, err := t.path(dirfd, pointer)
	path, ok := t.within(full)
	if err != nil || !ok {
		return response{flags: goOn}
	}
	_, err = os.Lstat(full)
	c := Call{Op: Create, Path: path}
	switch exists := !errors.Is(err, fs.ErrNotExist); {
	case !exists && flags&unix.O_CREAT == 0, exists && flags&unix.O_TRUNC == 0, exists && flags&unix.O_EXCL != 0:
		return response{flags: goOn}
	case exists:
		c = Call{Op: Truncate, Path: path}
		if r, ok := t.fate(c); !ok {
			return r
		}
		if err = os.Truncate(full, 0); err == nil {
			r := t.log(c, 0, nil)
			r.flags = goOn
			return r
		}
	default:
		if r, ok := t.fate(c); !ok {
			return r
		}
		if flags&unix.O_EXCL == 0 {
			var fd int
			if fd, err = unix.Open(full, flags|unix.O_CLOEXEC, mode); err == nil {
				unix.Close(fd)
			}
		} else {
			_, err = os.Stat(filepath.Dir(full))
		}
		if err == nil {
			r := t.log(c, 0, nil)
			r.flags = goOn
			return r
		}
	}
	return t.log(c, 0, err)
}

func (t *target) rename(fromDir, from, toDir, to uint64) response {
	oldFull, err1 := t.path(fromDir, from)
	newFull, err2 := t.path(toDir, to)
	oldPath, ok1 := t.within(oldFull)
	newPath, ok2 := t.within(newFull)
	if err1 != nil || err2 != nil || !ok1 && !ok2 {
		return response{flags: goOn}
	}
	if ok1 != ok2 {
		t.err = fmt.Errorf("interpose: %s is renamed to %s, across the root", oldFull, newFull)
		return response{}
	}
	c := Call{Op: Rename, Path: oldPath, To: newPath}
	if r, ok := t.fate(c); !ok {
		return r
	}
	return t.log(c, 0, unix.Rename(oldFull, newFull))
}

func (t *target) remove(dirfd, pointer uint64, flags int) response {
	full, err := t.path(dirfd, pointer)
	path, ok := t.within(full)
	if err != nil || !ok {
		return response{flags: goOn}
	}
	fi, err := os.Lstat(full)
	if err != nil || fi.IsDir() != (flags&unix.AT_REMOVEDIR != 0) {
		return response{flags: goOn} // which fails
	}
	c := Call{Op: Remove, Path: path}
	if r, ok := t.fate(c); !ok {
		return r
	}
	return t.log(c, 0, unix.Unlinkat(unix.AT_FDCWD, full, flags))
}

func (t *target) mkdir(dirfd, pointer uint64, mode uint32) response {
	full, err := t.path(dirfd, pointer)
	path, ok := t.within(full)
	if err != nil || !ok {
		return response{flags: goOn}
	}
	if _, err := os.Lstat(full); err == nil {
		return response{flags: goOn} // which fails
	}
	c := Call{Op: Mkdir, Path: path}
	if r, ok := t.fate(c); !ok {
		return r
	}
	return t.log(c, 0, unix.Mkdir(full, mode))
}
