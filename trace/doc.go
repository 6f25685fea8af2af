// Package trace records what requests spend their time on, as OpenTelemetry spans that are sent to
// a collector by OTLP over HTTP. The standard environment variables configure it.
//
// A nil [Tracer] records nothing and costs one comparison, and so does a nil [Span]. Spans carry
// names, counts and times. Queries, documents, ids, keys and the texts of errors are not in them,
// as an error may quote any of these.
package trace
