package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/internal/disk"
	"example.com/searchd/internal/objectstore"
	"example.com/searchd/search/embedded"
)

func newBackupCommand() *cobra.Command {
	var f engineFlags
	var server, key string
	var verify, list, asJSON bool
	cmd := &cobra.Command{
		Use: "backup FILE|s3://BUCKET/KEY", Short: "Write a backup of a data folder or a running server to a file or a bucket",
		Example: `  searchd backup --server 127.0.0.1:8080 notes.backup
  searchd backup --data DIR s3://BUCKET/PREFIX/
  searchd backup --list s3://BUCKET/PREFIX/`,
		Long: `Writes documents, passages, vectors and settings to FILE, which must not exist, with a checksum over all.
Indexes are not part of it: restoring rebuilds them. With --server a snapshot is taken on the server, downloaded and deleted there.

s3://BUCKET/KEY is an object in S3 or a storage that is compatible with it; where it ends with a slash, the name is made of the time. Nothing is
kept on the local disk. Credentials come from the environment only: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE;
AWS_REGION is the region, AWS_ENDPOINT_URL another storage than Amazon's. "searchd serve --backup-to" writes backups at intervals.

FILE is verified after it is written. If a value is damaged, because it is damaged in the data folder, the file is named FILE.damaged, each such
value is printed, and the exit code is 1; such a file can only be restored with --damaged. --verify reads an existing backup and writes nothing;
of an object it compares size and SHA-256. --list lists the backups in a folder or below s3://BUCKET/PREFIX/.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
	}
	f.add(cmd)
	for _, name := range []string{"model", "pooling", "precision"} { // have no effect on a backup; scripts may set them
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().StringVar(&server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&key, "key", "", "API key of the server")
	cmd.Flags().BoolVar(&verify, "verify", false, "check that FILE, an existing backup, can be restored")
	cmd.Flags().BoolVar(&list, "list", false, "list the backups in a folder or a bucket")
	cmd.Flags().BoolVar(&asJSON, "json", false, "with --list: print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := objectstore.CheckPath(args[0]); err != nil {
			return err
		}
		switch {
		case list && verify:
			return errors.New("give one of --list and --verify")
		case list:
			return listBackups(cmd, args[0], asJSON)
		case asJSON:
			return errors.New("--json needs --list")
		case verify && objectstore.IsURL(args[0]):
			return verifyObject(cmd, args[0])
		case verify:
			return verifyBackup(cmd, args[0])
		case objectstore.IsURL(args[0]):
			return f.backupToBucket(cmd, server, key, args[0])
		}
		write := func(w io.Writer) (int64, error) {
			return downloadBackup(cmd.Context(), server, key, func(_ client.Snapshot, fill func(io.Writer) error) error { return fill(w) })
		}
		if server == "" {
			if err := command.UseDefaultData(cmd, &f.data); err != nil {
				return err
			}
			write = func(w io.Writer) (int64, error) {
				n, err := embedded.BackupFolder(cmd.Context(), f.data, w)
				return n, f.notOpened(err)
			}
		}
		n, err := writeNew(cmd, args[0], write)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d bytes in %s\n", n, args[0])
		return nil
	}
	return cmd
}

// writeNew writes a backup to a new file, which gets its name once it is complete, verified and on
// the disk.
func writeNew(cmd *cobra.Command, path string, write func(io.Writer) (int64, error)) (n int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s exists; name a new file", path)
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("%s exists: another backup is being written or was interrupted; delete it, or name a new file", part)
	}
	if err != nil {
		return 0, err
	}
	defer os.Remove(part) // fails after the rename
	stop := progress.Show(cmd.ErrOrStderr(), moved(file, "written")).Stop
	n, err = write(file)
	stop()
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return n, err
	}
	stop = progress.Doing(cmd.ErrOrStderr(), "reading it again").Stop
	damage, err := embedded.VerifyBackup(cmd.Context(), part)
	stop()
	if err != nil {
		return n, fmt.Errorf("the backup cannot be restored: %w", err)
	}
	to := path
	if len(damage) > 0 {
		to = unusedName(path + ".damaged")
	}
	if err := disk.Rename(part, to); err != nil {
		return n, err
	}
	if len(damage) == 0 {
		return n, nil
	}
	listDamage(cmd, damage)
	fmt.Fprintf(cmd.ErrOrStderr(), "searchd: the data folder is damaged, and so is its backup: %d values. There is no %s; what was read is in %s, "+
		"which `searchd restore --damaged` takes. Keep your older backups\n", len(damage), path, to)
	return n, command.ErrSome
}

// unusedName returns path, with a number if such a file exists.
func unusedName(path string) string {
	to := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); err != nil {
			return to
		}
		to = fmt.Sprintf("%s.%d", path, n)
	}
}

// listDamage prints a line for each damaged value.
func listDamage(cmd *cobra.Command, damage []string) {
	for _, d := range damage {
		fmt.Fprintln(cmd.OutOrStdout(), d)
	}
}

// verifyBackup reads a backup.
func verifyBackup(cmd *cobra.Command, path string) error {
	stop := progress.Doing(cmd.ErrOrStderr(), "reading "+path).Stop
	damage, err := embedded.VerifyBackup(cmd.Context(), path)
	stop()
	if err != nil {
		return err
	}
	listDamage(cmd, damage)
	fmt.Fprintf(cmd.OutOrStdout(), "%d values are damaged\n", len(damage))
	if len(damage) > 0 {
		return command.ErrSome
	}
	return nil
}

// moved is the progress of a file that is read or written from its beginning.
func moved(file *os.File, done string) func() progress.State {
	return func() progress.State {
		at, _ := file.Seek(0, io.SeekCurrent) // fails for a pipe
		return progress.State{Text: megabytes(at) + " " + done}
	}
}

// cleanUpTime is how long an interrupted command may take to clean up on a server.
const cleanUpTime = 10 * time.Second

// downloadBackup takes a snapshot of a server, has it stored, and deletes it there, also after a
// failure. store calls its last argument with what the snapshot is to be written to.
func downloadBackup(ctx context.Context, server, key string, store func(client.Snapshot, func(io.Writer) error) error) (n int64, err error) {
	c, err := client.New(server, client.Options{Key: key})
	if err != nil {
		return 0, err
	}
	first, err := client.New(server, client.Options{Key: key, Retries: 3}) // at the start a failure costs nothing
	if err != nil {
		return 0, err
	}
	t, err := createSnapshot(ctx, first)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, removeSnapshot(c, t.ID)) }()
	done, err := client.Wait(ctx, c, t.ID, nil)
	var s client.Snapshot
	if err != nil {
		var ok bool
		if done == nil || done.State != "failed" {
			return 0, err
		}
		if s, ok = damagedSnapshot(ctx, c, t.ID); !ok {
			return 0, err
		}
	} else if err := json.Unmarshal(done.Result, &s); err != nil {
		return 0, fmt.Errorf("task %s: result: %w", t.ID, err)
	}
	body, err := c.OpenSnapshot(ctx, s.ID)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	err = store(s, func(w io.Writer) (err error) {
		if n, err = io.Copy(w, body); err == nil && n != s.Bytes {
			err = fmt.Errorf("snapshot %s: %d bytes arrived of %d", s.ID, n, s.Bytes)
		}
		return err
	})
	return n, err
}

// damagedSnapshot finds the snapshot that a task with damaged values has left; it is downloaded,
// too.
func damagedSnapshot(ctx context.Context, c *client.Client, id string) (client.Snapshot, bool) {
	list, err := c.Snapshots(ctx)
	if i := slices.IndexFunc(list, func(s client.Snapshot) bool { return s.ID == id && s.Damaged }); err == nil && i >= 0 {
		return list[i], true
	}
	return client.Snapshot{}, false
}

// deleteSnapshot deletes a snapshot of a server, again if the outcome is unknown.
func deleteSnapshot(ctx context.Context, c *client.Client, id string) error {
	err := c.DeleteSnapshot(ctx, id)
	if !errors.Is(err, client.ErrOutcomeUnknown) {
		return err
	}
	if err = c.DeleteSnapshot(ctx, id); errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

// createSnapshot starts a snapshot. It waits for the answer a little longer than ctx: without the
// id the snapshot could not be deleted.
func createSnapshot(ctx context.Context, c *client.Client) (*client.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cleanUpTime, cancel) })()
	return c.CreateSnapshot(longer)
}

// removeSnapshot cancels the task of a snapshot, or deletes its snapshot.
func removeSnapshot(c *client.Client, task string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	t, err := c.CancelTask(ctx, task)
	if errors.Is(err, client.ErrOutcomeUnknown) {
		t, err = c.CancelTask(ctx, task)
	}
	if e := (*client.Error)(nil); errors.As(err, &e) && e.Code == "task_finished" {
		t, err = c.Task(ctx, task)
	}
	if err == nil && t.State == "succeeded" {
		var s client.Snapshot
		if err = json.Unmarshal(t.Result, &s); err == nil {
			err = deleteSnapshot(ctx, c, s.ID)
		}
	}
	if err == nil && t.State == "failed" { // it has left a damaged snapshot
		err = c.DeleteSnapshot(ctx, task)
	}
	if err != nil && !errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("a snapshot may remain on the server (`searchd snapshots list`, `rm`): %w", err)
	}
	return nil
}

func newRestoreCommand() *cobra.Command {
	var data string
	var damaged bool
	cmd := &cobra.Command{
		Use: "restore FILE|s3://BUCKET/KEY --data DIR", Short: "Restore a data folder from a backup",
		Long: `Verifies FILE and makes a data folder from it. With s3://BUCKET/PREFIX/, which ends with a slash, it takes the newest scheduled backup
there; credentials are those of "searchd backup". A backup with damaged values is refused. With --damaged it is restored as it is, each
such value is printed, and the exit code is 1; "searchd check --repair --drop-damaged" then re-encodes or deletes the documents concerned.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&data, "data", "", "new data folder")
	cmd.Flags().BoolVar(&damaged, "damaged", false, "accept a backup with damaged values")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if data == "" {
			return errors.New("name the new data folder with --data DIR")
		}
		file, state, err := openBackup(cmd, args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		stop := progress.Show(cmd.ErrOrStderr(), state).Stop
		defer stop()
		if !damaged {
			return embedded.Restore(cmd.Context(), file, data, nil)
		}
		n := 0
		err = embedded.Restore(cmd.Context(), file, data, func(text string) {
			n++
			fmt.Fprintln(cmd.OutOrStdout(), text)
		})
		stop()
		if err != nil || n == 0 {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "searchd: restored with %d damaged values; `searchd check --data %s --repair --drop-damaged` re-encodes or deletes the documents concerned\n", n, data)
		return command.ErrSome
	}
	return cmd
}
