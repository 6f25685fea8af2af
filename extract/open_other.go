//go:build !unix

package extract

import "os"

const openFlags = os.O_RDONLY
