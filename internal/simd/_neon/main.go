// Command _neon prints the arm64 assembly of package simd and its declarations. Run it with `go
// generate` in the package's folder; the output is committed.
package main

import (
	"flag"
	"fmt"
	"os"
)

// files lists the kernels of each output file.
var files = map[string]func(p *program){
	"vector": func(p *program) {
		dot(p)
		squaredL2(p)
		axpy(p)
		multiply(p)
		dotRows(p)
	},
	"gemm": func(p *program) {
		for _, nv := range []int{8, 4, 2} {
			gemm(p, nv)
		}
		transpose(p)
	},
	"int8": func(p *program) {
		for _, sdot := range []bool{true, false} {
			for _, nv := range []int{8, 4, 2} {
				gemmInt8(p, nv, sdot)
			}
			dotInt8(p, sdot)
			dotRowsInt8(p, sdot)
		}
		rowRange(p)
		quantize(p)
	},
	"rows": func(p *program) {
		activations(p)
		largest(p)
		expSum(p)
		scale(p)
		norms(p)
	},
}

func main() {
	kernels := flag.String("kernels", "", "which files to print: the kernels of NAME go to NAME_arm64.s and NAME_arm64.go")
	dir := flag.String("dir", "..", "where to")
	flag.Parse()
	build, ok := files[*kernels]
	if !ok {
		fmt.Fprintf(os.Stderr, "_neon: no kernels %q\n", *kernels)
		os.Exit(2)
	}
	p := &program{command: "go run . -kernels " + *kernels}
	build(p)
	if err := p.write(*dir + "/" + *kernels + "_arm64"); err != nil {
		fmt.Fprintln(os.Stderr, "_neon:", err)
		os.Exit(1)
	}
}
