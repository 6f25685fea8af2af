package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// stateFolder returns the folder for the journal and errors.jsonl of a collection: in the data
// folder, or, for a server, in the user's folder for settings. It is empty where there is none:
// then every run reads everything.
func stateFolder(f flags) (string, error) {
	name := url.PathEscape(f.collection)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	switch {
	case f.state != "":
		return filepath.Join(f.state, name), nil
	case f.data != "":
		return filepath.Join(f.data, "ingest", name), nil
	case f.server == "":
		return "", nil
	}
	dir, err := serverStates()
	if err != nil {
		if f.deleteMissing {
			return "", fmt.Errorf("--delete-missing needs to remember what it has read: name a folder with --state (%w)", err)
		}
		return "", nil
	}
	server := strings.TrimSuffix(f.server, "/")
	if !strings.Contains(server, "://") {
		server = "http://" + server // as the client does
	}
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(dir, hex.EncodeToString(sum[:6]), name), nil
}

// serverStates returns the folder with the journals of all servers.
func serverStates() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "searchd", "ingest"), err
}

// exclude returns the program's own files, which are not ingested: a watch would ingest its own
// journal for ever.
func (f *flags) exclude() []string {
	var out []string
	for _, path := range []string{f.data, f.state, f.errorsFile} {
		if path != "" {
			out = append(out, filepath.Clean(path))
		}
	}
	if dir, err := serverStates(); err == nil {
		out = append(out, dir)
	}
	return out
}

// writableData is the data folder if the run may write to it.
func (f *flags) writableData() string {
	if f.dryRun {
		return ""
	}
	return f.data
}
