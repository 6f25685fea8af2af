package encoder

import "strings"

// readSigmoid says whether the output of a cross-encoder with a single label passes a sigmoid: it does unless config.json says otherwise
// under sentence_transformers.activation_fn or, in older checkpoints, sbert_ce_default_activation_function. Both hold an import path of
// which the last segment counts. Source: sentence-transformers CrossEncoder.
func readSigmoid(f *fields) bool {
	name, path := "sbert_ce_default_activation_function", f.string("sbert_ce_default_activation_function", "")
	if o := f.object("sentence_transformers"); o != nil && o.has("activation_fn") {
		f, name, path = o, "activation_fn", o.string("activation_fn", "")
	}
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "", "Sigmoid":
		return true
	case "Identity":
		return false
	}
	f.fail(name, "is %q, want a path that ends in Sigmoid or Identity", path)
	return true
}
