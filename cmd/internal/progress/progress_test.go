package progress

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestShow(t *testing.T) {
	for name, c := range map[string]struct {
		isTerminal bool
		interval   time.Duration
		want       string
	}{
		"lines":    {false, Interval, "texts, 0%, 10s\ntexts, 50%, 20s, 20s left\n"},
		"terminal": {true, drawInterval, clearLine + "0% |                    | texts, 1s" + clearLine + "50% |██████████          | texts, 1s" + clearLine},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w strings.Builder
				var n atomic.Int64
				d := show(&w, c.isTerminal, func() State { return State{Text: "texts", Done: n.Load(), Total: 10} })
				time.Sleep(c.interval + c.interval/10)
				n.Store(5)
				time.Sleep(c.interval)
				d.Stop()
				d.Stop()
				time.Sleep(c.interval)
				if w.String() != c.want {
					t.Errorf("got %q, want %q", w.String(), c.want)
				}
			})
		})
	}
}

func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		done, skipped int64
		elapsed       time.Duration
		want          string
	}{
		{250, 0, time.Minute, "x, 25%, 1m0s, 3m0s left"},
		{500, 250, time.Minute, "x, 50%, 1m0s, 2m0s left"},
		{100, 0, time.Hour, "x, 10%, 1h0m0s, 9h0m0s left"},
		{1, 0, time.Hour, "x, 0%, 1h0m0s"},
		{500, 0, 4 * time.Second, "x, 50%, 4s"},
		{1000, 0, time.Hour, "x, 100%, 1h0m0s"},
		{1001, 1000, time.Hour, "x, 100%, 1h0m0s"}, // the work has grown
	} {
		total := int64(1000)
		if c.done == 1 {
			total = 1 << 20
		}
		if got := (State{Text: "x", Done: c.done, Total: total, Skipped: c.skipped}).Line(c.elapsed); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := (State{Text: "x"}).Line(time.Minute); got != "x, 1m0s" {
		t.Errorf("without a total: %q", got)
	}
}
