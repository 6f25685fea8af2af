// Package keyword finds documents by their words. It keeps an inverted index on disk with bleve's
// scorch and is the only package that imports bleve.
//
// # Ranking
//
// bleve supplies analysis, postings and filters, but not the ranking: its "bm25" takes the square
// root of term frequencies, squares the idf and has an average length that counts distinct terms.
// Search scores the postings itself:
//
//	score(q, d) = sum over the terms t of q of  qtf * idf(t) * tf' * (k1+1) / (tf' + k1 * (1 - b + b * dl'/avgdl'))
//	idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))
//
// N counts the documents, df those with t in any of the fields searched, qtf the occurrences of t
// in the query. Several fields are searched as one (BM25F): tf' and dl' are the sums over fields of
// weight * term frequency and weight * number of tokens, and avgdl' is the mean of dl'; title and
// body with weight 1 score as their texts joined do. Words of q that have synonyms are one term:
// its term frequency is the sum of those of the alternatives, and df counts the documents with any
// of them. So are words that documents write together or apart, see breaks. Postings have no
// positions: whether a document has an alternative of several words is read from its text, see
// Texts. All counts are exact and leave deleted documents out. k1 = 1.2, b = 0.75. (Robertson and
// Zaragoza 2009.) Where the documents of a collection are spread over several indexes, each counts
// with what all of them know, see Statistics.
//
// # Derived
//
// The index is a derived copy of what a store holds. Each batch is written with the sequence number
// of the change log up to which it goes; after a crash the index opens at an older Seq and the
// caller applies what is missing. Open trusts nothing: what is damaged gives ErrDamaged, is set
// aside by the caller and built again.
//
// # Caveats
//
//   - One process at a time can open an index, also for reading.
//   - Every search reads all postings of its terms, so that total is exact: its time grows with the
//     documents that contain a term of the query.
//   - Memory per document: 4 bytes, and for each of its text fields at most 8, or 4 if half of its
//     segment's documents have the field; of segments where few have some field, or with more than
//     four fields, 8 more for each of the last two sets of weights.
//   - Texts of more than MaxTextFields different names share one field: searches over all fields
//     find them, those that name their field do not.
//   - What the analysis makes of words is kept, for all indexes of a language together, in some 16
//     MB at most.
//   - Filters by ranges of strings, facets, groups and sorting by strings look every value of the
//     field up, about a microsecond each, the first time after a segment was written. Up to 64 MiB
//     of what they find is kept, of all indexes.
//   - Terms longer than 128 bytes are cut.
//
// The files are described in docs/format/keyword.md.
package keyword
