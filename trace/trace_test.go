package trace

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// collector is a collector that answers as it is set to and keeps the spans that it accepted.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	answers []func(http.ResponseWriter) // of the next requests; then 200
	tries   int
	header  http.Header
	path    string
	spans   []received
	about   map[string]string // the resource
	scope   string
}

// received is a span as it came.
type received struct {
	trace, id, parent, name string
	kind                    uint64
	start, end              uint64
	attributes              map[string]string
	status                  uint64
	flags                   uint32
}

func newCollector(t *testing.T, answers ...func(http.ResponseWriter)) *collector {
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tries++
		c.header, c.path = r.Header, r.URL.Path
		if len(c.answers) > 0 {
			answer := c.answers[0]
			c.answers = c.answers[1:]
			answer(w)
			return
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Error(err)
			}
		}
		b, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		c.take(t, b)
	}))
	t.Cleanup(c.Close)
	return c
}

// fields calls f for each field of a message.
func fields(t *testing.T, b []byte, f func(n protowire.Number, v []byte, num uint64)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		size = protowire.ConsumeFieldValue(n, kind, b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		switch kind {
		case protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b)
			f(n, v, 0)
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b)
			f(n, nil, v)
		case protowire.Fixed64Type:
			v, _ := protowire.ConsumeFixed64(b)
			f(n, nil, v)
		case protowire.Fixed32Type:
			v, _ := protowire.ConsumeFixed32(b)
			f(n, nil, uint64(v))
		}
		b = b[size:]
	}
}

func keyValue(t *testing.T, b []byte, into map[string]string) {
	var key, value string
	fields(t, b, func(n protowire.Number, v []byte, _ uint64) {
		switch n {
		case 1:
			key = string(v)
		case 2:
			fields(t, v, func(n protowire.Number, v []byte, num uint64) {
				if value = string(v); n == 3 {
					value = fmt.Sprint(int64(num))
				}
			})
		}
	})
	into[key] = value
}

func (c *collector) take(t *testing.T, b []byte) {
	c.about = map[string]string{}
	fields(t, b, func(_ protowire.Number, rs []byte, _ uint64) {
		fields(t, rs, func(n protowire.Number, v []byte, _ uint64) {
			if n == 1 {
				fields(t, v, func(_ protowire.Number, v []byte, _ uint64) { keyValue(t, v, c.about) })
				return
			}
			fields(t, v, func(n protowire.Number, v []byte, _ uint64) {
				if n == 1 {
					c.scope = string(v)
					return
				}
				s := received{attributes: map[string]string{}}
				fields(t, v, func(n protowire.Number, v []byte, num uint64) {
					switch n {
					case 1:
						s.trace = fmt.Sprintf("%x", v)
					case 2:
						s.id = fmt.Sprintf("%x", v)
					case 4:
						s.parent = fmt.Sprintf("%x", v)
					case 5:
						s.name = string(v)
					case 6:
						s.kind = num
					case 7:
						s.start = num
					case 8:
						s.end = num
					case 9:
						keyValue(t, v, s.attributes)
					case 15:
						fields(t, v, func(n protowire.Number, v []byte, num uint64) {
							if n == 2 {
								t.Errorf("the status has a message: %q", v)
							}
							s.status = num
						})
					case 16:
						s.flags = uint32(num)
					}
				})
				c.spans = append(c.spans, s)
			})
		})
	})
}

// environment sets the variables of OpenTelemetry, and unsets all others.
func environment(t *testing.T, pairs ...string) {
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER_ARG",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_CERTIFICATE",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_on") // its default; the SDK warns of an empty one
	for i := 0; i < len(pairs); i += 2 {
		t.Setenv(pairs[i], pairs[i+1])
	}
}

func open(t *testing.T, o Options) *Tracer {
	t.Helper()
	tr, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if tr == nil {
		t.Fatal("Open returned no tracer")
	}
	return tr
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpansArrive(t *testing.T) {
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			c := newCollector(t)
			environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/base/", "OTEL_EXPORTER_OTLP_COMPRESSION", compression,
				"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, X-Other=c", "OTEL_SERVICE_NAME", "mine", "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
			tr := open(t, Options{Version: "1.2.3"})
			r := httptest.NewRequest("POST", "/v1/collections/secret/search?q=secret", nil)
			r.Header.Set("traceparent", parent)
			r, request := tr.Request(r)
			ctx, search := tr.Start(r.Context(), "search")
			_, step := tr.Start(ctx, "find")
			step.Count("n", 0)
			step.End(errors.New("secret"))
			search.Text("mode", "hybrid")
			search.End(nil)
			if got := request.ID(); got != "0af7651916cd43dd8448eb211c80319c" {
				t.Errorf("ID() = %q", got)
			}
			request.Answered("POST", "/v1/collections/:collection/search", 503)
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
			if c.path != "/base/v1/traces" || c.header.Get("Api-Key") != "a b" || c.header.Get("X-Other") != "c" || c.header.Get("Content-Type") != "application/x-protobuf" {
				t.Errorf("POST %s with %v", c.path, c.header)
			}
			if c.about["service.name"] != "mine" || c.about["service.version"] != "1.2.3" || c.about["deployment.environment"] != "test" || c.about["telemetry.sdk.language"] != "go" {
				t.Errorf("resource: %v", c.about)
			}
			names := []string{}
			for _, s := range c.spans {
				names = append(names, s.name)
				if s.trace != "0af7651916cd43dd8448eb211c80319c" || s.start == 0 || s.end < s.start || len(s.id) != 16 {
					t.Errorf("%s: %+v", s.name, s)
				}
				if strings.Contains(fmt.Sprint(s), "secret") {
					t.Errorf("%s has what a user wrote: %+v", s.name, s)
				}
			}
			if want := []string{"find", "search", "POST /v1/collections/:collection/search"}; !slices.Equal(names, want) {
				t.Fatalf("spans %q, want %q", names, want)
			}
			find, middle, top := c.spans[0], c.spans[1], c.spans[2]
			if find.parent != middle.id || middle.parent != top.id || top.parent != "b7ad6b7169203331" {
				t.Errorf("parents: %+v", c.spans)
			}
			if top.kind != 2 || middle.kind != 1 || top.status != 2 || middle.status != 0 || find.status != 2 {
				t.Errorf("kinds and statuses: %+v", c.spans)
			}
			if top.attributes["http.response.status_code"] != "503" || middle.attributes["mode"] != "hybrid" || find.attributes["n"] != "0" || find.attributes["error.type"] != "_OTHER" {
				t.Errorf("attributes: %+v", c.spans)
			}
			if top.flags != 0x301 || middle.flags != 0x101 {
				t.Errorf("flags %x and %x, want 301 and 101", top.flags, middle.flags)
			}
		})
	}
}

func TestOpenFromEnvironment(t *testing.T) {
	const url = "http://127.0.0.1:4318"
	for name, x := range map[string]struct {
		vars   []string
		flag   string
		target string // empty: off
		warns  string // part of the warning; empty: none
	}{
		"nothing":                 {},
		"a base":                  {vars: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", url}, target: url + "/v1/traces"},
		"of traces, as it is":     {vars: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url + "/x", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://other"}, target: url + "/x"},
		"the flag comes first":    {vars: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other/x"}, flag: url, target: url + "/v1/traces"},
		"disabled":                {vars: []string{"OTEL_SDK_DISABLED", "TRUE"}, flag: url},
		"exporter none":           {vars: []string{"OTEL_TRACES_EXPORTER", "none"}, flag: url},
		"exporter zipkin":         {vars: []string{"OTEL_TRACES_EXPORTER", "zipkin"}, flag: url, warns: `OTEL_TRACES_EXPORTER: got "zipkin"`},
		"grpc":                    {vars: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, flag: url, warns: `OTEL_EXPORTER_OTLP_PROTOCOL: got "grpc", allowed: http/protobuf`},
		"no URL":                  {vars: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"}, warns: "OTEL_EXPORTER_OTLP_ENDPOINT: got"},
		"no URL, with a password": {vars: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://me:hush@collector"}, warns: "me:xxxxx@"},
		"a header without value":  {vars: []string{"OTEL_EXPORTER_OTLP_HEADERS", "hush"}, flag: url, warns: "OTEL_EXPORTER_OTLP_HEADERS: allowed: NAME=VALUE"},
		"a header of two lines":   {vars: []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=hush%0d%0ab"}, flag: url, warns: "OTEL_EXPORTER_OTLP_TRACES_HEADERS: a: allowed"},
		"a time of no number":     {vars: []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}, flag: url, warns: `OTEL_EXPORTER_OTLP_TIMEOUT: got "10s", allowed: 1 to 600000`},
		"zstd":                    {vars: []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}, flag: url, warns: "OTEL_EXPORTER_OTLP_COMPRESSION"},
		"no certificate":          {vars: []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist"}, flag: url, warns: "OTEL_EXPORTER_OTLP_CERTIFICATE"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, x.vars...)
			var warnings []string
			tr, err := Open(Options{Endpoint: x.flag, Warn: func(text string) { warnings = append(warnings, text) }})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			if (tr != nil) != (x.target != "") {
				t.Errorf("Open returned %v", tr)
			}
			if x.target != "" {
				flag := ""
				if x.flag != "" {
					flag, _ = endpoint(x.flag, true)
				}
				if e, err := exporterOf(flag); err != nil || e.target != x.target {
					t.Errorf("exporterOf: %v, %v, want %s", e, err, x.target)
				}
			}
			all := strings.Join(warnings, "\n")
			if (x.warns == "") != (all == "") || !strings.Contains(all, x.warns) || strings.Contains(all, "hush") {
				t.Errorf("warnings: %q, want %q", all, x.warns)
			}
		})
	}
	environment(t)
	if _, err := Open(Options{Endpoint: "collector:4318"}); err == nil {
		t.Error("Open took a flag without http://")
	}
}

// export sends one span with retries that come at once and returns what was reported.
func export(t *testing.T, c *collector, within time.Duration) (warnings []string) {
	e := &exporter{target: c.URL, timeout: within, firstWait: time.Millisecond, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	e.warn = func(text string) { warnings = append(warnings, text) }
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for range 2 { // the second is within the minute of the first
		if err := e.ExportSpans(ctx, someSpans(t)); err != nil {
			t.Error(err)
		}
	}
	return warnings
}

func status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestRetries(t *testing.T) {
	for name, x := range map[string]struct {
		answers []func(http.ResponseWriter)
		within  time.Duration
		spans   int // that arrive
		tries   int
		warns   string
	}{
		"overloaded":        {answers: []func(http.ResponseWriter){status(429), status(503), status(502), status(504)}, within: time.Minute, spans: 2, tries: 6},
		"asks to wait":      {answers: []func(http.ResponseWriter){status(503, "Retry-After", "0")}, within: time.Minute, spans: 2, tries: 3},
		"asks for too long": {answers: []func(http.ResponseWriter){status(429, "Retry-After", "3600")}, within: time.Minute, spans: 1, tries: 2, warns: "1 spans could not be sent: 429"},
		"refused":           {answers: []func(http.ResponseWriter){status(400), status(401)}, within: time.Minute, tries: 2, warns: "the collector answered 400"},
		"sent elsewhere":    {answers: []func(http.ResponseWriter){status(307, "Location", "http://127.0.0.1:1/")}, within: time.Minute, spans: 1, tries: 2, warns: "answered 307"},
		"rejects some": {answers: []func(http.ResponseWriter){func(w http.ResponseWriter) {
			w.Write(bytes(nil, 1, number(nil, 1, 1)))
		}}, within: time.Minute, spans: 1, tries: 2, warns: "the collector rejected them"},
		"answers nonsense": {answers: []func(http.ResponseWriter){func(w http.ResponseWriter) { w.Write([]byte("\x0a\xff\xff")) }}, within: time.Minute, spans: 1, tries: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, x.answers...)
			warnings := export(t, c, x.within)
			if len(c.spans) != x.spans || c.tries != x.tries {
				t.Errorf("%d spans after %d requests, want %d after %d", len(c.spans), c.tries, x.spans, x.tries)
			}
			if all := strings.Join(warnings, "\n"); !strings.Contains(all, x.warns) || (x.warns == "") != (all == "") || len(warnings) > 1 {
				t.Errorf("warnings %q, want one with %q", warnings, x.warns)
			}
		})
	}
}

// TestNothingWaits is of a collector that never answers: requests go on, and Close ends.
func TestNothingWaits(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer s.Close()
	defer close(hold)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL, "OTEL_EXPORTER_OTLP_TIMEOUT", "50", "OTEL_BSP_EXPORT_TIMEOUT", "200", "OTEL_BSP_MAX_QUEUE_SIZE", "16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
	var mu sync.Mutex
	var warnings []string
	tr := open(t, Options{Warn: func(text string) { mu.Lock(); warnings = append(warnings, text); mu.Unlock() }})
	for range 10_000 {
		_, span := tr.Request(httptest.NewRequest("GET", "/", nil))
		span.End(nil)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "could not be sent") {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestSamplingFollowsTheCaller(t *testing.T) {
	for name, x := range map[string]struct {
		sampler, parent string
		spans           int
	}{
		"without a caller":          {"parentbased_always_on", "", 1},
		"a caller that does not":    {"parentbased_always_on", strings.TrimSuffix(parent, "01") + "00", 0},
		"none without a caller":     {"parentbased_always_off", "", 0},
		"none, but of a caller":     {"parentbased_always_off", parent, 1},
		"always off":                {"always_off", parent, 0},
		"malformed means no caller": {"parentbased_always_on", "00-zz", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_TRACES_SAMPLER", x.sampler)
			tr := open(t, Options{})
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("traceparent", x.parent)
			_, span := tr.Request(r)
			if (span.ID() != "") != (x.spans > 0) {
				t.Errorf("ID() = %q", span.ID())
			}
			span.End(nil)
			tr.Close()
			if len(c.spans) != x.spans {
				t.Errorf("%d spans, want %d", len(c.spans), x.spans)
			}
		})
	}
}

func TestContinue(t *testing.T) {
	c := newCollector(t)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	tr := open(t, Options{})
	ctx, span := tr.Continue(t.Context(), "answer", parent)
	if got := tr.Parent(ctx); !strings.HasPrefix(got, parent[:36]) {
		t.Errorf("Parent() = %q", got)
	}
	span.End(nil)
	for _, bad := range []string{"", "x", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"} {
		if _, span := tr.Continue(t.Context(), "answer", bad); span != nil {
			t.Errorf("Continue(%q) started a span", bad)
		}
	}
	if _, span := tr.Start(t.Context(), "background"); span != nil {
		t.Error("Start without a span above started one")
	}
	tr.Close()
	if len(c.spans) != 1 || c.spans[0].parent != "b7ad6b7169203331" {
		t.Errorf("spans: %+v", c.spans)
	}
}

func TestNilAllocatesNothing(t *testing.T) {
	var tr *Tracer
	ctx := t.Context()
	r := httptest.NewRequest("GET", "/", nil)
	n := testing.AllocsPerRun(100, func() {
		_, request := tr.Request(r)
		ctx, span := tr.Start(ctx, "search")
		_, other := tr.Continue(ctx, "x", parent)
		span.Count("n", 1)
		span.Text("a", "b")
		span.End(nil)
		other.End(nil)
		request.Answered("GET", "/", 200)
		_ = tr.Parent(ctx) + request.ID()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}
