// Package ui holds the web page: plain files, embedded, without a build step and without anything
// from elsewhere.
package ui

import "embed"

// Files are index.html, the scripts, the style sheet and the icon.
//
//go:embed *.html *.js *.css *.svg
var Files embed.FS
