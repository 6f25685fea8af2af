package interpose

import (
	"golang.org/x/sys/unix"
)

// kind is what a call does, whatever its number.
type kind uint8

const (
	callNone kind = iota
	callWrite
	callPwrite
	callRead
	callSync
	callTruncate
	callOpenat
	callRename
	callRenameat
	callUnlink
	callRmdir
	callUnlinkat
	callMkdir
	callMkdirat
	callCopy
	callSendfile
	callOther // changes files in a way that the log has no word for
)

// common are the calls that every architecture has.
var common = map[int]kind{
	unix.SYS_WRITE: callWrite, unix.SYS_PWRITE64: callPwrite, unix.SYS_FSYNC: callSync, unix.SYS_FDATASYNC: callSync,
	unix.SYS_FTRUNCATE: callTruncate, unix.SYS_OPENAT: callOpenat, unix.SYS_RENAMEAT2: callRenameat, unix.SYS_UNLINKAT: callUnlinkat,
	unix.SYS_MKDIRAT: callMkdirat, unix.SYS_COPY_FILE_RANGE: callCopy, unix.SYS_SENDFILE: callSendfile,
	unix.SYS_FALLOCATE: callOther, unix.SYS_LINKAT: callOther, unix.SYS_SYMLINKAT: callOther, unix.SYS_TRUNCATE: callOther,
}

func kindOf(nr int32) kind {
	if k, ok := common[int(nr)]; ok {
		return k
	}
	if nr == unix.SYS_READ || nr == unix.SYS_PREAD64 {
		return callRead
	}
	return old[int(nr)]
}

// watched returns the numbers of the calls that the filter hands over.
func watched(reads bool) (out []int) {
	for nr := range common {
		out = append(out, nr)
	}
	for nr := range old {
		out = append(out, nr)
	}
	if reads {
		out = append(out, unix.SYS_READ, unix.SYS_PREAD64)
	}
	return out
}
