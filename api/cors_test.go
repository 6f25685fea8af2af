package api

import (
	"slices"
	"strings"
	"testing"
)

// Pages of trusted origins may send every header that the description names, and read every one
// that answers carry.
func TestCORSNamesEveryHeader(t *testing.T) {
	c, err := described()
	if err != nil {
		t.Fatal(err)
	}
	sent := []string{"Authorization", "Content-Type", "Content-Encoding", "X-Request-ID"}
	read := []string{"X-Request-ID", "Idempotent-Replayed", "WWW-Authenticate"}
	for _, item := range c.doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range op.Parameters {
				if p.Value.In == "header" {
					sent = append(sent, p.Value.Name)
				}
			}
			for _, answer := range op.Responses.Map() {
				for name := range answer.Value.Headers {
					read = append(read, name)
				}
			}
		}
	}
	f := newFixture(t, Options{CORSOrigins: []string{"https://app.example.com"}})
	const origin = "https://app.example.com"
	allowed := f.do("OPTIONS", importPath, "", "Origin", origin, "Access-Control-Request-Method", "POST").Header().Get("Access-Control-Allow-Headers")
	for _, name := range sent {
		if !slices.Contains(strings.Split(allowed, ","), name) {
			t.Errorf("%s may not be sent: %s", name, allowed)
		}
	}
	exposed := f.do("GET", "/v1/collections", "", "Origin", origin).Header().Get("Access-Control-Expose-Headers")
	for _, name := range read {
		if !slices.Contains(strings.Split(exposed, ","), name) {
			t.Errorf("%s may not be read: %s", name, exposed)
		}
	}
}
