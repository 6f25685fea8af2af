// Package lint holds the rules of this repository as tests: which package may import which, what a
// file and a package must look like, what must not stay in the text. Each failure names the place,
// the rule and its reason.
//
// The rules read the source with go/parser, whatever its build tags, and need neither a build nor
// the network. Each rule is itself tested against source that breaks it.
package lint
