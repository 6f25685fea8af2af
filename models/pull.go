package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/searchd/encoder"
)

// DefaultMaxBytes bounds the files of a checkpoint together.
const DefaultMaxBytes = 16 << 30

// PullOptions are the source and the target of a pull. The zero value pulls from [DefaultHub],
// without a token, into the cache.
type PullOptions struct {
	Hub          string         // https://HOST[/PATH]; http for loopback hosts only
	Into         string         // folder of the checkpoint; empty: in the cache, where [Find] looks
	Token        string         // sent to the hub itself and to no other host
	CDN          []string       // further hosts, with those below them, that the hub may redirect to
	AllowPrivate bool           // the hub is in a private network (IPv4): connect to such addresses
	MaxBytes     int64          // of all files together; 0: DefaultMaxBytes
	Backoff      time.Duration  // first wait between attempts, doubled each time; 0: 1 s
	Stall        time.Duration  // end a transfer over which nothing arrives for so long, and try again; 0: 1 min
	Progress     func(Progress) // called often, from the goroutine of Pull; may be nil

	transport func(*http.Transport) // changes the transport, for tests
}

// Progress is the state of a pull.
type Progress struct {
	Waiting     bool   // another process pulls the same checkpoint
	Retry       error  // why something is tried again, after a wait
	File        string // what is being fetched
	Done, Total int64  // bytes of all files; Total is 0 until it is known
}

// Pull fetches the checkpoint OWNER/NAME or OWNER/NAME@REVISION, and puts it in place when it is
// complete, checked against the digests of the hub's list, and has been loaded once. Only JSON and
// safetensors files are fetched, which cannot hold code. Unsupported checkpoints are refused from
// their JSON files, before weights are fetched. An interrupted pull is resumed by the next call. If
// the wanted commit is in place, nothing is fetched; for a full commit the hub is not even asked.
// Concurrent calls for the same place, also of other processes, wait for each other.
//
// Errors are ErrName, ErrNotFound, ErrAccess, ErrMismatch, ErrRefused, ErrTooLarge, ErrLayout,
// ErrHub, those of the encoder, of the network and of the file system.
func Pull(ctx context.Context, name string, o PullOptions) (*Pulled, error) {
	r, err := ParseRepo(name)
	if err != nil {
		return nil, err
	}
	h, err := newHub(o)
	if err != nil {
		return nil, err
	}
	defer h.client.CloseIdleConnections()
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	h.retrying = func(err error) { o.Progress(Progress{Retry: err}) }
	dest := o.Into
	if dest == "" {
		if dest, err = cachePath(r); err != nil {
			return nil, err
		}
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	stage, err := openStaging(ctx, dest, func() { o.Progress(Progress{Waiting: true}) })
	if err != nil {
		return nil, err
	}
	defer stage.close()
	p := &pull{options: o, hub: h, repo: r, stage: stage, dir: filepath.Join(stage.parent.Name(), stage.base)}
	got, err := p.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", r, err)
	}
	return got, nil
}

// pull is one run of Pull.
type pull struct {
	options PullOptions
	hub     *hub
	repo    Repo
	commit  string
	stage   *staging
	dir     string

	files    map[string]remoteFile // of the commit
	transfer *transfer
	done     map[string]int64 // bytes here by path
	total    int64
	items    []ManifestItem
}

func (p *pull) run(ctx context.Context) (*Pulled, error) {
	if err := p.stage.recover(); err != nil {
		return nil, err
	}
	if err := p.stage.checkPlace(); err != nil {
		return nil, err
	}
	if commitID.MatchString(p.repo.Revision) {
		if got, err := p.inPlace(p.repo.Revision); got != nil || err != nil {
			return got, err
		}
	}
	var err error
	if p.commit, err = p.hub.commit(ctx, p.repo); err != nil {
		return nil, err
	}
	if got, err := p.inPlace(p.commit); got != nil || err != nil {
		return got, err
	}
	if p.files, err = p.hub.tree(ctx, p.repo, p.commit); err != nil {
		return nil, err
	}
	p.done = map[string]int64{}
	p.transfer = &transfer{hub: p.hub, stage: p.stage, repo: p.repo, commit: p.commit, report: p.report}
	if err := p.fetchAll(ctx); err != nil {
		return nil, err
	}
	return p.finish()
}

// inPlace returns the existing checkpoint if it is of the commit, recorded under the revision that
// was asked for.
func (p *pull) inPlace(commit string) (*Pulled, error) {
	m, err := readManifest(p.dir)
	if err != nil || m.Repo != p.repo.ID() || m.Commit != commit {
		return nil, nil // the existing folder will be replaced
	}
	if !m.is(Repo{Revision: p.repo.revision()}) {
		m.Revision = p.repo.revision()
		err = p.stage.writeManifest(p.stage.base, *m)
	}
	return &Pulled{Manifest: *m, Dir: p.dir}, err
}

// fetchAll fetches modules.json, which names the folders, then the small files, then the weights,
// so that missing or unsupported parts are found before anything large is fetched.
func (p *pull) fetchAll(ctx context.Context) error {
	if err := p.stage.parent.MkdirAll(p.stage.tree(), 0o755); err != nil {
		return err
	}
	f, ok := p.files["modules.json"]
	if ok {
		if _, err := p.small(ctx, f); err != nil {
			return err
		}
	} else if err := p.stage.parent.RemoveAll(p.stage.file(remoteFile{path: "modules.json"})); err != nil { // of another commit
		return err
	}
	var modules []encoder.Module
	err := p.read(func(fsys fs.FS) (err error) {
		modules, err = encoder.Modules(fsys)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range modules {
		if !localPath(m.Dir) {
			return fmt.Errorf("%w: modules.json: the folder %q is not inside the repository", ErrRefused, clip(m.Dir))
		}
	}
	wanted, err := configs(p.files, modules)
	if err != nil {
		return err
	}
	heavy, indexes, err := weights(p.files, modules)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		raw, err := p.small(ctx, index)
		if err != nil {
			return err
		}
		more, err := shards(p.files, index.path, raw)
		if err != nil {
			return err
		}
		heavy = append(heavy, more...)
	}
	all := slices.Concat(wanted, indexes, heavy)
	slices.SortFunc(all, func(a, b remoteFile) int { // .json before .safetensors
		return cmp.Or(strings.Compare(path.Ext(a.path), path.Ext(b.path)), strings.Compare(a.path, b.path))
	})
	all = slices.CompactFunc(all, func(a, b remoteFile) bool { return a.path == b.path })
	if err := p.admit(all); err != nil {
		return err
	}
	for i, f := range all {
		if path.Ext(f.path) == ".safetensors" && (i == 0 || path.Ext(all[i-1].path) != ".safetensors") {
			if err := p.read(encoder.Check); err != nil { // names what is not supported before anything large is fetched
				return err
			}
		}
		sum, err := p.transfer.fetch(ctx, f)
		if err != nil {
			return err
		}
		p.items = append(p.items, ManifestItem{f.path, f.size, sum})
	}
	return nil
}

// admit adds up the sizes before the weights are fetched.
func (p *pull) admit(all []remoteFile) error {
	for _, f := range all {
		if p.total += f.size; f.size > p.options.MaxBytes || p.total > p.options.MaxBytes {
			return fmt.Errorf("%w: the files have more than %d bytes", ErrTooLarge, p.options.MaxBytes)
		}
	}
	return nil
}

// small fetches a file that names other files, and returns its content.
func (p *pull) small(ctx context.Context, f remoteFile) ([]byte, error) {
	if err := checkSize(f); err != nil {
		return nil, err
	}
	if _, err := p.transfer.fetch(ctx, f); err != nil {
		return nil, err
	}
	return p.stage.parent.ReadFile(p.stage.file(f))
}

// report adds up the progress of the files.
func (p *pull) report(file string, here int64) {
	p.done[file] = here
	var sum int64
	for _, n := range p.done {
		sum += n
	}
	p.options.Progress(Progress{File: file, Done: sum, Total: p.total})
}

// read calls f with the files that have arrived.
func (p *pull) read(f func(fs.FS) error) error {
	root, err := p.stage.parent.OpenRoot(p.stage.tree())
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := readCalibration(root.FS()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f(root.FS())
}

// finish loads the checkpoint once, writes the manifest and puts the folder in place.
func (p *pull) finish() (*Pulled, error) {
	keep := map[string]bool{}
	for _, f := range p.items {
		keep[f.Path] = true
	}
	if err := p.stage.prune(keep); err != nil {
		return nil, err
	}
	var info encoder.Info
	err := p.read(func(fsys fs.FS) error {
		model, err := encoder.Load(fsys, encoder.Options{})
		if err == nil {
			info = model.Info()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the files have arrived, but cannot be used: %w", err)
	}
	slices.SortFunc(p.items, func(a, b ManifestItem) int { return strings.Compare(a.Path, b.Path) })
	m := Manifest{Repo: p.repo.ID(), Revision: p.repo.revision(), Commit: p.commit, Hub: p.hub.base.String(), Pulled: time.Now().UTC().Truncate(time.Second),
		Family: info.Family, Dimension: info.Dim, Parameters: info.Parameters, Bytes: p.total, Files: p.items}
	if err := p.stage.writeManifest(p.stage.tree(), m); err != nil {
		return nil, err
	}
	if err := p.stage.place(); err != nil {
		return nil, err
	}
	return &Pulled{Manifest: m, Dir: p.dir, New: true}, nil
}
