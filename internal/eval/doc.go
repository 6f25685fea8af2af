// Package eval measures search quality and reads the files that it is measured on: test collections
// in BEIR's layout and sentence pairs with similarities.
//
// The measures agree with trec_eval: nDCG has linear gain and the discount 1/log2(rank+1); a query
// without a relevant document is left out of the means, one without results counts 0.
package eval
