// Command ingest brings documents into a data folder or a running server.
package main

import (
	"searchd/cmd/internal/command"
	"searchd/cmd/internal/ingest"
)

func main() { command.Main(ingest.Program()) }
