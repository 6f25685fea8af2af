package simd

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRequired fails where a back end that SIMD or SIMD_REQUIRE (a list with commas) names is
// missing: it would be tested by nobody. The variables are read here, inside a test, so that a
// cached result does not hide a change of theirs.
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
	all := Backends()
	for name, want := range map[string]Backend{"": all[len(all)-1], "sse": all[len(all)-1], "go": Go} {
		if got := fromEnvironment(name); got != want {
			t.Errorf("fromEnvironment(%q) = %v, want %v", name, got, want)
		}
	}
	for b := Go; b < numBackends; b++ {
		want := all[len(all)-1]
		if slices.Contains(all, b) {
			want = b
		}
		if got := fromEnvironment(b.String()); got != want {
			t.Errorf("fromEnvironment(%q) = %v, want %v", b, got, want)
		}
	}
}

func TestUse(t *testing.T) {
	all := Backends()
	for b := Go; b <= numBackends; b++ {
		if slices.Contains(all, b) {
			use(t, b)
			if Active() != b {
				t.Errorf("after Use(%v) the active back end is %v", b, Active())
			}
		} else if err := Use(b); err == nil {
			t.Errorf("Use(%v) is nil, available are %v", b, all)
		}
	}
}
