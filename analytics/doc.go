// Package analytics keeps a bounded log of searches and of the hits that users open, and counts
// what is in it.
//
// A [Log] is a folder of segments, one or more per day, of lines of JSON with a checksum each. The
// rules:
//
//  1. Nothing waits for the disk: an event goes into a queue, and one that finds it full is dropped
//     and counted. A writer appends once per [Interval] and flushes to the disk. What came since is
//     lost when the process is killed; Close loses nothing.
//  2. Events older than Options.Days are deleted a day at a time; beyond Options.MaxBytes the
//     oldest segment is deleted.
//  3. An event has no address, no API key and nothing that joins two searches of one user.
//  4. The searches of tenants carry a hash of what the tenant may see, so that queries of one are
//     never suggested to another.
//  5. A damaged line is left out and counted.
//
// A search whose query was not finished is held in memory, and goes into the log when the user
// opens a hit or reads the answer: else every letter that is typed would count.
package analytics
