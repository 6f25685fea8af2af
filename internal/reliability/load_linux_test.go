package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// seconds returns the length of a load test: RELIABILITY_SECONDS, or a short one.
func seconds(otherwise uint64) time.Duration {
	return time.Duration(number("RELIABILITY_SECONDS", otherwise)) * time.Second
}

// fill creates the collection docs with n documents.
func (s *server) fill(n int) {
	s.t.Helper()
	s.want("PUT", docs, "{}", 201, 200)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"d%04d","text":"note %d about pancakes, bread and the river"}`+"\n", i, i)
	}
	if status, answer := s.do("POST", docs+"/documents/import", b.String(), "Content-Type", "application/x-ndjson"); status != 200 || strings.Contains(answer, `"error"`) {
		s.t.Fatalf("import: %d %.300s", status, answer)
	}
}

// tally is what a load has brought.
type tally struct {
	mu        sync.Mutex
	status    map[int]int
	took      []time.Duration // of what was accepted
	noRetry   int             // refusals without Retry-After
	lastError string
}

func (t *tally) add(status int, took time.Duration, retryAfter string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == nil {
		t.status = map[int]int{}
	}
	t.status[status]++
	switch {
	case err != nil:
		t.lastError = err.Error()
	case status == 200:
		t.took = append(t.took, took)
	case (status == 429 || status == 503) && retryAfter == "":
		t.noRetry++
	}
}

// percentile returns the p-th part of the times.
func (t *tally) percentile(p float64) time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return t.took[int(p*float64(len(t.took)-1))]
}

// heavy returns a request that takes the server some tens of milliseconds: queries that no cache
// has.
func heavy(n uint64) string {
	var b strings.Builder
	b.WriteString(`{"searches":[`)
	for i := range 16 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"q":"what did note %d say about bread number %d and pancakes by the river"}`, n, i)
	}
	return b.String() + "]}"
}

// ask sends one heavy request.
func (s *server) ask(c *http.Client, t *tally, n uint64) {
	began := time.Now()
	req, err := http.NewRequest("POST", s.url+docs+"/search/batch", strings.NewReader(heavy(n)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header["Idempotency-Key"] = []string{} // not sent: the request is sent again where the server closes an idle connection meanwhile
	res, err := c.Do(req)
	if err != nil {
		t.add(0, 0, "", err)
		return
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	t.add(res.StatusCode, time.Since(began), res.Header.Get("Retry-After"), err)
}

// memoryOf returns the bytes of anonymous memory of the process.
func (s *server) memoryOf() (kib int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if m := regexp.MustCompile(`RssAnon:\s+(\d+)`).FindSubmatch(b); m != nil {
		kib, _ = strconv.Atoi(string(m[1]))
	}
	return kib
}

// lag watches how late timers of this process fire, which is what other programs on the machine add
// to every time that a test measures. stop returns the largest.
func lag() (stop func() time.Duration) {
	done, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		for {
			began := time.Now()
			select {
			case <-done:
				worst <- most
				return
			case <-time.After(10 * time.Millisecond):
				most = max(most, time.Since(began)-10*time.Millisecond)
			}
		}
	}()
	return func() time.Duration { close(done); return <-worst }
}

// middle returns the median, the lower one of an even number.
func middle(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[(len(s)-1)/2]
}

// TestOverload measures the most that the server answers, sends ten times as much, and wants four
// fifths of it answered in time, the rest refused with Retry-After, health checks answered, and
// memory within GOMEMLIMIT and a tenth. Capacity is measured before and after each of several
// windows of overload, so that programs that take the CPUs for a while change both sides of the
// comparison; the median of the windows counts. RELIABILITY_SECONDS is the length of all windows
// of overload together.
func TestOverload(t *testing.T) {
	alone(t)
	const limit = 512 // MiB
	s := newServer(t, memory(t))
	s.env = []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", limit)}
	s.start()
	s.fill(200)
	var n atomic.Uint64
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	length := seconds(6)
	windows := 3 + int(length/(30*time.Second))
	window := length / time.Duration(windows)
	capacity := func(clients int, length time.Duration) float64 {
		var got tally
		var wait sync.WaitGroup
		began := time.Now()
		for range clients {
			wait.Go(func() {
				for time.Since(began) < length {
					s.ask(client, &got, n.Add(1))
				}
			})
		}
		wait.Wait()
		return float64(len(got.took)) / time.Since(began).Seconds()
	}
	clients, most := 1, 0.0
	for _, c := range []int{1, 2, 4} {
		if got := capacity(c, max(window/4, time.Second)); got > most {
			clients, most = c, got
		}
	}
	stopLag := lag()
	var all tally
	var health atomic.Int64 // nanoseconds that the slowest check took
	var failedHealth atomic.Int32
	memory, sent := 0, 0
	overload := func(peak float64) float64 {
		var got tally
		var wait sync.WaitGroup
		interval := time.Duration(float64(time.Second) / (10 * peak))
		began := time.Now()
		for i := 0; time.Since(began) < window; i++ {
			time.Sleep(time.Until(began.Add(time.Duration(i) * interval)))
			wait.Go(func() { s.ask(client, &got, n.Add(1)) })
			if sent++; i%50 == 0 {
				memory = max(memory, s.memoryOf())
				wait.Go(func() {
					asked := time.Now()
					if status, _ := s.do("GET", "/livez", ""); status != 200 {
						failedHealth.Add(1)
					}
					for took := int64(time.Since(asked)); ; {
						if old := health.Load(); took <= old || health.CompareAndSwap(old, took) {
							return
						}
					}
				})
			}
		}
		wait.Wait()
		for status, count := range got.status {
			if all.status == nil {
				all.status = map[int]int{}
			}
			all.status[status] += count
		}
		all.took, all.noRetry, all.lastError = append(all.took, got.took...), all.noRetry+got.noRetry, cmp.Or(got.lastError, all.lastError)
		return float64(len(got.took)) / time.Since(began).Seconds()
	}
	var ratios, peaks, goods []float64
	before := capacity(clients, window/2)
	for range windows {
		good := overload(before)
		after := capacity(clients, window/2)
		peak := (before + after) / 2
		ratios, peaks, goods = append(ratios, good/peak), append(peaks, peak), append(goods, good)
		before = after
	}
	late := stopLag()
	ratio, p99 := middle(ratios), all.percentile(.99)
	t.Logf("%d windows of %s at ten times the capacity, %d requests: %.1f/s answered, capacity %.1f/s, %.2f of it (%.2f)", windows, window.Round(time.Millisecond), sent, middle(goods), middle(peaks), ratio, ratios)
	t.Logf("statuses %v, p50 %s, p99 %s, slowest health check %s, timers up to %s late, %d MiB of memory", all.status, all.percentile(.5).Round(time.Millisecond), p99.Round(time.Millisecond),
		time.Duration(health.Load()).Round(time.Millisecond), late.Round(time.Millisecond), memory>>10)
	if ratio < .8 {
		t.Errorf("%.2f of the capacity is answered under overload", ratio)
	}
	if p99 > 5*time.Second+late {
		t.Errorf("99 of 100 answers took up to %s, timers were up to %s late", p99, late)
	}
	for status, count := range all.status {
		if status != 200 && status != 429 && status != 503 {
			t.Errorf("status %d, %d times; last error %s", status, count, all.lastError)
		}
	}
	if all.noRetry > 0 {
		t.Errorf("%d refusals without Retry-After", all.noRetry)
	}
	if took := time.Duration(health.Load()); failedHealth.Load() > 0 || took > 2*time.Second+late {
		t.Errorf("%d health checks failed, the slowest took %s", failedHealth.Load(), took)
	}
	if memory>>10 > limit*11/10 {
		t.Errorf("%d MiB of memory, GOMEMLIMIT is %d", memory>>10, limit)
	}
}

// slowSenders opens connections that send a request of which a byte comes every 100 ms, half of
// them from its header on and half after a whole header, and others that send nothing. Who is cut
// off comes back. stop closes all.
func (s *server) slowSenders(slow, idle int) (stop func()) {
	s.t.Helper()
	addr := strings.TrimPrefix(s.url, "http://")
	header := "POST " + docs + "/search HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
	conns, at, gone := make([]net.Conn, slow+idle), make([]int, slow), make([]time.Time, slow)
	dial := func(i int) error {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			return err
		}
		if conns[i] = c; i < slow {
			if at[i] = 0; i%2 == 0 {
				at[i] = len(header)
				_, err = io.WriteString(c, header)
			}
		}
		return err
	}
	for i := range conns {
		if err := dial(i); err != nil {
			s.t.Fatalf("connection %d: %v", i, err)
		}
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			for i := range slow {
				if !gone[i].IsZero() {
					if time.Since(gone[i]) > time.Second {
						gone[i] = time.Time{}
						if dial(i) != nil {
							gone[i] = time.Now()
						}
					}
					continue
				}
				b := byte(' ')
				if at[i] < len(header) {
					b = header[at[i]]
				}
				at[i]++
				_ = conns[i].SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := conns[i].Write([]byte{b}); err != nil {
					conns[i].Close()
					gone[i] = time.Now()
				}
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
		for _, c := range conns {
			c.Close()
		}
	}
}

// TestSlowSenders lets 20 searchers work alone, and beside 500 connections that send a byte now and
// then and 500 that are idle. The two alternate in windows of two seconds, so that programs that
// take the CPUs for a while slow both; the median of the pairs counts. RELIABILITY_SECONDS sets how
// long each of the two takes together.
func TestSlowSenders(t *testing.T) {
	alone(t)
	const slow, idle, window = 500, 500, 2 * time.Second
	s := newServer(t, memory(t))
	s.start()
	s.fill(200)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	var n atomic.Uint64
	search := func() *tally {
		var got tally
		var wait sync.WaitGroup
		end := time.Now().Add(window)
		for range 20 {
			wait.Go(func() {
				for time.Now().Before(end) {
					began := time.Now()
					res, err := client.Get(fmt.Sprintf("%s%s/search?q=bread+%d", s.url, docs, n.Add(1)))
					if err != nil {
						got.add(0, 0, "", err)
						continue
					}
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
					got.add(res.StatusCode, time.Since(began), "x", err)
				}
			})
		}
		wait.Wait()
		return &got
	}
	search() // warms up
	var ratios []float64
	answers := [2]int{}
	for range max(3, int(seconds(6)/window)) {
		quiet := search()
		stop := s.slowSenders(slow, idle)
		busy := search()
		stop()
		ratios = append(ratios, float64(len(quiet.took))/float64(max(1, len(busy.took))))
		answers[0] += len(quiet.took)
		answers[1] += len(busy.took)
		for _, got := range []*tally{quiet, busy} {
			if len(got.took) == 0 || len(got.status) > 1 {
				t.Errorf("statuses of searches %v, %s", got.status, got.lastError)
			}
		}
	}
	ratio := middle(ratios)
	t.Logf("20 searchers, in %d pairs of windows of %s: %d answers alone, %d beside %d slow senders and %d idle connections: %.2f times slower (%.2f)", len(ratios), window, answers[0], answers[1], slow, idle, ratio, ratios)
	if ratio > 1.5 {
		t.Errorf("%.2f times slower", ratio)
	}
}

// TestDrains stops a server under load again and again: every request whose handler began has its
// whole answer, and the server ends with exit code 0. RELIABILITY_DRAINS sets how often.
func TestDrains(t *testing.T) {
	alone(t)
	n := int(number("RELIABILITY_DRAINS", 3))
	dir := memory(t)
	answered, refused := 0, 0
	var slowest time.Duration
	for round := range n {
		s := newServer(t, dir)
		s.start()
		if round == 0 {
			s.fill(100)
		}
		var mu sync.Mutex
		failed := map[string]string{} // request id to error
		stopping := make(chan struct{})
		var wait sync.WaitGroup
		for c := range 8 {
			wait.Go(func() {
				client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}
				r := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				for i := 0; ; i++ {
					id := fmt.Sprintf("drain-%d-%d-%d", round, c, i)
					var req *http.Request
					if r.IntN(3) == 0 {
						req, _ = http.NewRequest("PUT", fmt.Sprintf("%s%s/documents/w%d", s.url, docs, c), strings.NewReader(fmt.Sprintf(`{"text":"written %s"}`, id)))
					} else {
						req, _ = http.NewRequest("POST", s.url+docs+"/search/batch", strings.NewReader(heavy(r.Uint64())))
					}
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("X-Request-ID", id)
					res, err := client.Do(req)
					if err == nil {
						_, err = io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
					mu.Lock()
					if err != nil {
						failed[id] = err.Error()
					} else if answered++; res.StatusCode >= 400 {
						refused++
					}
					mu.Unlock()
					select {
					case <-stopping:
						if err != nil {
							return
						}
					default:
					}
				}
			})
		}
		time.Sleep(time.Duration(100+rand.IntN(400)) * time.Millisecond)
		began := time.Now()
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		close(stopping)
		<-s.ended
		slowest = max(slowest, time.Since(began))
		wait.Wait()
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("round %d: exit code %d", round, code)
		}
		lines := bufio.NewScanner(strings.NewReader(s.log.String()))
		for lines.Scan() {
			if _, id, ok := strings.Cut(lines.Text(), "request_id="); ok {
				if err := failed[strings.TrimSpace(id)]; err != "" {
					t.Errorf("round %d: the server handled %s, its client got: %s\n%s", round, id, err, lines.Text())
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d drains, %d answers, %d of them refusals, the slowest stop took %s", n, answered, refused, slowest.Round(time.Millisecond))
	if slowest > 25*time.Second {
		t.Errorf("stopping took %s", slowest)
	}
}

// usage is what a process holds.
type usage struct{ goroutines, files, maps, heap, data float64 }

func (s *server) usage() (u usage) {
	s.t.Helper()
	_, metrics := s.do("GET", "/metrics", "")
	gauge := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(metrics)
		if m == nil {
			s.t.Fatalf("no metric %s", name)
		}
		v, _ := strconv.ParseFloat(m[1], 64)
		return v
	}
	u.goroutines, u.heap = gauge("go_goroutines"), gauge("go_memstats_heap_inuse_bytes")
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)); err == nil {
		u.files = float64(len(entries))
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.cmd.Process.Pid))
	u.maps = float64(bytes.Count(b, []byte("\n")))
	if fi, err := os.Stat(s.data + "/searchd.db"); err == nil {
		u.data = float64(fi.Size())
	}
	return u
}

// TestLeaks creates, fills, searches and drops a collection again and again. From the first half to
// the second neither goroutines, files, maps, heap nor the store grow. RELIABILITY_SECONDS sets how
// long.
func TestLeaks(t *testing.T) {
	alone(t)
	s := newServer(t, memory(t))
	s.env = []string{"GOGC=50"}
	s.start()
	length := seconds(20)
	var halves [2][]usage
	rounds := 0
	for began := time.Now(); time.Since(began) < length; rounds++ {
		s.fill(20)
		s.want("GET", docs+"/search?q=bread", "", 200)
		s.want("PUT", "/v1/aliases/name", `{"collection":"docs"}`, 200, 201)
		s.want("DELETE", "/v1/aliases/name", "", 204, 200)
		s.want("DELETE", docs, "", 204, 200)
		if time.Since(began) > length/5 { // the rest warms up
			half := 0
			if time.Since(began) > length*6/10 {
				half = 1
			}
			halves[half] = append(halves[half], s.usage())
		}
	}
	for name, of := range map[string]func(u usage) float64{
		"goroutines": func(u usage) float64 { return u.goroutines }, "open files": func(u usage) float64 { return u.files }, "maps": func(u usage) float64 { return u.maps },
		"heap": func(u usage) float64 { return u.heap }, "store": func(u usage) float64 { return u.data },
	} {
		first, second := median(halves[0], of), median(halves[1], of)
		t.Logf("%s: %.0f, then %.0f", name, first, second)
		if second > first*1.15+4 {
			t.Errorf("%s grew from %.0f to %.0f", name, first, second)
		}
	}
	t.Logf("%d rounds in %s on %d CPUs", rounds, length, runtime.NumCPU())
}

func median(us []usage, of func(usage) float64) float64 {
	var v []float64
	for _, u := range us {
		v = append(v, of(u))
	}
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
