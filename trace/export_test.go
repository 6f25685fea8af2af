package trace

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// someSpans returns one span.
func someSpans(t *testing.T) []sdk.ReadOnlySpan {
	into := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(into))
	_, span := p.Tracer(scope).Start(t.Context(), "one")
	span.End()
	return into.GetSpans().Snapshots()
}
