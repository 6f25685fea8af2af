// Package ingest is the command that brings documents into a data folder or a running server.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/extract"
	"example.com/searchd/extract/ocr"
	"example.com/searchd/extract/pdf"
	"example.com/searchd/internal/manual"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/terminal"
	"example.com/searchd/internal/version"
	"example.com/searchd/search"
)

// flags of the command.
type flags struct {
	name                                 string // of the command, for notices
	data, server, key, collection, model string
	language, synonyms, settingsFile     string
	format, encoding, html, ocr, idField string
	errorsFile, state, onError           string
	dryRun, watch, deleteMissing, verify bool
	followSymlinks, hidden               bool
	workers                              int
	poll, pdfTime                        time.Duration
	rules                                []string        // of --synonyms; nil: none
	settings                             search.Settings // of --settings
}

// Program returns the command as a program of its own, which has a config file and a manual page.
func Program() *cobra.Command {
	v, revision := version.Read()
	cmd := NewCommand()
	cmd.Version, cmd.SilenceUsage, cmd.SilenceErrors = strings.TrimSpace(v+" "+revision), true, true
	cmd.SetFlagErrorFunc(settings.FlagError)
	cmd.Flags().String(settings.ConfigFlag, "", "`file` of settings, a line name = value each")
	page := cmd.Flags().Bool("man", false, "write the manual page to standard output")
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, paths []string) error {
		if *page {
			return nil
		}
		return args(cmd, paths)
	}
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if *page {
			manual.Write(cmd.OutOrStdout(), cmd, v)
			return nil
		}
		return run(cmd, paths)
	}
	return cmd
}

// NewCommand returns the command as one of searchd.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "ingest PATH...|-", SuggestFor: []string{"add", "import", "index", "load", "upload"},
		Short: "Read files and folders into a data folder or a running server",
		Long: `Reads files, folders and standard input ("-") and sends what they contain to a data folder or a running server. It reads
JSON lines, CSV, Markdown, HTML, plain text (also org, rst, adoc, tex, srt and vtt), PDF, Word, PowerPoint and Excel (docx, pptx, xlsx, xls),
OpenDocument (odt, ods, odp), rich text (rtf), e-books (epub), mail (eml, emlx, msg, mbox, Maildir), feeds (RSS, Atom), pages saved as one file
(mhtml), exports of Evernote (enex), contacts (vcf), calendars (ics), Jupyter notebooks (ipynb), canvases of Obsidian and outlines (opml), also
gzipped or in archives (zip, tar).

A journal remembers each file: a second run skips files that have not changed, and a run after an interrupted one continues it. What cannot be
read is reported, listed in errors.jsonl beside the journal (or in --errors FILE), and skipped. A document may have 8 MiB as JSON, a line of JSON
or CSV 4 MiB; a file whose text is a part of it (PDF, office files, epub, eml, ipynb), a message of a mailbox and a note of Evernote 64 MiB.

The id of a file is its path below the folder that was read, whatever path names it in later runs. Attachments of mail are documents of their
own: their field attached_to names the message, whose attachment_ids name them. Of two records with the same id the later one is kept, and a
warning names the files; --id-field chooses another field.

--delete-missing deletes documents of earlier runs over the same paths whose file or record is gone. Other documents stay, and so do those of
another file. --watch continues after the first run and follows changes, renames and deletions; use it with --server, as only one program at a
time can use a data folder. An emptied file counts as gone; an unreadable one keeps its documents.

Exit codes: 0 done, 1 some items failed, 2 could not run.`,
		Example: `  ingest notes
  ingest --data data/notes notes
  ingest --server http://127.0.0.1:8080 --collection wiki --delete-missing wiki.jsonl.gz manuals/
  ingest --server http://127.0.0.1:8080 --watch notes
  curl -s https://example.org/feed.jsonl | ingest --data data/feed -`,
		Args: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return errors.New("name what to read: files, folders, or - for standard input")
			}
			return nil
		},
		PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		f.name = cmd.Root().Name()
		if err := f.check(paths); err != nil {
			return err
		}
		if f.server == "" {
			if err := command.UseDefaultData(cmd, &f.data); err != nil {
				return err
			}
		}
		return run(cmd.Context(), f, paths, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

func (f *flags) add(cmd *cobra.Command) {
	set, formats := cmd.Flags(), extract.Formats()
	set.StringVar(&f.data, "data", "", "data folder, created if missing (default: searchd in your data folder, such as ~/.local/share/searchd)")
	set.StringVar(&f.server, "server", "", "URL of a running server, instead of --data")
	set.StringVar(&f.key, "key", "", "API key of the server")
	set.StringVar(&f.collection, "collection", "docs", "collection, created if missing")
	set.StringVar(&f.model, "model", "", "checkpoint for a new data folder: a folder in the sentence-transformers layout, a file .gguf, OWNER/NAME of a pulled one, or \"embedded\" (default)")
	set.StringVar(&f.language, "language", autoLanguage, "language for keyword search in a new collection, such as de; auto: detected from its texts, English if unclear")
	set.StringVar(&f.settingsFile, "settings", "", "`file` with the settings of a new collection as a JSON object")
	set.StringVar(&f.synonyms, "synonyms", "", "`file` with the collection's synonyms, one rule per line: k8s, kubernetes or tv, telly => television; lines that begin with # are comments")
	set.StringVar(&f.format, "format", "auto", strings.Join(formats, ", "))
	set.StringVar(&f.encoding, "encoding", "", "character set of texts that are not UTF-8 and declare none, such as windows-1251, koi8-r, shift_jis or big5 (default: a guess, else Windows-1252, with a warning)")
	set.StringVar(&f.html, "html", "main", "which text of web pages to read: main (without menus, teasers and footers) or full")
	set.StringVar(&f.ocr, "ocr", "auto", "OCR of pictures and scanned pages by Tesseract: auto (if it is installed), off, or languages such as deu+eng")
	set.StringVar(&f.idField, "id-field", "", "field with the id of a record (default: _id, id, or a hash of the content)")
	set.StringVar(&f.errorsFile, "errors", "", "file for a JSON line per item that failed (default: errors.jsonl beside the journal)")
	set.StringVar(&f.onError, "on-error", "skip", "after a failure: skip the item and continue, or stop")
	set.StringVar(&f.state, "state", "", "folder for the journal (default: ingest in the data folder; with --server in your own folder for settings)")
	set.BoolVar(&f.dryRun, "dry-run", false, "read and report, but write and delete nothing")
	set.BoolVar(&f.verify, "verify", false, "also read and send unchanged files")
	set.BoolVar(&f.hidden, "hidden", false, "in folders, also read hidden files and folders, whose names begin with a dot")
	set.BoolVar(&f.followSymlinks, "follow-symlinks", false, "in folders, follow symbolic links; each folder is read once")
	set.BoolVar(&f.deleteMissing, "delete-missing", false, "delete documents of earlier runs over the same paths whose file or record is gone")
	set.BoolVar(&f.watch, "watch", false, "keep running and follow changes under the paths")
	set.DurationVar(&f.poll, "poll", 0, "with --watch: read all files at this interval instead of waiting for events of the system")
	set.IntVar(&f.workers, "workers", min(4, runtime.GOMAXPROCS(0)), "files read in parallel, 1 to 64")
	set.DurationVar(&f.pdfTime, "pdf-time", 20*time.Second, "longest time for one PDF")
	settings.Choices(cmd, "format", formats...)
	settings.Choices(cmd, "on-error", "skip", "stop")
	settings.Choices(cmd, "html", "main", "full")
	settings.Choices(cmd, "ocr", "auto", "off")
	settings.Folders(cmd, "data", "state")
}

// check refuses wrong values.
func (f *flags) check(paths []string) error {
	switch {
	case f.onError != "skip" && f.onError != "stop":
		return fmt.Errorf("--on-error: got %q, allowed: skip, stop", f.onError)
	case f.html != "main" && f.html != "full":
		return fmt.Errorf("--html: got %q, allowed: main, full", f.html)
	case f.workers < 1 || f.workers > 64:
		return fmt.Errorf("--workers: got %d, allowed: 1 to 64", f.workers)
	case f.pdfTime <= 0:
		return fmt.Errorf("--pdf-time: got %v, allowed: more than 0s", f.pdfTime)
	case f.poll < 0 || f.poll > 0 && f.poll < 10*time.Millisecond:
		return fmt.Errorf("--poll: got %v, allowed: 10ms or more", f.poll)
	case f.watch && f.dryRun:
		return errors.New("--watch and --dry-run: name one of them")
	case f.watch && slices.Contains(paths, "-"):
		return errors.New("--watch: standard input cannot be watched")
	}
	if f.watch || f.deleteMissing {
		return nil // what is missing may come, or is to be deleted
	}
	for _, path := range paths {
		if _, err := os.Stat(path); path == "-" || !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("%s: no such file or folder", strings.Join(paths[:min(len(paths), 10)], ", "))
}

// run ingests paths into the sink that the flags name.
func run(ctx context.Context, f flags, paths []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	format, err := extract.ParseFormat(f.format)
	if err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	if f.encoding != "" {
		if _, err := extract.ParseEncoding(f.encoding); err != nil {
			return fmt.Errorf("--encoding: %w", err)
		}
	}
	if f.rules, err = readSynonyms(f.synonyms); err != nil {
		return err
	}
	if f.settings, err = readSettings(f.settingsFile); err != nil {
		return err
	}
	recognise, err := f.recogniser(ctx)
	if err != nil {
		return err
	}
	o := extract.Options{Format: format, OCR: recognise, Encoding: f.encoding, WholePages: f.html == "full", IDField: f.idField, Stdin: stdin, Exclude: f.exclude(), Hidden: f.hidden, FollowSymlinks: f.followSymlinks,
		PDF: (&pdf.Reader{Cache: pdf.CacheIn(f.writableData()), Time: f.pdfTime, OCR: recognise}).Read}
	var noticed sync.Map // by opening the data folder: the error that follows from it is not reported twice
	notice := func(text string) {
		noticed.Store(text, true)
		fmt.Fprintf(stderr, "%s: %s\n", cmp.Or(f.name, "ingest"), terminal.Printable(text))
	}
	defer func() {
		if err == nil {
			return
		}
		if _, before := noticed.Load(err.Error()); before && f.data != "" {
			err = errReported
		}
	}()
	to, err := openSink(ctx, f, languageChoice{f.language, paths, o, notice}, notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	p, err := newPipeline(f, to, stdout, stderr, notice)
	if err != nil {
		return err
	}
	if f.watch || f.deleteMissing {
		p.failures.deduplicate()
	}
	p.ocr = recognise != nil
	p.display = progress.Show(stderr, p.state)
	err = p.once(ctx, paths, o)
	p.display.Stop()
	if f.watch && err == nil {
		p.counts.print(stderr, p.failures, true)
		err = p.watch(ctx, f, paths, o)
	}
	err = errors.Join(err, p.journal.close(), p.failures.close())
	p.counts.print(stderr, p.failures, err == nil)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return interruption{piped: slices.Contains(paths, "-")}
	case errors.Is(err, errStop):
		notice(errStop.Error())
		return command.ErrSome
	case err == nil && p.failures.count > 0:
		return command.ErrSome
	}
	return err
}

// recogniser returns what recognises the text of pictures, or nil for --ocr off, and for auto where
// Tesseract is not installed.
func (f *flags) recogniser(ctx context.Context) (func(context.Context, []byte) (string, error), error) {
	if f.ocr == "" || f.ocr == "off" {
		return nil, nil
	}
	engine, err := ocr.Find(ctx, f.ocr)
	switch {
	case err != nil && f.ocr == "auto":
		return nil, nil // the summary says how to install it
	case err != nil:
		return nil, fmt.Errorf("--ocr: %w", err)
	}
	if engine.Cache = f.writableData(); engine.Cache == "" {
		if engine.Cache, err = os.UserCacheDir(); err != nil {
			return engine.Read, nil
		}
		engine.Cache = filepath.Join(engine.Cache, "searchd")
	}
	engine.Cache = filepath.Join(engine.Cache, "ocr")
	return engine.Read, nil
}

// errReported is an error that was reported when the data folder was opened.
var errReported = errors.New("could not run")

// interruption ends a run that was interrupted.
type interruption struct{ piped bool }

func (e interruption) Error() string {
	if e.piped {
		return "interrupted; what was read from standard input so far is ingested"
	}
	return "interrupted; the next run continues from here"
}

func (e interruption) Unwrap() error { return context.Canceled }

func newPipeline(f flags, to sink, stdout, stderr io.Writer, notice func(string)) (*pipeline, error) {
	dir, err := stateFolder(f)
	if err != nil {
		return nil, err
	}
	journal, err := openJournal(dir, f.dryRun)
	if err != nil {
		return nil, err
	}
	if f.dryRun {
		dir = ""
	}
	failures, err := newFailures(f.errorsFile, dir, journal.shared, stderr)
	if err != nil {
		return nil, errors.Join(err, journal.close())
	}
	return &pipeline{
		sink: to, journal: journal, failures: failures, began: time.Now(), workers: f.workers,
		how:    strings.TrimRight(fmt.Sprintf("%d %s %s %s %t", extract.Version, f.format, f.idField, strings.ToLower(f.encoding), f.html == "full"), " "),
		verify: f.verify, stop: f.onError == "stop", deleteMissing: f.deleteMissing, dryRun: f.dryRun,
		stdout: stdout, notice: notice, counts: newCounts(),
	}, nil
}

// once ingests paths: it reads what has changed, then deletes what is missing, if asked to. Where
// the collection was recreated or restored meanwhile, it does so again.
func (p *pipeline) once(ctx context.Context, paths []string, o extract.Options) error {
	if !p.dryRun {
		now, err := p.sink.state(ctx)
		if err != nil {
			return err
		}
		if err := p.journal.begin(now); err != nil {
			return err
		}
	}
	for {
		if err := p.pass(ctx, paths, o); err != nil {
			return err
		}
		another, err := p.noteState(ctx)
		if !another || err != nil {
			return err
		}
		if slices.Contains(paths, "-") {
			return errCollectionChanged // standard input cannot be read twice
		}
		p.notice(errCollectionChanged.Error() + ": all files are sent again")
	}
}

// pass goes over paths once.
func (p *pipeline) pass(ctx context.Context, paths []string, o extract.Options) error {
	roots, err := p.journal.roots(paths)
	if err != nil {
		return err
	}
	var in []scope
	for _, r := range roots {
		o.Root = r.root
		if err := p.ingest(ctx, r.paths, o); err != nil {
			return errors.Join(err, p.warnOverlaps())
		}
		s, err := p.journal.scopes(r.paths, r.root)
		if err != nil {
			return err
		}
		in = append(in, s...)
	}
	if err := errors.Join(p.deleteSuperseded(ctx, in), p.warnOverlaps()); err != nil || !p.deleteMissing {
		return err
	}
	return p.missing(ctx, in, false, false)
}

// errCollectionChanged means that some of what was sent is missing in the collection.
var errCollectionChanged = errors.New("the collection was recreated or restored meanwhile")

// noteState notes the state of the collection in the journal. Where that is not the collection that
// the run began with, it returns true instead, and every file looks changed.
func (p *pipeline) noteState(ctx context.Context) (another bool, err error) {
	if p.dryRun {
		return false, nil
	}
	now, err := p.sink.state(ctx)
	if err != nil {
		return false, err
	}
	if another, err := p.journal.checkCollection(now); another || err != nil {
		return another, err
	}
	return false, p.journal.end(now)
}
