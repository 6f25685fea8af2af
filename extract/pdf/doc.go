// Package pdf reads the text of PDF files that nobody vouches for.
//
// Parsers of PDF are known to loop, to recurse without end and to allocate what a file tells them to; in Go neither running out of memory
// nor of stack can be recovered from. So a [Reader] hands the file to a process of its own, which is this program again: its main begins
// with [AsChild], and the Reader's command is [Self]. The child limits its own memory and processor time where the system can, and is killed
// when its time is over; what it has read by then is kept.
package pdf
