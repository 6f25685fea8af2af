// Package search is the engine: documents in, ranked answers out.
//
// An [Engine] owns one data folder. Documents go through one pipeline (check, hash, skip unchanged,
// cut into passages, encode, commit, index; see [Engine.Ingest]) and queries through another
// (check, filter, spell, encode, retrieve by vector and by words, fuse, match, cut, sort, fetch,
// mark and explain; see [Engine.Search]). Storage and indexes are behind package search/backend;
// the default, package search/embedded, keeps everything in the data folder.
//
// All methods of an Engine are safe for concurrent use.
package search
