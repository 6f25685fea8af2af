package main

import (
	"fmt"
	"io"
	"os"
	"strings"
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
	size  int64                    // bytes of them
	done  int64                    // bytes of those that have ended
	same  int64                    // of these, bytes of files that were not read
	at    int64                    // bytes of the next one that have been read
	began time.Time
	told  time.Time
	ended bool
}

const tellEvery = 10 * time.Second

const (
	largeSize = 8 << 20         // bytes of all files, from which it is told how many have been read
	leftAfter = 5 * time.Second // it is told how long the rest takes
)

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

// file takes note that a file of so many bytes has ended; read: it was not passed over as
// unchanged.
func (p *progress) file(size int64, read bool) {
	p.files++
	p.at = 0
	if p.done += size; !read {
		p.same += size
	}
	p.show(0)
}

// restart begins with the first file again.
func (p *progress) restart() { p.files, p.of, p.size, p.done, p.same, p.at = 0, 0, 0, 0, 0, 0 }

// share says how many of the files have ended, and of how many bytes how much where these are many;
// empty where that is not known, or not worth a word.
func (p *progress) share() string {
	var parts []string
	if p.of > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d files", p.files, max(p.of, p.files))) // some may have come since they were counted
	}
	if p.size >= largeSize {
		parts = append(parts, fmt.Sprintf("%d%% of %.1f MB%s", min(100, 100*(p.done+p.at)/p.size), float64(p.size)/1e6, p.left(time.Since(p.began))))
	}
	return strings.Join(parts, ", ")
}

// left says how long the rest takes, once a hundredth has been read.
func (p *progress) left(passed time.Duration) string {
	read, rest := p.done-p.same+p.at, p.size-p.done-p.at
	if passed < leftAfter || read < p.size/100 || rest <= 0 {
		return ""
	}
	left := time.Duration(passed.Seconds() * float64(rest) / float64(read) * float64(time.Second))
	unit := time.Second
	if left >= 5*time.Minute {
		unit = time.Minute
	}
	return fmt.Sprintf(", %v left", left.Round(unit))
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
		fmt.Fprintf(p.w, "%d documents, %.1f per second%s\n", p.n, float64(p.n)/time.Since(p.began).Seconds(), share)
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
