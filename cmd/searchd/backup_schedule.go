package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"example.com/searchd/api"
	"example.com/searchd/internal/objectstore"
	"example.com/searchd/search"
	"example.com/searchd/search/backups"
)

// backupFlags are the flags of serve for backups at intervals.
type backupFlags struct {
	to    string
	every time.Duration
	keep  int
	place objectstore.Place
}

func (f *backupFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.to, "backup-to", "", "write backups at intervals to this folder or s3://BUCKET/PREFIX; credentials as of `searchd backup` (default none)")
	cmd.Flags().DurationVar(&f.every, "backup-every", 24*time.Hour, "how often; at least 1m")
	cmd.Flags().IntVar(&f.keep, "backup-keep", 7, "how many of these backups are kept; older ones are deleted after a new one was verified")
}

const maxKept = 10_000

// check refuses values that are not allowed.
func (f *backupFlags) check(cmd *cobra.Command, cluster string) (err error) {
	for _, name := range []string{"backup-every", "backup-keep"} {
		if f.to == "" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: name the place, too: --backup-to FOLDER or s3://BUCKET/PREFIX", name)
		}
	}
	switch {
	case f.to == "":
		return nil
	case cluster != "":
		return errors.New("--backup-to: a cluster has no backup in one file; `searchd migrate --from URL --to DIR` copies all collections to a folder, under writes, too")
	case f.every < time.Minute:
		return fmt.Errorf("--backup-every: got %v, allowed: at least 1m", f.every)
	case f.keep < 1 || f.keep > maxKept:
		return fmt.Errorf("--backup-keep: got %d, allowed: 1 to %d", f.keep, maxKept)
	}
	if f.place, err = objectstore.At(f.to); err != nil {
		return fmt.Errorf("--backup-to: %w", err)
	}
	return nil
}

// start writes backups until ctx ends or end is called, which waits.
func (f *backupFlags) start(ctx context.Context, e *search.Engine, o *api.Options) (end func(), err error) {
	if f.place == nil {
		return func() {}, nil
	}
	source, err := search.BackupsOf(e)
	if err != nil {
		return nil, fmt.Errorf("--backup-to: %w", err)
	}
	log := o.Logger
	s := &backups.Schedule{Of: source, To: f.place, Every: f.every, Keep: f.keep, Report: func(r backups.Report) { logBackup(log, r) }}
	o.Collectors = append(o.Collectors, backupGauges(s.Status))
	o.Warning = func() string { return backupWarning(s.Status()) }
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return func() { cancel(); <-done }, nil
}

func logBackup(log *slog.Logger, r backups.Report) {
	for _, w := range r.Warnings {
		log.Warn("backup", "warning", w)
	}
	if r.Err != nil {
		log.Error("the backup failed", "error", r.Err, "next_attempt_in", r.Retry)
		return
	}
	log.Info("backup written and verified", "url", r.URL, "bytes", r.Bytes, "took", r.Took.Round(time.Millisecond))
}

// backupWarning describes failures without their cause, which is in the log: everybody may read it.
func backupWarning(s backups.Status) string {
	if s.Failing == 0 {
		return ""
	}
	newest := "there is none yet"
	if !s.Newest.IsZero() {
		newest = "the newest one is of " + s.Newest.UTC().Format(time.RFC3339)
	}
	failed := "the last scheduled backup has failed; "
	if s.Failing > 1 {
		failed = "the last " + strconv.Itoa(s.Failing) + " attempts at a scheduled backup have failed; "
	}
	return failed + newest
}

// backupGauges are the metrics of backups at intervals.
type backupGauges func() backups.Status

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (backupGauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (read backupGauges) Collect(to chan<- prometheus.Metric) {
	s := read()
	running := 0.0
	if s.Running {
		running = 1
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"last_success_timestamp_seconds", "When the newest complete scheduled backup was written, seconds since 1970; 0: there is none.", prometheus.GaugeValue, seconds(s.Newest)},
		{"last_failure_timestamp_seconds", "When a scheduled backup failed last, seconds since 1970; 0: none since the start.", prometheus.GaugeValue, seconds(s.LastFailure)},
		{"last_bytes", "Bytes of the newest complete scheduled backup.", prometheus.GaugeValue, float64(s.Bytes)},
		{"last_duration_seconds", "How long the last successful scheduled backup took.", prometheus.GaugeValue, s.Took.Seconds()},
		{"running", "1 while a scheduled backup is being written.", prometheus.GaugeValue, running},
		{"successes_total", "Scheduled backups written and verified.", prometheus.CounterValue, float64(s.Successes)},
		{"failures_total", "Failed attempts to write a scheduled backup.", prometheus.CounterValue, float64(s.Failures)},
	} {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("searchd_backup_"+m.name, m.help, nil, nil), m.kind, m.value)
	}
}

// seconds returns seconds since 1970, and 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func sortNewestFirst(list []objectstore.Object) {
	slices.SortFunc(list, func(a, b objectstore.Object) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
	})
}
