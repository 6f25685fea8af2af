// Package manual writes manual pages (man 1) of cobra's commands, from what --help shows.
package manual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/searchd/internal/settings"
)

// WriteAll writes the page of cmd and those of its subcommands into dir, which it makes: searchd.1,
// searchd-serve.1, ... Commands that help does not list have none.
func WriteAll(dir string, cmd *cobra.Command, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	Write(&b, cmd, version)
	if err := os.WriteFile(filepath.Join(dir, page(cmd)+".1"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	for _, sub := range listed(cmd) {
		if err := WriteAll(dir, sub, version); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the page of one command to w.
func Write(w io.Writer, cmd *cobra.Command, version string) {
	cmd.InitDefaultHelpFlag()
	p := printer{w}
	program := cmd.Root().Name()
	p.macro("TH", strings.ToUpper(page(cmd)), "1", "", strings.TrimSpace(program+" "+version), program+" manual")
	p.section("NAME")
	p.text(page(cmd) + " - " + lower(cmd.Short))
	p.section("SYNOPSIS")
	p.macro("B", cmd.UseLine())
	p.section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	p.paragraphs(long)
	p.options("OPTIONS", cmd.NonInheritedFlags())
	p.options("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.verbatim(cmd.Example)
	}
	p.section("SETTINGS")
	p.text("An option that is not given is taken from the environment: " + settings.Env("NAME") + ", in capitals and with _ for -. Next comes the file that --config or " +
		settings.Env(settings.ConfigFlag) + " names, with a line name = value each, then the default.")
	p.section("EXIT STATUS")
	p.text("0 done, 1 some items failed, 2 could not run.")
	if also := related(cmd); len(also) > 0 {
		p.section("SEE ALSO")
		p.text(strings.Join(also, ", "))
	}
}

// page is the name of a command's page: its path, joined by dashes.
func page(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// listed returns the subcommands that help lists, without those of cobra's own.
func listed(cmd *cobra.Command) (out []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			out = append(out, sub)
		}
	}
	return out
}

func related(cmd *cobra.Command) (out []string) {
	if cmd.HasParent() {
		out = append(out, page(cmd.Parent())+"(1)")
	}
	for _, sub := range listed(cmd) {
		out = append(out, page(sub)+"(1)")
	}
	return out
}

func lower(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' || len(s) > 1 && s[1] == ' ' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// printer writes roff.
type printer struct{ w io.Writer }

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\u00a0", `\ `)

// escape makes text that roff shows as it is.
func escape(s string) string {
	s = escapes.Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func (p printer) macro(name string, args ...string) {
	fmt.Fprintf(p.w, ".%s", name)
	for _, a := range args {
		fmt.Fprintf(p.w, ` "%s"`, strings.ReplaceAll(escape(a), `"`, `\(dq`))
	}
	fmt.Fprintln(p.w)
}

func (p printer) section(name string) { p.macro("SH", name) }

func (p printer) text(s string) { fmt.Fprintln(p.w, escape(s)) }

// paragraphs writes text whose paragraphs are parted by empty lines; indented lines are shown line
// by line.
func (p printer) paragraphs(s string) {
	for i, par := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		if strings.HasPrefix(par, " ") || strings.HasPrefix(par, "\t") {
			p.verbatim(par)
			continue
		}
		for line := range strings.Lines(par) {
			p.text(strings.TrimSpace(line))
		}
	}
}

func (p printer) verbatim(s string) {
	p.macro("nf")
	for line := range strings.Lines(s) {
		p.text(strings.TrimRight(line, "\n"))
	}
	p.macro("fi")
}

func (p printer) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.macro("TP")
		p.macro("B", strings.TrimSpace(name+" "+value))
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			usage += " (default " + d + ")"
		}
		p.text(usage)
	})
}
