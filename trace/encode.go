package trace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// encode returns an ExportTraceServiceRequest of opentelemetry-proto 1. The spans are of one
// provider and one scope. The numbers are those of its fields.
func encode(spans []sdk.ReadOnlySpan) []byte {
	var scopeSpans, resourceSpans, resource []byte
	scopeSpans = message(scopeSpans, 1, func(b []byte) []byte { // InstrumentationScope
		of := spans[0].InstrumentationScope()
		return text(text(b, 1, of.Name), 2, of.Version)
	})
	for _, s := range spans {
		scopeSpans = message(scopeSpans, 2, func(b []byte) []byte { return appendSpan(b, s) })
	}
	resource = attributes(resource, 1, spans[0].Resource().Attributes())
	resourceSpans = bytes(resourceSpans, 1, resource)
	resourceSpans = bytes(resourceSpans, 2, scopeSpans)
	return bytes(nil, 1, resourceSpans)
}

// Bits of Span.flags beyond those of the traceparent.
const (
	hasIsRemote = 1 << 8
	isRemote    = 1 << 9
)

func appendSpan(b []byte, s sdk.ReadOnlySpan) []byte {
	of, parent := s.SpanContext(), s.Parent()
	trace, id := of.TraceID(), of.SpanID()
	b = bytes(b, 1, trace[:])
	b = bytes(b, 2, id[:])
	b = text(b, 3, of.TraceState().String())
	if parent.HasSpanID() {
		above := parent.SpanID()
		b = bytes(b, 4, above[:])
	}
	b = text(b, 5, s.Name())
	b = number(b, 6, uint64(s.SpanKind())) // the same numbers
	b = fixed(b, 7, s.StartTime())
	b = fixed(b, 8, s.EndTime())
	b = attributes(b, 9, s.Attributes())
	b = number(b, 10, uint64(s.DroppedAttributes()))
	switch s.Status().Code {
	case codes.Ok:
		b = message(b, 15, func(b []byte) []byte { return number(b, 3, 1) })
	case codes.Error:
		b = message(b, 15, func(b []byte) []byte { return number(b, 3, 2) })
	}
	flags := uint32(of.TraceFlags()) | hasIsRemote
	if parent.IsRemote() {
		flags |= isRemote
	}
	return protowire.AppendFixed32(protowire.AppendTag(b, 16, protowire.Fixed32Type), flags)
}

// attributes appends a list of KeyValue.
func attributes(b []byte, field protowire.Number, list []attribute.KeyValue) []byte {
	for _, a := range list {
		b = message(b, field, func(b []byte) []byte {
			b = text(b, 1, string(a.Key))
			return message(b, 2, func(b []byte) []byte { // AnyValue, of which also a zero is written
				switch a.Value.Type() {
				case attribute.BOOL:
					return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), protowire.EncodeBool(a.Value.AsBool()))
				case attribute.INT64:
					return protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(a.Value.AsInt64()))
				default:
					return protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), a.Value.Emit())
				}
			})
		})
	}
	return b
}

func message(b []byte, field protowire.Number, within func([]byte) []byte) []byte {
	return bytes(b, field, within(nil))
}

func bytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// text appends a string, unless it is empty, which is its default.
func text(b []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func fixed(b []byte, field protowire.Number, t time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(t.UnixNano()))
}
