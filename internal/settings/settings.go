// Package settings fills in a command's flags from the environment and from a file.
//
// The order, first that is there: the flag, the environment (SEARCHD_ and the flag's name in
// capitals, '-' as '_'), the file named by --config or SEARCHD_CONFIG, the default. The file has
// a line `name = value` per setting; lines that begin with '#' and empty lines are ignored.
//
// --data and --server exclude each other: where one of them is given as a flag, the other is not
// read from environment and file.
package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/spf13/pflag"
)

// ConfigFlag is the name of the flag that names the file.
const ConfigFlag = "config"

// Origin is where a value comes from.
type Origin string

// The origins; a value of the file has the file's name and line.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromDefault Origin = "default"
)

// Value is a setting with its origin.
type Value struct {
	Name, Value string
	Origin      Origin
}

// Env returns the name of the environment variable of a flag.
func Env(flag string) string {
	return "SEARCHD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Fill sets every flag of fs that was not given and has a value in the environment or the file, and
// returns all of them, by name. A wrong value is an error that names its origin, and so is a name
// in the file that is not among known.
func Fill(fs *pflag.FlagSet, known map[string]bool) ([]Value, error) {
	lines, err := readFile(fs)
	if err != nil {
		return nil, err
	}
	for name, l := range lines {
		if !known[name] {
			return nil, fmt.Errorf("%s: unknown setting %q", l.origin, name)
		}
	}
	given := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	if given["data"] && given["server"] {
		return nil, errors.New("--data and --server: name one of them")
	}
	var out []Value
	fs.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Name == "help" {
			return
		}
		origin := FromDefault
		if f.Name == "data" && given["server"] || f.Name == "server" && given["data"] {
			origin = FromDefault // the given one counts
		} else if f.Changed {
			origin = FromFlag
		} else if v, ok := os.LookupEnv(Env(f.Name)); ok {
			origin = FromEnv
			if e := fs.Set(f.Name, v); e != nil {
				err = fmt.Errorf("%s: %w", Env(f.Name), wrongValue(e))
			}
		} else if l, ok := lines[f.Name]; ok {
			origin = l.origin
			if e := fs.Set(f.Name, l.value); e != nil {
				err = fmt.Errorf("%s: %s: %w", l.origin, f.Name, wrongValue(e))
			}
		}
		out = append(out, Value{f.Name, text(f.Value), origin})
	})
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, err
}

// text is a value as it can be given: lists without pflag's brackets.
func text(v pflag.Value) string {
	if list, ok := v.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return v.String()
}

type line struct {
	value  string
	origin Origin
}

func readFile(fs *pflag.FlagSet) (map[string]line, error) {
	f := fs.Lookup(ConfigFlag)
	if f == nil {
		return nil, nil
	}
	path := f.Value.String()
	if path == "" {
		path = os.Getenv(Env(ConfigFlag))
	}
	if path == "" {
		return nil, nil
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("config file: %s is longer than the %d bytes that are allowed", path, maxFile)
	}
	return parse(string(b), path)
}

// maxFile is the length in bytes of a file of settings.
const maxFile = 1 << 20

func parse(file, path string) (map[string]line, error) {
	out := map[string]line{}
	n := 0
	for text := range strings.Lines(file) {
		n++
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		origin := Origin(fmt.Sprintf("%s:%d", path, n))
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: got %q, want name = value", origin, text)
		}
		if before, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: %q is set before, at %s", origin, name, before.origin)
		}
		out[name] = line{strings.TrimSpace(value), origin}
	}
	return out, nil
}
