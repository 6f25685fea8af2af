// Package search is the engine: documents in, ranked answers out.
//
// An [Engine] owns one data folder. Documents go through one pipeline (check, hash, skip unchanged,
// cut into passages, encode, commit, index; see [Engine.Ingest]) and queries through another
// (check, filter, spell, encode, find by vector and by words, fill the missing leg, fuse, match,
// sort, fetch, mark and explain; see [Engine.Search]). What stores and finds lies behind package
// search/backend; the default, package search/embedded, keeps everything in the data folder.
//
// All methods of an Engine are safe for concurrent use.
package search
