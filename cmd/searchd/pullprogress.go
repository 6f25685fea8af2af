package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"searchd/models"
)

// pullProgress shows how far a pull is: a bar on a terminal, a line every ten seconds elsewhere.
type pullProgress struct {
	w        io.Writer
	terminal bool
	bar      *progressbar.ProgressBar // nil until the size is known, and where w is no terminal
	file     string
	told     time.Time
}

const pullTellEvery = 10 * time.Second

func newPullProgress(w io.Writer) *pullProgress {
	return &pullProgress{w: w, terminal: isTerminal(w), told: time.Now()}
}

func (p *pullProgress) show(s models.Progress) {
	switch {
	case s.Waiting:
		p.line("another process is at work on this checkpoint; waiting for it")
	case s.Retry != nil:
		p.line(fmt.Sprintf("trying again: %v", s.Retry))
	case s.Total == 0:
	case p.terminal:
		if p.bar == nil {
			p.bar = progressbar.NewOptions64(s.Total, progressbar.OptionSetWriter(p.w), progressbar.OptionShowBytes(true),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(30))
		}
		if s.File != p.file { // describing draws at once, setting only so often
			p.file = s.File
			p.bar.Describe(s.File)
		}
		p.bar.Set64(s.Done)
	case time.Since(p.told) >= pullTellEvery:
		p.told = time.Now()
		p.line(fmt.Sprintf("%s: %s of %s", s.File, megabytes(s.Done), megabytes(s.Total)))
	}
}

// line writes a line above the bar.
func (p *pullProgress) line(text string) {
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintln(p.w, text)
}

func (p *pullProgress) finish() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
