package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far it is: a moving line on a terminal, a line every ten seconds elsewhere.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil where w is no terminal
	n     int                      // documents
	files int                      // that have ended, in this run
	of    int                      // files that there are; 0: not known
	began time.Time
	told  time.Time
	ended bool
}

const tellEvery = 10 * time.Second

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), told: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("documents"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("docs"),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSpinnerType(14))
	}
	return p
}

func (p *progress) add(n int) {
	p.n += n
	p.show(n)
}

// file takes note that a file has ended.
func (p *progress) file() {
	p.files++
	p.show(0)
}

// restart begins with the first file again.
func (p *progress) restart() { p.files, p.of = 0, 0 }

// share says how many of the files have ended; empty where that is not known, or there is one file.
func (p *progress) share() string {
	if p.of < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d files", p.files, max(p.of, p.files)) // some may have come since they were counted
}

func (p *progress) show(n int) {
	if p.ended {
		return
	}
	share := p.share()
	if p.bar != nil {
		if share != "" {
			p.bar.Describe(share + ", documents")
		}
		p.bar.Add(n)
	} else if time.Since(p.told) >= tellEvery {
		p.told = time.Now()
		if share != "" {
			share = ", " + share
		}
		fmt.Fprintf(p.w, "%d documents, %.0f per second%s\n", p.n, float64(p.n)/time.Since(p.began).Seconds(), share)
	}
}

// clear makes room for a line of another kind.
func (p *progress) clear() {
	if p.bar != nil && !p.ended {
		p.bar.Clear()
	}
}

// finish ends the showing for good: what a watch brings is told by notices.
func (p *progress) finish() {
	if p.ended {
		return
	}
	p.ended = true
	if p.bar != nil {
		p.bar.Finish()
		p.bar.Clear()
	}
}
