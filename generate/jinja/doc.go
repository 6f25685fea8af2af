// Package jinja renders the chat templates of checkpoints: the part of Jinja that they use, with
// the settings, filters and functions that transformers gives them.
//
// A template comes from a stranger. Rendering cannot reach files, the network or the program, and
// ends with ErrLimit after a number of steps, or when a string or the output grows too long.
package jinja
