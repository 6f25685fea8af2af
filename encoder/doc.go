// Package encoder turns texts into vectors with a checkpoint in the layout of
// sentence-transformers.
//
// One transformer stack serves all families: a family is a function that reads its config.json into
// an architecture, a table of choices and tensor names. Sequences run without padding: the states
// of a batch are one matrix, and attention runs per sequence and head.
package encoder
