package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// stateFolder returns the folder for the journal and errors.jsonl of a collection: in the data folder, or, for a server, in the user's
// folder for settings. It is empty where there is none, which only costs reading everything again.
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
	dir, err := os.UserConfigDir()
	if err != nil {
		if f.deleteMissing {
			return "", fmt.Errorf("--delete-missing needs to remember what it has read: name a folder with --state (%w)", err)
		}
		return "", nil
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(f.server, "/")))
	return filepath.Join(dir, "searchd", "ingest", hex.EncodeToString(sum[:6]), name), nil
}
