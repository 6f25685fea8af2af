package certfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair writes a new certificate for localhost with a serial number.
func pair(t *testing.T, serial int64, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serial makes a handshake over a real connection and returns the serial number that the client
// saw.
func serial(t *testing.T, f *Files) int64 {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", f.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p := c.ConnectionState(); p.Version < tls.VersionTLS12 || p.NegotiatedProtocol != "http/1.1" {
		t.Errorf("version %x, protocol %q", p.Version, p.NegotiatedProtocol)
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestCertificateChanges(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pair(t, 1, cert, key)
	var notices []string
	f, err := Open(cert, key, func(text string) { notices = append(notices, text) })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	f.now = func() time.Time { return now }
	if got := serial(t, f); got != 1 {
		t.Fatalf("serial = %d, want 1", got)
	}
	pair(t, 2, cert, key)
	if got := serial(t, f); got != 1 {
		t.Errorf("within the interval: serial = %d, want 1", got)
	}
	now = now.Add(interval)
	if got := serial(t, f); got != 2 || len(notices) != 1 {
		t.Errorf("after the interval: serial = %d, want 2; notices %q", got, notices)
	}
	if err := os.WriteFile(key, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(interval)
		if got := serial(t, f); got != 2 {
			t.Errorf("with a bad key: serial = %d, want the one of before", got)
		}
	}
	if len(notices) != 2 || !strings.Contains(notices[1], "key.pem") {
		t.Errorf("notices %q, want one about key.pem", notices)
	}
	pair(t, 3, cert, key)
	now = now.Add(interval)
	if got := serial(t, f); got != 3 {
		t.Errorf("mended: serial = %d, want 3", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	cert, key, other := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "other.pem")
	pair(t, 1, cert, key)
	pair(t, 2, filepath.Join(dir, "other-cert.pem"), other)
	for name, files := range map[string][2]string{
		"no certificate": {filepath.Join(dir, "missing.pem"), key}, "no key": {cert, filepath.Join(dir, "missing.pem")},
		"another's key": {cert, other}, "a folder": {dir, key}, "swapped": {key, cert},
	} {
		if _, err := Open(files[0], files[1], func(string) {}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
	}
}
