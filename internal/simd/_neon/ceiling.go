package main

import "fmt"

// ceilings print loops that do as many operations as the processor can, in registers.
func ceilings(p *program) {
	loop := func(name, unit string, n int, body func(f *fn, acc v)) {
		f := p.function(name, "loops int", "", fmt.Sprintf("runs loops x %d %s.", n, unit))
		f.arg("loops", 0)
		for i := range v(32) {
			f.zero(i)
		}
		f.steps(0, 1, func() {
			for i := range v(n) {
				body(f, i)
			}
		})
		f.line("RET")
	}
	loop("ceilingNEON", "multiply-adds of 4 float32", 24, func(f *fn, acc v) { f.fmlaLane(acc, 24+acc%4, 28+acc%4, 0) })
	loop("ceilingBytesNEON", "times what gemmInt8NEON does for 16 products", 16, func(f *fn, acc v) { f.bytesByWords(acc, 24, 25, 26+acc%2*2, 27+acc%2*2) })
	loop("ceilingBytesNEONDot", "SDOT of 16 products", 24, func(f *fn, acc v) { f.sdotLane(acc, 24+acc%4, 28+acc%4, 0) })
}
