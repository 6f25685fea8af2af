//go:build !unix

package extract

import "os"

// openRegular opens path for reading.
func openRegular(path string) (*os.File, error) { return os.Open(path) }
