package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealthWithoutItsCertificate: a server that goes on with the certificate of before is ready.
func TestHealthWithoutItsCertificate(t *testing.T) {
	status := http.StatusOK
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer srv.Close()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, said, err := execute(t, "", "health", "--addr", "127.0.0.1:1"); err == nil || !strings.Contains(said, "not ready: no server listens at 127.0.0.1:1") {
		t.Errorf("nothing listens: %v, %s", err, said)
	}
	for _, cert := range []string{
		file("shown.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))),
		file("other.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("other")}))),
		file("half.pem", "-----BEGIN CERTI"),
		filepath.Join(dir, "none.pem"),
	} {
		status = http.StatusOK
		args := []string{"health", "--addr", srv.Listener.Addr().String(), "--tls-cert", cert}
		if out := mustCommand(t, args...); out != "ready" {
			t.Errorf("%s: %q", cert, out)
		}
		status = http.StatusServiceUnavailable
		if _, err := runCommand(t, args...); err == nil {
			t.Errorf("%s: a server that is not ready is", cert)
		}
	}
}
