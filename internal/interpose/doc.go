// Package interpose runs a program and takes the place of the kernel for its calls that change
// files: it carries each out, lets it fail, or ends the program there, and keeps a log of them. The
// program is the one that is shipped: it needs no hooks and notices nothing.
//
// It works on Linux from 5.19 on, by a seccomp filter that hands these calls to this process one
// after the other. So the log is their order, and a copy of the files is consistent between two
// calls. Files are changed through system calls alone: a program that writes to memory maps is out
// of reach.
package interpose
