//go:build linux && !amd64

package interpose

// old are the calls that newer architectures do not have.
var old = map[int]kind{}
