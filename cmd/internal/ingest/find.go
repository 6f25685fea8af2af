package ingest

import (
	"fmt"
	"slices"
)

// FindFile returns the path of the file that a document was ingested from, on this machine. Either
// data or server names where the collection is.
func FindFile(data, server, collection, id string) (string, error) {
	dir, err := stateFolder(flags{data: data, server: server, collection: collection})
	if err != nil {
		return "", err
	}
	j, err := openJournal(dir, true)
	if err != nil {
		return "", err
	}
	defer j.close()
	var found []key
	for _, k := range j.filter(func(*fileEntry) bool { return true }) {
		j.mu.Lock()
		e := j.entries[k]
		plain := e.plain
		ids, err := j.currentIDs(e)
		j.mu.Unlock()
		if err != nil {
			return "", err
		}
		if !slices.Contains(ids, id) || fileGone(k.file()) {
			continue
		}
		if found = append(found, k); plain {
			break
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%q did not come from a file that is on this machine", id)
	}
	return found[len(found)-1].file(), nil
}
