// Package progress shows how far a long command is: in a bar on a terminal, elsewhere in a line
// every ten seconds.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/searchd/cmd/internal/command"
)

// Interval is the time between two lines.
const Interval = 10 * time.Second

const drawInterval = 500 * time.Millisecond // of the bar

// State is how far a command is.
type State struct {
	Text        string // what was or is being done
	Done, Total int64  // parts of the work, such as bytes; a Total of 0 is unknown
	Skipped     int64  // of Done, what took no time
}

// Line returns the state as text, with percentage, elapsed time and time left.
func (s State) Line(elapsed time.Duration) string {
	percent := ""
	if s.Total > 0 {
		percent = fmt.Sprintf(", %d%%", min(100, 100*s.Done/s.Total))
	}
	return s.Text + percent + s.times(elapsed)
}

// draw returns the state with a bar.
func (s State) draw(elapsed time.Duration) string {
	if s.Total == 0 {
		return s.Line(elapsed)
	}
	bar := progressbar.NewOptions64(s.Total, progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(20),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionSetRenderBlankState(true))
	_ = bar.Set64(min(s.Done, s.Total)) // its writer cannot fail
	return strings.TrimSpace(bar.String()) + " " + s.Text + s.times(elapsed)
}

func (s State) times(elapsed time.Duration) string {
	times := fmt.Sprintf(", %v", elapsed.Round(time.Second))
	if left := s.left(elapsed); left > 0 {
		times += fmt.Sprintf(", %v left", left)
	}
	return times
}

// left estimates how long the rest takes, once a hundredth of the work and five seconds are over;
// 0 if that is unknown.
func (s State) left(elapsed time.Duration) time.Duration {
	done, rest := s.Done-s.Skipped, s.Total-s.Done
	if elapsed < 5*time.Second || done <= 0 || done < s.Total/100 || rest <= 0 {
		return 0
	}
	left := time.Duration(float64(elapsed) * float64(rest) / float64(done))
	if left >= 5*time.Minute {
		return left.Round(time.Minute)
	}
	return max(left.Round(time.Second), time.Second)
}

// Display shows a state until it is stopped. It is safe for concurrent use.
type Display struct {
	w          io.Writer
	isTerminal bool
	state      func() State
	began      time.Time
	quit       chan struct{}
	loop       sync.WaitGroup

	mu      sync.Mutex // held while w is written to
	stopped bool
}

// Show starts to show what state returns, which is called from another goroutine.
func Show(w io.Writer, state func() State) *Display {
	return show(w, command.IsTerminal(w), state)
}

// Doing is [Show] for work whose parts are not counted.
func Doing(w io.Writer, text string) *Display {
	return Show(w, func() State { return State{Text: text} })
}

func show(w io.Writer, isTerminal bool, state func() State) *Display {
	d := &Display{w: w, isTerminal: isTerminal, state: state, began: time.Now(), quit: make(chan struct{})}
	interval := Interval
	if isTerminal {
		interval = drawInterval
	}
	d.loop.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-d.quit:
				return
			case <-ticks.C:
				d.print()
			}
		}
	})
	return d
}

func (d *Display) print() {
	s, elapsed := d.state(), time.Since(d.began)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.stopped:
	case d.isTerminal:
		fmt.Fprint(d.w, clearLine, s.draw(elapsed))
	default:
		fmt.Fprintln(d.w, s.Line(elapsed))
	}
}

const clearLine = "\r\x1b[K"

// Clear empties the line of the terminal, so that another text can be written there.
func (d *Display) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isTerminal && !d.stopped {
		fmt.Fprint(d.w, clearLine)
	}
}

// Stop ends the display. A second call does nothing.
func (d *Display) Stop() {
	d.Clear()
	d.mu.Lock()
	first := !d.stopped
	d.stopped = true
	d.mu.Unlock()
	if first {
		close(d.quit)
	}
	d.loop.Wait()
}
