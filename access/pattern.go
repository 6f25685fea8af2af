package access

import (
	"regexp"
	"strings"
)

// collectionPattern matches valid patterns: the characters of a collection's name, and '*'.
var collectionPattern = regexp.MustCompile(`^[A-Za-z0-9_*-]{1,64}$`)

// matches reports whether name matches pattern, in which '*' stands for any text.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

// within reports whether one of patterns matches everything that p matches. It suffices that it
// matches p itself, with the stars as letters.
func within(p string, patterns []string) bool {
	for _, outer := range patterns {
		if matches(outer, p) {
			return true
		}
	}
	return false
}
