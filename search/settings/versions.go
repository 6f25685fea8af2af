package settings

import (
	"cmp"
	"fmt"
	"time"

	"example.com/searchd/search/fault"
)

// Versions say how many former versions of a document are kept, and for how long after they were
// replaced or deleted.
type Versions struct {
	Keep int    `json:"keep"`
	For  string `json:"for,omitempty"` // hours, days or weeks such as 12h, 30d or 2w; default: 30d
}

// Bounds of versions.
const (
	maxVersions    = 100
	defaultVersion = "30d"
)

// Span returns For as a duration; ok is false if it is not one, or zero.
func (v Versions) Span() (d time.Duration, ok bool) {
	d, ok = Span(cmp.Or(v.For, defaultVersion))
	return d, ok && d > 0
}

func (s Settings) checkVersions(wrong *fault.Fields) {
	if s.Versions == nil {
		return
	}
	if n := s.Versions.Keep; n < 1 || n > maxVersions {
		wrong.Add("versions.keep", n, fmt.Sprintf("1 to %d; null instead of the object keeps none", maxVersions))
	}
	if _, ok := s.Versions.Span(); !ok {
		wrong.Add("versions.for", s.Versions.For, "a span above 0 of up to 100 years in hours, days or weeks, such as 12h, 30d or 2w")
	}
}
