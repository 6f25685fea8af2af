package simd

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRequired fails where a back end that SIMD or SIMD_REQUIRE (a list with commas) names is missing: it would be tested
// by nobody. The variables are read here, inside a test, so that a cached result does not hide a change of theirs.
func TestRequired(t *testing.T) {
	var have []string
	for _, b := range Backends() {
		have = append(have, b.String())
	}
	for _, name := range append(strings.Split(os.Getenv("SIMD_REQUIRE"), ","), os.Getenv("SIMD")) {
		if name != "" && !slices.Contains(have, name) {
			t.Errorf("back end %q is required; there are %v", name, have)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for name, want := range map[string]Backend{
		"": best, "go": Go, "avx2": min(AVX2, best), "avx512": min(AVX512, best), "avx512vnni": min(AVX512VNNI, best), "amx": min(AMX, best), "sse": best,
	} {
		if got := fromEnvironment(name); got != want {
			t.Errorf("fromEnvironment(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestUse(t *testing.T) {
	for _, b := range Backends() {
		use(t, b)
		if Active() != b {
			t.Errorf("after Use(%v) the active back end is %v", b, Active())
		}
	}
	if err := Use(best + 1); err == nil {
		t.Errorf("Use(%v) is nil where the best back end is %v", best+1, best)
	}
}
