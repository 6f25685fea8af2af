package main

import (
	"os"

	"searchd/extract/pdf"
)

// pdfArgument, as the first argument, makes this program the child that reads one PDF; see package pdf.
const pdfArgument = "--read-pdf-from-stdin"

// pdfCommand returns the command that starts the child.
func pdfCommand() []string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return []string{exe, pdfArgument}
}

// pdfChild is the child.
func pdfChild() int { return pdf.Child(os.Args[2:], os.Stdin, os.Stdout) }
