// Package keyword finds documents by their words. It keeps an inverted index on disk with bleve's
// scorch; it and its packages are the only ones that import bleve.
//
// # Ranking
//
// bleve supplies tokenisers, stemmers, segments and postings, but not the ranking: its "bm25" takes
// the square root of term frequencies, squares the idf, and counts distinct terms for the average
// length. Search scores the postings itself:
//
//	score(q, d) = sum over the terms t of q of  qtf * idf(t) * tf' * (k1+1) / (tf' + k1 * (1 - b + b * dl'/avgdl'))
//	idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))
//
// N is the number of documents, df of those with t in any of the fields searched, qtf the frequency
// of t in the query. Several fields are searched as one (BM25F): tf' and dl' are the sums over
// fields of weight * term frequency and weight * number of tokens, and avgdl' is the mean of dl'.
// All counts are exact and without deleted documents. k1 = 1.2, b = 0.75. (Robertson and Zaragoza
// 2009.)
//
// Words with synonyms, and words that documents write together or in parts (compounds.go), are one
// term: its term frequency is the sum of those of its alternatives, and df counts the documents
// with any of them. The index has no positions: phrases are found by reading texts, see Texts.
// Where documents are spread over several indexes, each scores with the sum of their [Statistics].
//
// # Derived
//
// The index is a derived copy of a store. Each batch is written with the sequence number of the
// change log up to which it goes; after a crash the index opens at an older Seq, and the caller
// applies what is missing. Open returns ErrDamaged for damaged files; the caller renames the folder
// and rebuilds the index.
//
// # Caveats
//
//   - One process at a time can open an index, also for reading.
//   - A search reads all postings of its terms into memory, 5 bytes each; up to 64 MiB of postings
//     stay in [Caches].
//   - Memory per document: 4 bytes, and for each of its text fields at most 8, or 4 if half of its
//     segment's documents have the field; in segments where few documents have some field, or with
//     more than four fields, 8 more for each of the last two sets of weights.
//   - Texts of more than MaxTextFields names share one field: searches that name their field do not
//     find them.
//   - Filters by ranges of strings, facets, groups and sorting by strings read every value of the
//     field, about a microsecond each, the first time after a segment was written. Up to 64 MiB of
//     values stay in [Caches].
//   - Terms longer than 128 bytes are cut.
//
// The files are described in index/keyword/FORMAT.md.
package keyword
