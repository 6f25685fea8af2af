// Package hnsw finds the nearest vectors with a Hierarchical Navigable Small World graph
// (Malkov and Yashunin, arXiv:1603.09320; the code names Algorithms 1 to 5).
//
// A Graph maps ids of the caller, any uint32, to vectors. New makes an empty one, AddBatch fills it
// with many goroutines and always builds the same graph from the same input, Add and Delete change
// it one id at a time, Search answers. WriteSnapshot and ReadSnapshot carry it over a restart.
// Exact, in flat.go, is the oracle: every result of Search can be held against it.
//
// # Memory
//
// A vector of 384 components takes 1,710 bytes: 1,536 for its float32, 128 and some for links, the
// rest for tables. With QuantizeInt8 the graph is walked and built on codes, a byte per component,
// and keeps the vectors too: 2,100 bytes, and half the time. With a Source as well, the vectors
// stay where the caller has them, and 570 bytes are left; the best of a search are read from there
// and measured in float32, so that distances are exact in all three.
//
// # Terms
//
// An id belongs to the caller. A node is a row of the graph: a vector, its links and a level. Ids
// with bit for bit the same vector share one node, so that copies cannot crowd out everything else.
// Distance is smaller for what is nearer: 1 - dot for Cosine and Dot, the squared Euclidean
// distance for L2.
//
// # Invariants
//
//  1. A node's vector, code, id and own links are written before any other node links to it; what a
//     reader finds through a link is complete.
//  2. The entry point is published after its links. No write leaves behind a dead one while a node
//     lives.
//  3. Memory that a reader may see never moves: rows live in segments, and a compaction builds new
//     arrays beside the old, plays what was written meanwhile, and swaps them in as one.
//  4. A link that stays keeps its place in the record while others change, so that a reader that
//     races with a writer misses no link that was there before and after.
//  5. One writer at a time changes links (mu). Readers take no lock, but for a moment that of the
//     table of copies where a result is a node with several ids.
//  6. On layer 0 every live node has a link that leads to it, and every live node is reachable from
//     the entry point; the latter is verified whenever a thirty-second part of the graph is new and
//     before a snapshot, and restored where it fails. Links of dead nodes do not change any more.
//  7. The graph that AddBatch builds depends on its input alone, not on the number of goroutines.
//
// # Caveats
//
// Dot with vectors of unequal length is not a metric: recall is lower than with Cosine, and a
// vector need not be its own nearest neighbor. Deleted nodes stay as signposts until a fifth of the
// graph is dead; then a compaction runs in the background, and for its duration memory doubles.
// Close stops it. Codes of QuantizeInt8 tell vectors apart that differ by more than
// about a hundredth of their length: enough for embeddings, not for L2 on points that lie far from
// the origin and close together.
package hnsw
