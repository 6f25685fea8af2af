// Package suggest completes queries while they are typed, from the titles of the documents of a
// collection and from the phrases that several of them have.
//
// An [Index] is made of the documents of a collection and stays in memory. Completions are in this
// order, within each by their weight:
//
//  1. what begins with the text as it is typed,
//  2. what has all its words, the last one perhaps unfinished,
//  3. where no text has a word, what has one like it: one edit in a word of five letters and more,
//     two in one of nine and more, after the first letter.
//
// Upper case and accents do not matter. The weight of a phrase is the logarithm of its documents; a
// title weighs as much as a phrase of four.
//
// A [Cache] makes the index of a collection when it is first asked for, and again in the background
// after documents changed. As it may be behind, each completion has the documents that it is from,
// and is shown only where one of them is as it was and the sender may see it.
package suggest
