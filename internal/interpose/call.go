package interpose

import "fmt"

// Op is the kind of a call.
type Op uint8

// Kinds of calls. Reads are logged only with Program.Reads.
const (
	Create     Op = iota // a new, empty file
	Write                // Data at Offset
	Truncate             // to Offset bytes
	Sync                 // a file's content
	SyncFolder           // the names in a folder
	Rename               // Path to To
	Remove               // a file or an empty folder
	Mkdir
	Read   // from a file
	Output // Data to the program's standard output
)

var opNames = [...]string{"create", "write", "truncate", "sync", "sync folder", "rename", "remove", "mkdir", "read", "output"}

func (o Op) String() string { return opNames[o] }

// A Call is one call of the program on a file below the root, or on its standard output. Paths are
// relative to the root.
type Call struct {
	Op     Op
	Path   string
	To     string
	Offset int64
	Data   []byte
	Failed bool // of Sync: the flush has failed. Other calls that fail are not in the log
}

func (c Call) String() string {
	switch c.Op {
	case Write, Read:
		return fmt.Sprintf("%s %s at %d, %d bytes", c.Op, c.Path, c.Offset, len(c.Data))
	case Truncate:
		return fmt.Sprintf("%s %s to %d", c.Op, c.Path, c.Offset)
	case Rename:
		return fmt.Sprintf("%s %s to %s", c.Op, c.Path, c.To)
	case Output:
		return fmt.Sprintf("%s %q", c.Op, c.Data)
	}
	return fmt.Sprintf("%s %s", c.Op, c.Path)
}
