package simd

import "math"

// LayerNorm writes gamma·(x-mean)/sqrt(variance+eps) + beta to dst, row by row; dst and x are
// [rows, hidden], gamma and beta [hidden]. The variance is the biased one. beta may be nil, dst may
// be x.
func LayerNorm(dst, x, gamma, beta []float32, rows, hidden int, eps float32) {
	needMatrix("LayerNorm", "dst", len(dst), rows, hidden, hidden)
	needMatrix("LayerNorm", "x", len(x), rows, hidden, hidden)
	need("LayerNorm", "gamma", len(gamma), hidden)
	if beta != nil {
		need("LayerNorm", "beta", len(beta), hidden)
		beta = beta[:hidden]
	}
	if hidden == 0 {
		return
	}
	for r := range rows {
		at := r * hidden
		layerNorm(dst[at:at+hidden], x[at:at+hidden], gamma[:hidden], beta, eps)
	}
}

// RMSNorm writes gamma·x/sqrt(mean(x²)+eps) to dst, row by row; shapes as in LayerNorm. dst may be
// x.
func RMSNorm(dst, x, gamma []float32, rows, hidden int, eps float32) {
	needMatrix("RMSNorm", "dst", len(dst), rows, hidden, hidden)
	needMatrix("RMSNorm", "x", len(x), rows, hidden, hidden)
	need("RMSNorm", "gamma", len(gamma), hidden)
	if hidden == 0 {
		return
	}
	for r := range rows {
		at := r * hidden
		rmsNorm(dst[at:at+hidden], x[at:at+hidden], gamma[:hidden], eps)
	}
}

func layerNormGo(dst, x, gamma, beta []float32, eps float32) {
	n := float64(len(x))
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / n
	var sq float64
	for _, v := range x {
		d := float64(v) - mean
		sq += d * d
	}
	scale := float32(1 / math.Sqrt(sq/n+float64(eps)))
	m := float32(mean)
	for i, v := range x {
		y := (v - m) * scale * gamma[i]
		if beta != nil {
			y += beta[i]
		}
		dst[i] = y
	}
}

func rmsNormGo(dst, x, gamma []float32, eps float32) {
	var sq float64
	for _, v := range x {
		sq += float64(v) * float64(v)
	}
	scale := float32(1 / math.Sqrt(sq/float64(len(x))+float64(eps)))
	for i, v := range x {
		dst[i] = v * scale * gamma[i]
	}
}
