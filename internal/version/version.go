// Package version reads the version that the linker wrote into the binary.
package version

import "runtime/debug"

// Read returns the module's version, or, of a build from a checkout, "devel", and the source's
// revision, "+dirty" where files were changed; both from what the linker wrote into the binary.
func Read() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	if version = info.Main.Version; version == "(devel)" {
		version = "devel"
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && revision != "" {
		revision += "+dirty"
	}
	return version, revision
}
