// Package analysis turns texts into the terms that a keyword index stores and queries ask for.
//
// [Analyzer.Tokens] cuts a text at white space and sends each chunk through the steps of pipeline:
// normalise Unicode, tokenise, split names and numbers into parts, lower-case, mark stop words,
// remove accents, stem. Tokenisers, stop words and stemmers are bleve's; the filters in this
// package correct or extend them. No term depends on what is beyond white space, so that chunks are
// cached; only a word with a single letter after it has a name of both, usbc for USB C.
package analysis
