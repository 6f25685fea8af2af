package embedded

import (
	"searchd/search/backend"
	"searchd/store"
)

const _ = uint(store.MaxPassages - backend.MaxPassages) // the store takes as many
