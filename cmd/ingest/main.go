// Command ingest brings documents into a data folder or a running server.
package main

import (
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/ingest"
)

func main() { command.Main(ingest.Program()) }
