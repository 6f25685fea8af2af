package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/searchd/internal/edits"
)

// FlagError returns the error of a wrong flag with the allowed values, or with a pointer to --help.
func FlagError(cmd *cobra.Command, err error) error {
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, wrongValue(err))
	}
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	hint := ""
	if none := (*pflag.NotExistError)(nil); errors.As(err, &none) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		near := edits.Nearest(none.GetSpecifiedName(), known)
		if other := otherNames[none.GetSpecifiedName()]; near == "" && slices.Contains(known, other) {
			near = other
		}
		switch {
		case none.GetSpecifiedShortnames() != "" && strings.Contains(cmd.Use, "TEXT"):
			hint = "; -- goes before a text that begins with a minus"
		case near != "" && none.GetSpecifiedShortnames() == "":
			hint = "; did you mean --" + near + "?"
		}
	}
	return fmt.Errorf("%w%s; `%s --help` names the flags", err, hint, cmd.CommandPath())
}

// otherNames are what other programs call our flags.
var otherNames = map[string]string{"port": "addr", "host": "addr", "listen": "addr", "url": "server", "dir": "data", "folder": "data", "top": "limit", "index": "collection"}

// allowed describes the values of pflag's types.
var allowed = map[string]string{
	"bool": "true, false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number of 0 or more", "float64": "a number",
	"duration": "a time such as 500ms, 30s or 5m",
}

// wrongValue replaces pflag's parse errors by the allowed values.
func wrongValue(err error) error {
	wrong := (*pflag.InvalidValueError)(nil)
	switch {
	case !errors.As(err, &wrong):
		return err
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("got %q, allowed: one nearer to 0", wrong.GetValue())
	case allowed[wrong.GetFlag().Value.Type()] != "":
		return fmt.Errorf("got %q, allowed: %s", wrong.GetValue(), allowed[wrong.GetFlag().Value.Type()])
	}
	return fmt.Errorf("got %q: %w", wrong.GetValue(), wrong.Unwrap())
}
