package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/settings"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Print each setting of serve with its origin",
		Args: cobra.NoArgs,
	}
	serve := newServeCommand()
	serve.Flags().VisitAll(func(f *pflag.Flag) { cmd.Flags().AddFlag(f) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		values, err := settings.Fill(cmd.Flags(), command.KnownFlags(cmd.Root()))
		if err != nil {
			return err
		}
		if addr, err := net.ResolveTCPAddr("tcp", cmd.Flag("addr").Value.String()); err == nil && !cmd.Flags().Changed("drain-grace") {
			at := slices.IndexFunc(values, func(v settings.Value) bool { return v.Name == "drain-grace" })
			values[at].Value = drainGraceAt(addr).String()
		}
		if at := slices.IndexFunc(values, func(v settings.Value) bool { return v.Name == "data" }); values[at].Value == "" {
			if values[at].Value, err = command.DefaultData(); err != nil {
				return err
			}
		}
		secret := settings.Value{Name: adminKeyEnv, Origin: settings.FromDefault}
		if os.Getenv(adminKeyEnv) != "" {
			secret.Value, secret.Origin = "(secret)", settings.FromEnv
		}
		values = append(values, secret)
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, v := range values {
			fmt.Fprintf(w, "%s\t%q\t%s\n", v.Name, v.Value, v.Origin)
		}
		return w.Flush()
	}
	return cmd
}
