# Everything needs Go and make, nothing else. `make run` serves the bundled documents; `make test` runs the tests.

ADDR ?= 127.0.0.1:8080
DATA ?= data/demo
GO   ?= go
export CGO_ENABLED = 0

.PHONY: all build run test race lint bench microbench generate fuzz e2e clean

all: build

build:
	$(GO) build -o bin/ ./cmd/...

# Builds, ingests the bundled documents with the embedded checkpoint and serves the page. A second run skips what is unchanged.
run: build
	bin/ingest --data $(DATA) testdata/notes
	bin/searchd serve --data $(DATA) --addr $(ADDR)

test:
	$(GO) test ./...

# Of the graph, whose tests compute for minutes under the race detector, those that do something at the same time. extract does nothing so, nor
# do the tests that only read very much.
race:
	CGO_ENABLED=1 $(GO) test -race -short -skip 'Bombs|CompressedBodies|ManyElements|LongReplay|ImportLargest' $$($(GO) list ./... | grep -v -e /extract -e /index/hnsw -e /internal/e2e -e /internal/lint)
	CGO_ENABLED=1 $(GO) test -race -short -run 'Compaction|Close|Everything|Contended|Goroutines|Source|Stats' ./index/hnsw

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) test ./internal/lint
	if command -v golangci-lint >/dev/null; then golangci-lint run; fi

# Writes docs/benchmarks.md in about ten minutes. With ONNX="CHECKPOINT TEXTS.jsonl CACHE" it measures that checkpoint too, and ONNX Runtime, which
# needs node (internal/bench/onnx.sh); SETS="DIR..." and PASSAGES=N: see internal/bench/report.sh. What was measured by hand stays as it is.
bench: build
	internal/bench/report.sh bin/searchd $(ONNX) >docs/benchmarks.md.new
	mv docs/benchmarks.md.new docs/benchmarks.md

# The Go benchmarks of each package.
microbench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/simd ./encoder/... ./index/...

# Rewrites what is generated: the assembly kernels and the golden files.
generate:
	$(GO) generate ./...
	$(GO) test ./internal/e2e -update

# Now and then Go's fuzzer reports the end of its own time as a failure (golang.org/issue/48157), which is tried once more.
FUZZTIME ?= 30s
fuzz:
	set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; fuzz() { $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; }; \
	    if ! out=$$(fuzz 2>&1); then \
	      echo "$$out"; echo "$$out" | grep -q '^ *context deadline exceeded$$' || exit 1; \
	      out=$$(fuzz 2>&1) || { echo "$$out"; exit 1; }; \
	    fi; \
	    echo "$$out" | tail -1; \
	  done; \
	done

# The browser tests: they fail, instead of being skipped, where there is no Chromium.
e2e:
	E2E_REQUIRE=1 $(GO) test -count=1 ./internal/e2e

clean:
	rm -rf bin data/demo
