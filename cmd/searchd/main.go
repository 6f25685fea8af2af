// Command searchd serves a search engine and operates its data.
package main

import "example.com/searchd/cmd/internal/command"

func main() { command.Main(newRootCommand()) }
