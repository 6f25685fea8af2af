// Package certfile serves a TLS certificate from two files and notices when they change, as certbot
// and Kubernetes change them.
package certfile

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// interval is how often the files are read at most.
const interval = time.Second

// maxFile bounds a file: chains have some thousand bytes.
const maxFile = 1 << 20

// Files is a certificate in PEM files. It is safe for concurrent use.
type Files struct {
	cert, key string
	notice    func(text string)
	now       func() time.Time

	mu struct {
		sync.Mutex
		loaded          *tls.Certificate
		certPEM, keyPEM []byte
		read            time.Time
		failed          string // the last failure, reported once
	}
}

// Open reads a certificate chain and its key. notice is called for each later change, and for files
// that cannot be used; then the previous certificate stays in use.
func Open(cert, key string, notice func(text string)) (*Files, error) {
	f := &Files{cert: cert, key: key, notice: notice, now: time.Now}
	certPEM, keyPEM, err := f.files()
	if err != nil {
		return nil, err
	}
	if err := f.load(certPEM, keyPEM); err != nil {
		return nil, err
	}
	f.mu.read = f.now()
	return f, nil
}

// Config returns a TLS configuration that serves the certificate: TLS 1.2 and later, HTTP/1.1.
func (f *Files) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: f.certificate}
}

// certificate returns the certificate of a handshake, from the files as they are now.
func (f *Files) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.mu.read) >= interval {
		f.mu.read = now
		f.refresh()
	}
	return f.mu.loaded, nil
}

// refresh reads the files and loads them if they changed. They are written one after the other, so
// for a moment they may not belong together.
func (f *Files) refresh() {
	certPEM, keyPEM, err := f.files()
	if err == nil && bytes.Equal(certPEM, f.mu.certPEM) && bytes.Equal(keyPEM, f.mu.keyPEM) {
		f.mu.failed = ""
		return
	}
	if err == nil {
		err = f.load(certPEM, keyPEM)
	}
	switch {
	case err == nil:
		f.mu.failed = ""
		f.notice(fmt.Sprintf("TLS certificate read again from %s", f.cert))
	case err.Error() != f.mu.failed:
		f.mu.failed = err.Error()
		f.notice(fmt.Sprintf("the previous TLS certificate stays in use: %v", err))
	}
}

func (f *Files) load(certPEM, keyPEM []byte) error {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", f.cert, f.key, err)
	}
	f.mu.loaded, f.mu.certPEM, f.mu.keyPEM = &pair, certPEM, keyPEM
	return nil
}

func (f *Files) files() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = readFile(f.cert); err != nil {
		return nil, nil, err
	}
	keyPEM, err = readFile(f.key)
	return certPEM, keyPEM, err
}

func readFile(name string) ([]byte, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", name, maxFile)
	}
	return b, err
}
