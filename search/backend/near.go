package backend

import (
	"searchd/index/keyword"
)

// Bounds of NearTerms.
const (
	MaxNear     = keyword.MaxNear     // terms
	MaxNearRefs = keyword.MaxNearRefs // documents of a term
)
