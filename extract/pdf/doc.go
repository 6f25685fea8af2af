// Package pdf reads the text of PDF files that nobody vouches for.
//
// Parsers of PDF are known to loop, to recurse without end and to allocate what a file tells them to; in Go neither running out of memory
// nor of stack can be recovered from. So a [Reader] hands the file to a process of its own, which is this program again: the program calls
// [Child] as the first thing that it does when it is started with the arguments that the Reader was given. The child limits its own memory
// and processor time where the system can, and is killed when its time is over; what it has read by then is kept.
package pdf
