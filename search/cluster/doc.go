// Package cluster is a backend of several nodes on NATS JetStream.
//
// The log is the truth and every index is derived, as on one machine: a collection has a number of
// partitions, each with a replicated stream that is the log of its documents. Replicas, which are
// collections of an embedded backend, follow the logs; any of them can be thrown away.
//
// Invariants:
//  1. A write is acknowledged when the stream has committed it on a majority of its replicas, with
//     fsync, and every replica that serves searches has applied it.
//  2. A message replaces the revision of its document that its writer has seen, or the stream
//     refuses it. Revisions are places in the stream; the number of a document is the place of the
//     message that created it. So all replicas have the same of both.
//  3. A replica commits the place up to which it followed the log with the data, in one
//     transaction.
//  4. A replica serves while its node has had answers from a majority of the nodes within
//     leaseTime, and after it has applied a barrier that it wrote into the log since. A node is
//     taken for gone when a majority has not heard from it for longer than that. So whoever waits
//     for all replicas that may serve waits for all that do.
//  5. The catalogue, which is collections and the values of the engine, is a key-value bucket,
//     changed by compare-and-swap. Every node follows it.
//  6. A log that was lost is rebuilt from a replica that has all that was acknowledged: see
//     repair.go. A write is acknowledged only when a replica that serves has applied it: it knows
//     whether the log is still the one that it followed.
//  7. A search that lacks a partition fails and names it.
package cluster
