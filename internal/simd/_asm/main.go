// Command _asm prints the amd64 assembly of package simd. Run it with `go generate` in the
// package's folder; the output is committed.
package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
)

// files lists the kernels of each output file.
var files = map[string]func(){
	"gemm": func() {
		for _, v := range []isa{avx512, avx2} {
			gemm(v, 2)
			gemm(v, 1)
			if v.wide() {
				gemmWide(v)
			}
			transpose(v)
		}
	},
	"rows": func() {
		for _, v := range []isa{avx512, avx2} {
			activations(v)
			softmax(v)
			if v.wide() {
				softmaxShort(v)
			}
			online(v)
			layerNorm(v)
			rmsNorm(v)
		}
	},
	"vector": func() {
		for _, v := range []isa{avx512, avx2} {
			dot(v)
			squaredL2(v)
			axpy(v)
			multiply(v)
			dotRows(v)
		}
	},
	"int8": func() {
		for _, v := range []isa{avx512, avx2} {
			gemmInt8(v, 2)
			if v.wide() {
				gemmInt8(v, 4)
			}
			rowRange(v)
			quantizeRows(v)
			dotInt8(v)
			dotRowsInt8(v)
		}
	},
	"amx": func() {
		gemmInt8AMX(false)
		gemmInt8AMX(true)
	},
}

func main() {
	kernels := flag.String("kernels", "", "which file to print: gemm, rows, vector, int8, amx")
	flag.Parse()
	build, ok := files[*kernels]
	if !ok {
		fmt.Fprintf(os.Stderr, "_asm: no kernels %q\n", *kernels)
		os.Exit(2)
	}
	ConstraintExpr("!purego")
	build()
	Generate()
}
