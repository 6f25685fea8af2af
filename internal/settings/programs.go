package settings

import "strings"

// OfSearchd are the settings of searchd's commands: a config file may serve it and ingest.
var OfSearchd = strings.Fields(`addr allow-private allowed-hosts alpha analytics-days analytics-mib as backup-every backup-keep backup-to base beams boost burst cdn chat classes
		cluster clusters collection collections config copies cors-origin cutoff damaged
		data dataset days debug-addr deep dim dimensions diversity documents drain-grace
		drop-damaged ef ef-construction expires explain facets fields filter for format from
		from-key fusion generator hub ids if-revision insecure into json keep-old key language limit list log-format m
		max-collections max-conns max-size max-tokens meilisearch min-clicks misspell mode model name
		nats nats-creds node-addr node-ca node-cert node-key node-name only open operator otlp-endpoint
		partitions pause peers pooling precision quantize query rate rate-burst rate-limit
		repair repetition-penalty require-key reranker scopes searchers seed sentences
		server settings sort sparse-model spelling stop sts suggest-queries temperature texts threads timeout
		tls-cert tls-key to to-key tokens top-k top-p truth undo vector verify`)
