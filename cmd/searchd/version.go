package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"example.com/searchd/encoder"
	"example.com/searchd/internal/simd"
	"example.com/searchd/internal/version"
	"example.com/searchd/models"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, its commit and the built-in model", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checkpoint, err := models.Open(models.Embedded, encoder.Options{})
			if err != nil {
				return err
			}
			model := checkpoint.Model.Info()
			v, revision := version.Read()
			if revision == "" {
				revision = "unknown"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "searchd %s\ncommit  %s\nmodel   built-in %s, %d dimensions, weights %.8x\nbuilt   %s for %s/%s, kernels %s\n",
				v, revision, model.Family, model.Dim, model.SHA256, runtime.Version(), runtime.GOOS, runtime.GOARCH, simd.Active())
			return err
		},
	}
}
