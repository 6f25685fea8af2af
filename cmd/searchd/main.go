// Command searchd serves a search engine and operates its data.
package main

import "searchd/cmd/internal/command"

func main() { command.Main(newRootCommand()) }
