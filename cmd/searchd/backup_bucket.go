package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/internal/objectstore"
	"example.com/searchd/internal/terminal"
	"example.com/searchd/search/backups"
	"example.com/searchd/search/embedded"
)

// backupToBucket writes a backup of a server, or of the data folder, to an object.
func (f *engineFlags) backupToBucket(cmd *cobra.Command, server, key, target string) error {
	place, name, err := newObject(cmd.Context(), target)
	if err != nil {
		return err
	}
	o := &objectBackup{cmd: cmd, place: place, name: name}
	if server != "" {
		_, err = downloadBackup(cmd.Context(), server, key, func(s client.Snapshot, fill func(io.Writer) error) error {
			return o.write(s.Damaged, s.Bytes, fill)
		})
		if err == nil && o.damaged {
			fmt.Fprintf(cmd.ErrOrStderr(), "searchd: %s: `searchd check --deep` on the server's data folder lists the values\n", o.advice())
			return command.ErrSome
		}
		return err
	}
	if err := command.UseDefaultData(cmd, &f.data); err != nil {
		return err
	}
	stop := progress.Doing(cmd.ErrOrStderr(), "reading "+f.data).Stop
	damage, err := embedded.Damage(cmd.Context(), f.data)
	stop()
	if err != nil {
		return f.notOpened(err)
	}
	listDamage(cmd, damage)
	size := int64(0)
	if info, err := os.Stat(filepath.Join(f.data, "searchd.db")); err == nil {
		size = info.Size()
	}
	err = o.write(len(damage) > 0, size, func(w io.Writer) error {
		_, err := embedded.BackupFolder(cmd.Context(), f.data, w)
		return f.notOpened(err)
	})
	if err == nil && o.damaged {
		fmt.Fprintf(cmd.ErrOrStderr(), "searchd: %s\n", o.advice())
		return command.ErrSome
	}
	return err
}

// damagedEnding ends the name of a backup with damaged values.
const damagedEnding = ".damaged"

// newObject returns the place and the name of an object that does not exist yet.
func newObject(ctx context.Context, target string) (objectstore.Place, string, error) {
	at, name, err := objectstore.Split(target)
	if err != nil {
		return nil, "", err
	}
	place, err := objectstore.At(at)
	if err != nil {
		return nil, "", err
	}
	if name == "" {
		name = backups.Name(time.Now(), "")
	}
	switch _, err := place.Stat(ctx, name); {
	case err == nil:
		return nil, "", fmt.Errorf("%s exists; name a new object", place.URL(name))
	case !errors.Is(err, objectstore.ErrNotFound):
		return nil, "", err
	}
	// Whoever may not list uploads may still write; what a killed command has left stays then.
	_ = place.RemoveUnfinished(ctx, func(n string) bool { return n == name || n == name+damagedEnding })
	return place, name, nil
}

// objectBackup is a backup on its way to an object.
type objectBackup struct {
	cmd     *cobra.Command
	place   objectstore.Place
	name    string
	damaged bool
}

// write writes and verifies the object; one with damaged values gets another name.
func (o *objectBackup) write(damaged bool, size int64, fill func(io.Writer) error) error {
	if o.damaged = damaged; damaged {
		o.name += damagedEnding
	}
	var written counted
	stop := progress.Show(o.cmd.ErrOrStderr(), written.state("written")).Stop
	done, err := objectstore.Write(o.cmd.Context(), o.place, o.name, size, func(w io.Writer) error {
		err := fill(io.MultiWriter(w, &written))
		written.done.Store(err == nil)
		return err
	})
	stop()
	if err == nil {
		fmt.Fprintf(o.cmd.ErrOrStderr(), "%d bytes in %s\n", done.Bytes, o.place.URL(o.name))
	}
	return err
}

func (o *objectBackup) advice() string {
	return fmt.Sprintf("the data folder is damaged, and so is its backup, which is %s, for `searchd restore --damaged`. Keep your older backups", o.place.URL(o.name))
}

// counted counts what is written or read.
type counted struct {
	n    atomic.Int64
	done atomic.Bool
}

func (c *counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func (c *counted) state(verb string) func() progress.State {
	return func() progress.State {
		text := megabytes(c.n.Load()) + " " + verb
		if c.done.Load() {
			text += ", reading it again"
		}
		return progress.State{Text: text}
	}
}

// openBackup opens a file or an object, the newest one if it is named by its prefix only, and
// returns with it how far it is read.
func openBackup(cmd *cobra.Command, from string) (io.ReadCloser, func() progress.State, error) {
	if err := objectstore.CheckPath(from); err != nil {
		return nil, nil, err
	}
	if !objectstore.IsURL(from) {
		file, err := os.Open(from)
		if err != nil {
			return nil, nil, err
		}
		return file, moved(file, "restored"), nil
	}
	at, name, err := objectstore.Split(from)
	if err != nil {
		return nil, nil, err
	}
	place, err := objectstore.At(at)
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		newest, err := backups.Newest(cmd.Context(), place)
		if err != nil {
			return nil, nil, err
		}
		name = newest.Name
		fmt.Fprintf(cmd.ErrOrStderr(), "the newest backup is %s\n", place.URL(name))
	}
	body, _, err := place.Open(cmd.Context(), name)
	if err != nil {
		return nil, nil, err
	}
	var read counted
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, &read), body}, read.state("restored"), nil
}

// verifyObject reads a backup in a bucket.
func verifyObject(cmd *cobra.Command, from string) error {
	body, state, err := openBackup(cmd, from)
	if err != nil {
		return err
	}
	defer body.Close()
	stop := progress.Show(cmd.ErrOrStderr(), state).Stop
	err = embedded.VerifyStream(cmd.Context(), body)
	stop()
	if err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), "size and SHA-256 are right")
	}
	return err
}

// listBackups lists the backups in a folder or below a prefix of a bucket, newest first.
func listBackups(cmd *cobra.Command, at string, asJSON bool) error {
	place, err := objectstore.At(at)
	if err != nil {
		return err
	}
	all, err := place.List(cmd.Context())
	if err != nil {
		return err
	}
	list := []objectstore.Object{}
	for _, o := range all {
		if strings.Contains(o.Name, ".backup") {
			list = append(list, o)
		}
	}
	sortNewestFirst(list)
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
	}
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tCREATED\tSIZE")
	for _, o := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", terminal.Printable(o.Name), o.Created.Format(time.RFC3339), megabytes(o.Bytes))
	}
	return t.Flush()
}
