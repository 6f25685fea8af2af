package simd

import (
	"fmt"
	"os"
	"slices"
)

// Backend is a set of instructions that the kernels are written for; each includes those before it
// of the same processors.
type Backend uint8

// The back ends. Of amd64, AVX2 includes FMA and BMI2; AVX512 is F, BW, DQ and VL; AVX512VNNI adds
// the byte products, AMX those of tiles. Of arm64, every processor has NEON; NEONDot adds the byte
// products.
const (
	Go Backend = iota
	AVX2
	AVX512
	AVX512VNNI
	AMX
	NEON
	NEONDot
	numBackends
)

var backendNames = [numBackends]string{"go", "avx2", "avx512", "avx512vnni", "amx", "neon", "neondot"}

// String is the name that the environment variables SIMD and SIMD_REQUIRE use.
func (b Backend) String() string {
	if b < numBackends {
		return backendNames[b]
	}
	return "invalid"
}

// available is what this machine and this build can run, the slowest first; active is the one in
// use.
var (
	available = detect()
	active    = fromEnvironment(os.Getenv("SIMD"))
)

// fromEnvironment is the back end called name, or the best one if that is not available.
func fromEnvironment(name string) Backend {
	for _, b := range available {
		if b.String() == name {
			return b
		}
	}
	return available[len(available)-1]
}

// Active is the back end in use: the best one, or the one that the environment variable SIMD names.
func Active() Backend { return active }

// Backends lists what this machine and this build can run, the slowest first.
func Backends() []Backend { return slices.Clone(available) }

// Use makes b the active back end. It is meant for tests and benchmarks and must not run
// concurrently with any other call of the package.
func Use(b Backend) error {
	if !slices.Contains(available, b) {
		return fmt.Errorf("simd: back end %v is not available here, there are %v", b, available)
	}
	active = b
	return nil
}
