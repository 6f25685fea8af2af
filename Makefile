# Everything needs Go and make, nothing else. `make run` serves the bundled documents; `make test` runs the tests.

ADDR ?= 127.0.0.1:8080
DATA ?= data/demo
GO   ?= go
export CGO_ENABLED = 0

.PHONY: all build run test race lint bench microbench generate fuzz e2e reliability reliability-long cluster-test module release clean

all: build

build:
	$(GO) build -o bin/ ./cmd/...

# Builds, ingests the bundled documents with the embedded checkpoint and serves the page. A second run skips what is unchanged.
run: build
	bin/ingest --data $(DATA) testdata/notes
	bin/searchd serve --data $(DATA) --addr $(ADDR)

# What to run after each change. LONG_TESTS=1 adds the exhaustive tests, among them most of those in a browser. The end-to-end tests and
# those of clusters, which mostly wait, take longest and come first, so that the other packages are tested beside them.
test:
	$(GO) test -timeout 15m ./internal/e2e ./search/cluster ./...

# Of the vector graph, the keyword index and the tokenizers, whose tests compute for minutes under the race detector, those that do something at the
# same time. extract and the kernels do nothing so, nor do the tests that only read very much, and internal/reliability runs programs that are
# built without the detector. Neither does safetensors, which has no goroutines:
# it is compiled as without the detector, under which its loops over all weights would be two thirds of opening a checkpoint, as most of the other
# tests do.
RACE = CGO_ENABLED=1 $(GO) test -race -short -gcflags=example.com/searchd/encoder/safetensors=-race=false
race:
	$(RACE) -skip 'Decoders|Families|FixtureIDs|ConfigsChanged|Beams|Greedy|Stop$$|Bombs|BitFlips|Hostile|Compressed(Bodies|SlowReader|ExportCutOff)|ManyElements|LongLines|LongFiles|LongReplay|ImportLargest|TooLarge|Synonyms|SettingsRefused|DefaultSettings|ReadsLittle|CutoffCatalogue|LostLog|TestBackend/pages' \
	  $$($(GO) list ./... | grep -v -e /extract -e /index/hnsw -e /index/keyword -e /encoder/tokenizer -e /internal/simd -e /internal/e2e -e /internal/lint -e /internal/reliability -e /internal/interpose -e /internal/heap -e /cmd/searchd -e '/search$$' -e /search/embedded)
	$(RACE) -run 'Compaction|Close|Everything|Contended|Goroutines|During|AtOnce|Merging|Batch|Broken|Kill|WhileOpen|Concurren' \
	  ./index/hnsw ./index/keyword ./encoder/tokenizer
	$(RACE) -run 'Close|During|AtOnce|Kill|Concurren|Serve|MCP|Interrupted|Pictures|While|Reembed|Throttle|Writers' \
	  ./search ./search/embedded ./cmd/searchd

# Nodes of a cluster in processes of their own, of which CLUSTER_KILLS are killed while others write, read and search; part of `make test`
# with LONG_TESTS=1.
CLUSTER_KILLS ?= 3
cluster-test:
	LONG_TESTS=1 CLUSTER_KILLS=$(CLUSTER_KILLS) $(GO) test -count=1 -timeout 60m -v ./search/cluster

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) test ./internal/lint
	if command -v golangci-lint >/dev/null; then golangci-lint run; fi

# Prints the encoder's tables for this machine in about ten minutes. ONNX="CHECKPOINT TEXTS.jsonl CACHE" measures that checkpoint and
# ONNX Runtime too, which needs node; SETS="DIR..." and PASSAGES=N: see internal/bench/report.sh.
bench: build
	@internal/bench/report.sh bin/searchd $(ONNX)

# The Go benchmarks of each package.
microbench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/simd ./encoder/... ./index/...

# Rewrites what is generated: the assembly kernels and the golden files.
generate:
	$(GO) generate ./...
	$(GO) test ./internal/e2e -update

# FUZZTIME is a number of inputs for each target: where it is a time, Go's fuzzer reports its end as a failure now and then
# (golang.org/issue/48157).
FUZZTIME ?= 100000x
# With FUZZ_PARTS=3 and FUZZ_PART=0, 1 or 2: the targets of every third package.
FUZZ_PARTS ?= 1
FUZZ_PART ?= 0
# What the coverage is measured of by which inputs are chosen: the packages of this module, or with FUZZ_ALL=1 also those that they use. Of those
# compiling takes longer than 2,000 inputs of each target.
FUZZ_ALL ?=
fuzz:
	set -e; bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; \
	packages=$$(grep -rl --include='*_test.go' '^func Fuzz' * | xargs -n 1 dirname | sort -u | awk 'NR % $(FUZZ_PARTS) == $(FUZZ_PART) { print "./" $$0 }'); \
	if [ -z "$(FUZZ_ALL)" ]; then $(GO) test -c -gcflags=./...=-d=libfuzzer -ldflags='-s -w' -o "$$bin/" $$packages; fi; \
	for p in $$packages; do \
	  if [ -n "$(FUZZ_ALL)" ]; then $(GO) test -c -fuzz . -ldflags='-s -w' -o "$$bin/" $$p; fi; \
	  test="$$bin/$$(basename $$p).test"; cd $$p; \
	  for f in $$("$$test" -test.list '^Fuzz' | grep '^Fuzz'); do \
	    echo "$$p $$f"; \
	    out=$$("$$test" -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/searchd/$$p" 2>&1) || \
	      { echo "$$out"; exit 1; }; \
	    if echo "$$out" | grep 'without coverage guidance'; then exit 1; fi; \
	    echo "$$out" | grep '^fuzz: ' | tail -1; \
	  done; \
	  cd $(CURDIR); rm "$$test"; \
	done

# The browser tests: they fail, instead of being skipped, where there is no Chromium.
e2e:
	E2E_REQUIRE=1 $(GO) test -count=1 ./internal/e2e

# The scoreboard of internal/reliability/README.md. ROW=4,7 runs these rows alone, SEED=N repeats the random choices of a run.
reliability:
	$(GO) run ./internal/reliability $(if $(ROW),--row $(ROW)) $(if $(SEED),--seed $(SEED))

reliability-long:
	$(GO) run ./internal/reliability --long $(if $(ROW),--row $(ROW)) $(if $(SEED),--seed $(SEED))

# Gives the module another path, so that other modules can require it: make module PATH=example.com/me/searchd
# (The variable hides the shell's PATH, which the recipe takes from the system again.)
ROOMS = $$(ls -d */ | tr -d / | paste -sd'|' -)
module:
	@case "$(origin PATH) $(PATH)" in "command line "*[!a-zA-Z0-9./_~-]*) echo "PATH=$(PATH): letters, digits and ./_~- only"; exit 2 ;; \
	  "command line "*.*/* | "command line "*.*) ;; *) echo "name the path, with a dot: make module PATH=example.com/me/searchd"; exit 2 ;; esac; \
	PATH=$$(command -p getconf PATH):/usr/local/go/bin:/usr/local/bin:/opt/homebrew/bin; set -eu; old=$$(sed -n 's/^module //p' go.mod); \
	git ls-files '*.go' '*go.mod' Makefile | xargs sed -i.old -E \
	  -e "s#([\"=])$$old/($(ROOMS))([/\"=])#\1$(PATH)/\2\3#g" -e "s#^module $$old(/|\$$)#module $(PATH)\1#" -e "s#^([[:space:]]*(const )?module += \")$$old\"#\1$(PATH)\"#"; \
	git ls-files '*.go' '*go.mod' Makefile | sed 's/$$/.old/' | xargs rm -f; \
	if command -v gofmt >/dev/null; then gofmt -w $$(git ls-files '*.go'); else echo "sort the imports with: gofmt -w ."; fi; \
	echo "the module is $(PATH); run go build ./... and make lint"

# Builds archives, packages, images, SBOMs and checksums of this commit into dist/; see packaging/release.sh.
release:
	packaging/release.sh

clean:
	rm -rf bin dist data/demo
