package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestNode asks the node of a cluster whether it is ready, and adds its metrics to the server's.
func TestNode(t *testing.T) {
	var behind error
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "searchd_test_total", Help: "Of a test."})
	f := newFixture(t, Options{NodeReady: func() error { return behind }, Collectors: []prometheus.Collector{count}})
	f.do("GET", "/readyz", "").want(200, nil)
	if text := f.do("GET", "/metrics", "").want(200, nil).Body.String(); !strings.Contains(text, "\nsearchd_test_total 0\n") {
		t.Error("the metrics of the node are missing")
	}
	behind = errors.New("2 of 8 replicas are catching up")
	if body := f.do("GET", "/readyz", "").want(503, nil).Body.String(); !strings.Contains(body, `"not_ready"`) || !strings.Contains(body, "2 of 8 replicas are catching up") {
		t.Errorf("answer %s", body)
	}
	f.do("GET", "/livez", "").want(200, nil)
}
