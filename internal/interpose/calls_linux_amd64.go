package interpose

import "golang.org/x/sys/unix"

// old are the calls that newer architectures do not have.
var old = map[int]kind{
	unix.SYS_RENAME: callRename, unix.SYS_UNLINK: callUnlink, unix.SYS_RMDIR: callRmdir, unix.SYS_MKDIR: callMkdir,
	unix.SYS_RENAMEAT: callRenameat, unix.SYS_OPEN: callOther, unix.SYS_CREAT: callOther, unix.SYS_LINK: callOther, unix.SYS_SYMLINK: callOther,
}
