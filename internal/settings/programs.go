package settings

import "strings"

// OfSearchd are the settings of searchd's commands: a config file may serve it and ingest.
var OfSearchd = strings.Fields(`addr allow-private allowed-hosts alpha base boost burst cdn classes clusters collection
		collections config cors-origin cutoff damaged data dataset debug-addr deep dim dimensions diversity
		documents drain-grace drop-damaged ef ef-construction expires explain facets fields filter
		for format fusion hub ids insecure into json keep-old key language limit log-format m
		max-collections max-conns max-size misspell mode model name only open operator pause pooling
		precision quantize query rate rate-burst rate-limit repair require-key reranker scopes
		searchers sentences server settings sort sparse-model spelling sts threads timeout tls-cert
		tls-key truth verify`)
