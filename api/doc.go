// Package api serves the engine over HTTP: the REST API under /v1, health and description at the
// root, and the web page.
//
// A request takes one road, and each step is a file:
//
//	middleware.go   request id, log line, recovery, Host and Origin checks, security headers
//	routes.go       the route table; binds each route to its gate, deadline and body limit; the only user of echo
//	gate.go         how many requests of a kind run at once, and how long one waits
//	body.go         decompression and size limits of bodies; strict.go decodes JSON strictly
//	<resource>.go   decode, call the engine, encode
//	errors.go       one table from sentinel to status and code; application/problem+json
//
// Handlers are plain functions of net/http that return an error. What a router does (match a path,
// answer 404 and 405, hand errors to one place) is asked of echo v4 in routes.go and middleware.go
// alone; moving to another major version of echo, whose handlers take *echo.Context instead of
// echo.Context, changes these two files.
//
// Document ids may hold slashes, for many are file paths. The document routes therefore end in a
// wildcard, and the id is everything behind ".../documents/" in the path as it was sent,
// percent-decoded once: /documents/notes/a.md and /documents/notes%2Fa.md name the same document.
// The words that are routes themselves under a method (import, export, delete, search) stay
// reachable as ids by escaping a letter, as in /documents/%65xport; package client does so.
package api
