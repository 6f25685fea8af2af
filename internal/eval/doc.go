// Package eval measures search quality and reads its data: test collections in BEIR's layout and
// sentence pairs with similarities.
//
// The measures agree with trec_eval: nDCG has linear gain and the discount 1/log2(rank+1); a query
// without a relevant document is not counted, one without results counts 0.
package eval
