package trace

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Endpoint string            // base URL of the collector, before the variables that name one; default: these
	Version  string            // of the program, for service.version; default: none
	Warn     func(text string) // called with faults of the environment, and once a minute with the spans that were lost; optional
}

// Open returns a tracer as the environment configures it, or nil where neither o.Endpoint nor the
// environment names a collector, or OTEL_SDK_DISABLED is true. An error is about o.Endpoint. A
// variable that is malformed turns tracing off and is reported to o.Warn: it may be meant for other
// programs. Open sets the error handler of OpenTelemetry, which is one per process.
func Open(o Options) (*Tracer, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	var err error
	target := ""
	if o.Endpoint != "" {
		if target, err = endpoint(o.Endpoint, true); err != nil {
			return nil, err
		}
	}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER")) == "none" {
		return nil, nil
	}
	e, err := exporterOf(target)
	if err != nil {
		o.Warn("traces are off: " + err.Error())
		return nil, nil
	}
	if e == nil {
		return nil, nil
	}
	e.warn = o.Warn
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) { o.Warn("traces: " + err.Error()) }))
	attributes := []attribute.KeyValue{attribute.String("service.name", scope)}
	if o.Version != "" {
		attributes = append(attributes, attribute.String("service.version", o.Version))
	}
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		o.Warn("traces: OTEL_RESOURCE_ATTRIBUTES: " + err.Error())
	}
	p := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(e))
	return &Tracer{provider: p, spans: p.Tracer(scope, otel.WithInstrumentationVersion(o.Version))}, nil
}

// variable returns a variable of the exporter and its name: that of traces, or that of all signals.
func variable(name string) (value, from string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if v := strings.TrimSpace(os.Getenv(prefix + name)); v != "" {
			return v, prefix + name
		}
	}
	return "", ""
}

// exporterOf returns the exporter that the environment describes, to target unless that is empty.
// It is nil without a collector.
func exporterOf(target string) (*exporter, error) {
	if target == "" {
		v, from := variable("ENDPOINT")
		if v == "" {
			return nil, nil
		}
		var err error
		if target, err = endpoint(v, from == "OTEL_EXPORTER_OTLP_ENDPOINT"); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	if v := strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER")); v != "" && v != "otlp" {
		return nil, wrong("OTEL_TRACES_EXPORTER", v, "otlp (default) and none")
	}
	e := &exporter{target: target, timeout: 10 * time.Second}
	if v, from := variable("PROTOCOL"); v != "" && v != "http/protobuf" {
		return nil, wrong(from, v, "http/protobuf (default)")
	}
	switch v, from := variable("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		e.gzip = true
	default:
		return nil, wrong(from, v, "none (default) and gzip")
	}
	if v, from := variable("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms < 1 || ms > 600_000 {
			return nil, wrong(from, v, "1 to 600000 milliseconds")
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	if v, from := variable("HEADERS"); v != "" {
		var err error
		if e.header, err = headers(v); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = 1
	if v, from := variable("CERTIFICATE"); v != "" {
		pem, err := os.ReadFile(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, wrong(from, v, "a file of certificates in PEM")
		}
		own.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	// The headers may hold a key, which a redirect could send elsewhere.
	e.client = &http.Client{Transport: own, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return e, nil
}

func wrong(name, value, allowed string) error {
	return fmt.Errorf("%s: got %q, allowed: %s", name, value, allowed)
}

// endpoint returns the URL to which traces are sent: raw, or /v1/traces below it if it is a base.
func endpoint(raw string, base bool) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("got %q, allowed: the URL of a collector, such as http://127.0.0.1:4318", redacted(u))
	}
	if base {
		u = u.JoinPath("v1/traces")
	}
	return u.String(), nil
}

// redacted returns a URL without its password; of one that cannot be parsed it shows nothing.
func redacted(u *url.URL) string {
	if u == nil {
		return "..."
	}
	return cmp.Or(u.Redacted(), "...")
}

// headers reads NAME=VALUE pairs with commas between them, the values percent-encoded.
func headers(text string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || !token(name) {
			return nil, errors.New("allowed: NAME=VALUE pairs with commas between them") // what there is may be a key
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, fmt.Errorf("%s: allowed: a percent-encoded value without control characters", name)
		}
		h.Set(name, value)
	}
	return h, nil
}

// token reports whether a header may have a name.
func token(name string) bool {
	return name != "" && strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
