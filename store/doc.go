// Package store keeps the documents of a search engine: one bbolt file in a data folder, the only
// source of truth. Search indexes are derived from it and can be thrown away at any time.
//
// There are four things to know.
//
// A [Store] is an open data folder. [Open] takes the folder's lock, checks the file, and makes both
// if they are missing. One process at a time has a folder open.
//
// A [Collection] is a named set of documents with settings that the store does not look into.
//
// A [Document] has an id, given by the caller, and a number (docno), given by the store; a JSON
// object of fields; and passages, windows of its text, each with a slot number and, as a rule, a
// vector. The id keeps its number while the document lives; an id that was deleted and comes back
// gets another. Slots only grow and are never used again: an update brings new ones and frees the
// old. So a derived index may treat a slot as a name for one vector, for ever.
//
// A [Change] is one entry of a collection's log. Each write that changes something takes the next
// sequence number of the collection and becomes the document's revision; the entry is written in
// the same transaction as the data. An index that remembers the last sequence number it applied,
// together with [Store.ID], catches up with [Store.Changes], or rebuilds from [Store.Documents] and
// [Store.Vectors] if that returns [ErrTrimmed] or [ErrAhead]. [Store.TrimChanges] cuts off what
// every index has applied.
//
// # Writing
//
// [Store.Apply] writes a batch in one transaction and returns the outcome of each write. When it
// returns, the batch is on the disk: an acknowledged write survives kill -9 and a power cut. A
// commit costs two flushes of the disk, whatever its size, so batches of hundreds are much faster
// than single writes; concurrent calls share commits.
//
// # Reading
//
// [Store.View] shows one collection at one moment and never waits for a writer. The iterators of
// Store itself read page by page in short views and are the ones for long scans.
//
// # Trust
//
// bbolt protects only its two header pages by a checksum. Every value here ends in a CRC-32C over
// bucket, key and content, verified by each read; a record that fails is an [ErrCorrupt] that names
// it, and the rest can still be read. An absent key is believed only after its neighbours have been
// verified. Open reads the pages of the file one by one before bbolt maps it and returns
// [ErrDamaged], leaving the file as it is, where they contradict each other; where the file ends
// too early; or where the newest header is damaged, which bbolt would pass over by going back to
// the transaction before. [Store.Check] compares everything with everything.
//
// After a failed commit the outcome is unknown, and the store is read-only until it is opened again
// ([ErrReadOnly]). A full disk is different: nothing was written, the error is [ErrNoSpace], and
// the next write may succeed.
//
// # Caveats
//
// Do not write to the store from inside a View of the same goroutine: when the file has to outgrow
// its memory map, 4 GiB or twice the size that it was opened with, the writer waits for all views
// to end, this one included.
//
// A View, Backup or Check that stays open keeps the pages of its moment from being reused; under
// writes the file grows meanwhile, and a file never shrinks by itself: see [Compact].
//
// In a file larger than [Options.VerifyLimit], and for damage that happens while the file is open,
// a wrong bit in the header of a page can still hide the records of that page until Check finds it.
//
// Hash is all that decides about Unchanged, unless a value of the document is damaged: put into it
// whatever the passages and vectors were made from, the model included.
//
// The first vector of a collection fixes the dimension until the collection holds no vector any
// more.
//
// The lock is an flock(2), which some network file systems do not honour, and the file has the byte
// order of the machine. Keep data folders on local disks.
package store
