package trace

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
)

// scope is the name of what creates the spans.
const scope = "searchd"

// Tracer starts spans. It is safe for concurrent use. A nil Tracer starts none.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    otel.Tracer
}

// Span is a part of a request that is being measured. Its methods do nothing on nil.
type Span struct{ of otel.Span }

var wire propagation.TraceContext

// Request starts the span of an incoming request, within the trace that its traceparent names, and
// returns the request with it.
func (t *Tracer) Request(r *http.Request) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := wire.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.start(ctx, "request", otel.SpanKindServer)
	return r.WithContext(ctx), span
}

// Start starts a span within that of ctx. Where ctx has none it starts none either, so that work
// in the background makes no traces of its own.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !otel.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	return t.start(ctx, name, otel.SpanKindInternal)
}

// Continue starts a span within that of another process, which parent names as [Tracer.Parent]
// returned it. It starts none where parent is empty or malformed.
func (t *Tracer) Continue(ctx context.Context, name, parent string) (context.Context, *Span) {
	if t == nil || parent == "" {
		return ctx, nil
	}
	within := wire.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	if !otel.SpanContextFromContext(within).IsValid() {
		return ctx, nil
	}
	return t.start(within, name, otel.SpanKindServer)
}

func (t *Tracer) start(ctx context.Context, name string, kind otel.SpanKind) (context.Context, *Span) {
	ctx, span := t.spans.Start(ctx, name, otel.WithSpanKind(kind))
	return ctx, &Span{span}
}

// Parent returns the traceparent of the span of ctx, or "" where it has none.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	wire.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// ID returns the id of the trace, or "" where the span is not recorded.
func (s *Span) ID() string {
	if s == nil || !s.of.IsRecording() {
		return ""
	}
	return s.of.SpanContext().TraceID().String()
}

// Answered ends the span of a request: it names it after its route, which is the pattern and not
// the path, and notes the status of the answer.
func (s *Span) Answered(method, route string, status int) {
	if s == nil {
		return
	}
	name := method
	if route != "" {
		name += " " + route
		s.of.SetAttributes(attribute.String("http.route", route))
	}
	s.of.SetName(name)
	s.of.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status))
	if status >= 500 {
		s.of.SetStatus(codes.Error, "")
	}
	s.of.End()
}

// Text notes a property, which must not be what a user wrote.
func (s *Span) Text(name, value string) {
	if s != nil {
		s.of.SetAttributes(attribute.String(name, value))
	}
}

// Count notes a number.
func (s *Span) Count(name string, n int) {
	if s != nil {
		s.of.SetAttributes(attribute.Int(name, n))
	}
}

// End ends the span. Of an error it notes the kind alone.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		s.of.SetAttributes(attribute.String("error.type", "canceled"))
	case errors.Is(err, context.DeadlineExceeded):
		s.of.SetStatus(codes.Error, "")
		s.of.SetAttributes(attribute.String("error.type", "timeout"))
	default:
		s.of.SetStatus(codes.Error, "")
		s.of.SetAttributes(attribute.String("error.type", "_OTHER"))
	}
	s.of.End()
}

// closeWithin bounds what Close waits for the collector.
const closeWithin = 5 * time.Second

// Close sends what has not been sent yet, for at most 5 s. Spans that end later are lost.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	return t.provider.Shutdown(ctx)
}
