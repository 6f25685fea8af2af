package main

import (
	"regexp"
	"testing"
)

func TestVersion(t *testing.T) {
	out, _, err := execute(t, "", "version")
	want := regexp.MustCompile(`^searchd \S+\ncommit  \S+\nmodel   built-in \w+, \d+ dimensions, weights [0-9a-f]{16}\nbuilt   go\S+ for \w+/\w+, kernels \w+\n$`)
	if err != nil || !want.MatchString(out) {
		t.Errorf("version: %q, %v", out, err)
	}
}
