//go:build !unix

package extract

import "os"

// openFlags are for reading.
const openFlags = os.O_RDONLY
