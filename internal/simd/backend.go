package simd

import (
	"fmt"
	"os"
)

// Backend is a set of instructions that the kernels are written for; each includes those before it.
type Backend uint8

// The back ends. AVX2 includes FMA and BMI2; AVX512 is F, BW, DQ and VL; AVX512VNNI adds the byte products, AMX those of tiles.
const (
	Go Backend = iota
	AVX2
	AVX512
	AVX512VNNI
	AMX
	numBackends
)

var backendNames = [numBackends]string{"go", "avx2", "avx512", "avx512vnni", "amx"}

// String is the name that the environment variables SIMD and SIMD_REQUIRE use.
func (b Backend) String() string {
	if b < numBackends {
		return backendNames[b]
	}
	return "invalid"
}

// best is what this machine and this build can run, active what the kernels use.
var (
	best   = detect()
	active = fromEnvironment(os.Getenv("SIMD"))
)

// fromEnvironment lowers best to the back end called name. Unknown names and those above best change nothing.
func fromEnvironment(name string) Backend {
	for b, n := range backendNames {
		if n == name {
			return min(Backend(b), best)
		}
	}
	return best
}

// Active is the back end in use: the best one, or the one that the environment variable SIMD names.
func Active() Backend { return active }

// Backends lists what this machine and this build can run, the slowest first.
func Backends() []Backend {
	var all []Backend
	for b := Go; b <= best; b++ {
		all = append(all, b)
	}
	return all
}

// Use makes b the active back end. It is meant for tests and benchmarks and must not run beside any other call of the package.
func Use(b Backend) error {
	if b > best {
		return fmt.Errorf("simd: back end %v is not available here, the best one is %v", b, best)
	}
	active = b
	return nil
}
