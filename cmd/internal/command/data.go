package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// DefaultData returns the data folder of commands that are given none: searchd in the user's data
// folder, which on Linux is $XDG_DATA_HOME or ~/.local/share.
func DefaultData() (string, error) {
	home, err := os.UserHomeDir()
	base := os.Getenv("XDG_DATA_HOME")
	switch {
	case filepath.IsAbs(base):
	case runtime.GOOS == "windows" && os.Getenv("LocalAppData") != "":
		base = os.Getenv("LocalAppData")
	case err != nil:
		return "", fmt.Errorf("name the data folder: --data DIR, or SEARCHD_DATA in the environment (%w)", err)
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		base = filepath.Join(home, "Library", "Application Support")
	default:
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "searchd"), nil
}

// UseDefaultData sets an empty data folder to the default and reports it.
func UseDefaultData(cmd *cobra.Command, data *string) (err error) {
	if *data != "" {
		return nil
	}
	if *data, err = DefaultData(); err == nil {
		Notify(cmd, "data folder "+*data+" (--data DIR names another one)")
	}
	return err
}

// storeFile is the file that every data folder has.
const storeFile = "searchd.db"

// CheckDataFolder returns an error for a folder that has other files than those of a data folder,
// such as notes: a data folder must not be made among them. Hidden files are allowed.
func CheckDataFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	foreign := ""
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == storeFile:
			return nil
		case slices.Contains([]string{"ingest", "indexes", "snapshots", "pdfium", "ocr", "lost+found"}, name), strings.HasPrefix(name, "."), strings.HasPrefix(name, storeFile):
		case foreign == "":
			foreign = name
		}
	}
	if foreign == "" {
		return nil
	}
	return fmt.Errorf("--data: %s is not a data folder and not empty: it has %q; name a new folder, or leave --data out", dir, foreign)
}
