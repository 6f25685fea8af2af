// Command reliability runs the reliability scoreboard of internal/reliability/README.md.
//
//	go run ./internal/reliability [--long] [--row 1,2] [--seed N] [--list]
//
// Each row prints its seed, its figures and whether it passed. A row runs alone with --row.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run returns the exit code: 0 where every row passed, 1 where one failed, 2 for wrong arguments.
func run(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("reliability", flag.ContinueOnError)
	long := flags.Bool("long", false, "run the long form of each row")
	only := flags.String("row", "", "numbers of the rows to run, separated by commas; default: all")
	seed := flags.Uint64("seed", 0, "seed of the random choices; default: a new one")
	list := flags.Bool("list", false, "print the commands instead of running them")
	if flags.Parse(args) != nil {
		return 2
	}
	chosen, err := choose(*only)
	if err != nil || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "reliability:", err, flags.Args())
		return 2
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	fmt.Fprintf(out, "%s/%s, %d CPUs, %s, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
	failed := 0
	for _, r := range chosen {
		commands := r.commands(*long)
		if *list {
			fmt.Fprintf(out, "%2d %s\n     %s\n", r.number, r.promise, strings.Join(commands, "\n     "))
			continue
		}
		if !r.run(out, commands, *seed) {
			failed++
		}
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d rows failed\n", failed, len(chosen))
		return 1
	}
	return 0
}

// choose returns the rows with these numbers, all for an empty list.
func choose(list string) (chosen []row, err error) {
	if list == "" {
		return rows, nil
	}
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		i := slices.IndexFunc(rows, func(r row) bool { return r.number == n })
		if err != nil || i < 0 {
			return nil, fmt.Errorf("--row %q: want numbers from 1 to %d", list, len(rows))
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}

// figure matches what a test that is not a subtest logs, and a script that could not do its work.
var figure = regexp.MustCompile(`^    \w+_test\.go:\d+: (.*)|^(.*: not checked)$`)

// maxFigures bounds the lines that a command prints when it passes.
const maxFigures = 8

func (r row) run(out io.Writer, commands []string, seed uint64) bool {
	fmt.Fprintf(out, "%2d %s (seed %d)\n", r.number, r.promise, seed)
	began := time.Now()
	for _, c := range commands {
		cmd := exec.Command("sh", "-c", c)
		cmd.Env = append(os.Environ(), fmt.Sprint("RELIABILITY_SEED=", seed), "CGO_ENABLED=0", "RELIABILITY_REQUIRE=1", "INTERPOSE_REQUIRE=1")
		output, err := cmd.CombinedOutput()
		if err != nil {
			fmt.Fprintf(out, "%s\n   FAILED: %s: %v\n", output, c, err)
			return false
		}
		lines := bytes.Split(output, []byte("\n"))
		printed := 0
		for _, l := range lines {
			if m := figure.FindSubmatch(l); m != nil && printed < maxFigures {
				fmt.Fprintf(out, "   %s%s\n", m[1], m[2])
				printed++
			}
		}
		if bytes.Contains(output, []byte("no tests to run")) {
			fmt.Fprintf(out, "   FAILED: %s: a test is missing\n", c)
			return false
		}
	}
	fmt.Fprintf(out, "   passed in %s\n", time.Since(began).Round(100*time.Millisecond))
	return true
}
