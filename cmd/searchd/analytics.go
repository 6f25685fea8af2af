package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"example.com/searchd/analytics"
	"example.com/searchd/api"
	"example.com/searchd/api/events"
	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
)

// analyticsFolder is where a data folder has the log of searches.
func analyticsFolder(data string) string { return filepath.Join(data, "analytics") }

// checkAnalytics checks the flags of the log.
func (f *serveFlags) checkAnalytics() error {
	switch {
	case f.analyticsDays < 0 || f.analyticsDays > events.MaxDays:
		return fmt.Errorf("--analytics-days: got %d, allowed: 0 (off) to %d", f.analyticsDays, events.MaxDays)
	case f.analyticsMiB < 1 || f.analyticsMiB > 1<<20:
		return fmt.Errorf("--analytics-mib: got %d, allowed: 1 to %d", f.analyticsMiB, 1<<20)
	case f.suggestQueries && f.analyticsDays == 0:
		return errors.New("--suggest-queries: needs --analytics-days: queries are suggested out of the log")
	}
	return nil
}

// openAnalytics opens the log for the server, if it is on.
func (f *serveFlags) openAnalytics(o *api.Options) (done func(), err error) {
	if f.analyticsDays == 0 {
		return func() {}, nil
	}
	warn := func(text string) { o.Logger.Warn(text) }
	l, err := analytics.Open(analyticsFolder(f.data), analytics.Options{Days: f.analyticsDays, MaxBytes: f.analyticsMiB << 20, Notice: warn})
	if err != nil {
		return nil, fmt.Errorf("opening the log of searches: %w", err)
	}
	o.Analytics = l
	o.Collectors = append(o.Collectors, analyticsGauges(l.Stats))
	done = func() { l.Close() }
	if f.suggestQueries {
		o.PastQueries = events.NewPast(l)
		done = func() { o.PastQueries.Close(); l.Close() }
	}
	return done, nil
}

func newAnalyticsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "analytics", Short: "Show what users searched for and opened, export it as judgments for eval",
		Long: `A server that was started with --analytics-days logs searches, and clicks that applications report. These commands read the log, of a
running server (--server, with a key that has the scope analytics:read) or in a data folder.`,
	}
	cmd.AddCommand(newAnalyticsReportCommand(), newAnalyticsExportCommand(), newAnalyticsDeleteCommand())
	return cmd
}

// analyticsFlags say whose log is read.
type analyticsFlags struct {
	queryFlags
	days int
}

func (f *analyticsFlags) add(cmd *cobra.Command) {
	f.addServer(cmd)
	cmd.Flags().Lookup("server").Usage = "URL of a running server, instead of --data; of a cluster all nodes, joined by commas"
	cmd.Flags().IntVar(&f.days, "days", 30, "how many days back")
}

// tally counts the events of the log in a folder, or of those of all servers.
func (f *analyticsFlags) tally(cmd *cobra.Command) (t *analytics.Tally, since time.Time, err error) {
	if f.days < 1 {
		return nil, since, fmt.Errorf("--days: got %d, allowed: 1 or more", f.days)
	}
	t, since = analytics.NewTally(), time.Now().UTC().AddDate(0, 0, -f.days).Truncate(time.Second)
	add := func(e analytics.Event) error {
		if e.Collection == f.collection && !e.Time.Before(since) {
			t.Add(e)
		}
		return nil
	}
	if f.server == "" {
		_, err := analytics.Read(cmd.Context(), analyticsFolder(f.data), add)
		return t, since, err
	}
	for server := range strings.SplitSeq(f.server, ",") {
		c, err := openServer(server, f.key)
		if err != nil {
			return nil, since, err
		}
		if err := remoteEvents(cmd.Context(), c, f.collection, add); err != nil {
			return nil, since, err
		}
	}
	return t, since, nil
}

// remoteEvents calls add with the events that a server has logged of a collection.
func remoteEvents(ctx context.Context, c *client.Client, collection string, add func(analytics.Event) error) error {
	for e, err := range client.EventsOf(c, collection).List(ctx) {
		if err != nil {
			return err
		}
		var event analytics.Event
		if err := convert(e, &event); err != nil {
			return err
		}
		event.Collection = collection // by whichever name
		if err := add(event); err != nil {
			return err
		}
	}
	return nil
}

// choose sets the collection where none is named, and returns what it has. done closes what was
// opened for that.
func (f *analyticsFlags) choose(cmd *cobra.Command) (corpus corpus, done func() error, err error) {
	if f.server != "" {
		first := f.server
		f.server, _, _ = strings.Cut(first, ",")
		c, err := f.openCollection(cmd)
		f.server = first
		return remoteCorpus{c, f.collection}, func() error { return nil }, err
	}
	e, err := f.openToRead(cmd)
	if err != nil {
		return nil, nil, err
	}
	if f.collection, err = folderCollection(cmd.Context(), e, f.collection); err != nil {
		e.Close()
		return nil, nil, err
	}
	info, err := e.Collection(cmd.Context(), f.collection) // the name behind an alias
	if err == nil {
		f.collection = info.Name
	}
	return folderCorpus{e, f.collection}, e.Close, nil
}

func newAnalyticsReportCommand() *cobra.Command {
	var f analyticsFlags
	cmd := &cobra.Command{
		Use: "report", Short: "Count queries, queries without good results, and clicks",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 20, "queries in each list")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, done, err := f.choose(cmd)
		if err != nil {
			return err
		}
		defer done()
		t, since, err := f.tally(cmd)
		if err != nil {
			return err
		}
		r := t.Report(max(f.limit, 0))
		r.Since = since
		if f.asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
		}
		return printReport(cmd.OutOrStdout(), r)
	}
	return cmd
}

func printReport(w io.Writer, r analytics.Report) error {
	fmt.Fprintf(w, "%d searches since %s: %d with a click, %d without results, %d with weak ones\n",
		r.Searches, r.Since.Format(time.DateOnly), r.Clicked, r.NoResults, r.Weak)
	for _, part := range []struct {
		title string
		list  []analytics.QueryCount
	}{{"TOP QUERIES", r.Queries}, {"WITHOUT GOOD RESULTS", r.Unanswered}} {
		if len(part.list) == 0 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "\n%s\tSEARCHES\tCLICKED\tNO RESULTS\tWEAK\tMEAN POSITION\n", part.title)
		for _, q := range part.list {
			position := "-"
			if q.MeanPosition > 0 {
				position = fmt.Sprintf("%.1f", q.MeanPosition)
			}
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", printable(q.Query), q.Searches, q.Clicked, q.NoResults, q.Weak, position)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Positions) > 0 {
		fmt.Fprint(w, "\nclicks by position:")
		for _, p := range r.Positions {
			fmt.Fprintf(w, "  %d: %d", p.Position, p.Clicks)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func newAnalyticsDeleteCommand() *cobra.Command {
	var f serverFlags
	var collection string
	cmd := &cobra.Command{
		Use: "delete", Short: "Delete what a server has logged of a collection",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&collection, "collection", "", "collection, which may be gone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if collection == "" {
			return fmt.Errorf("--collection: name the collection")
		}
		c, err := f.client()
		if err != nil {
			return err
		}
		return client.EventsOf(c, collection).Delete(cmd.Context())
	}
	return cmd
}

// analyticsGauges are the metrics of the log of searches.
type analyticsGauges func() analytics.Stats

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (analyticsGauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (read analyticsGauges) Collect(to chan<- prometheus.Metric) {
	s := read()
	events := prometheus.NewDesc("searchd_analytics_events_total", "Searches and clicks that were logged, or dropped because the log could not keep up or be written.", []string{"outcome"}, nil)
	to <- prometheus.MustNewConstMetric(events, prometheus.CounterValue, float64(s.Written), "written")
	to <- prometheus.MustNewConstMetric(events, prometheus.CounterValue, float64(s.Dropped), "dropped")
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc("searchd_analytics_bytes", "Size of the log of searches and clicks.", nil, nil), prometheus.GaugeValue, float64(s.Bytes))
}
