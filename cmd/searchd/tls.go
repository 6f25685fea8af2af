package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"searchd/internal/certfile"
)

// tlsFlags name the certificate that a server shows.
type tlsFlags struct{ tlsCert, tlsKey string }

func (f *tlsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tlsCert, "tls-cert", "", "PEM file of the TLS certificate and its chain; with --tls-key, serves HTTPS. Both are read again when they change")
	cmd.Flags().StringVar(&f.tlsKey, "tls-key", "", "PEM file of the certificate's key")
}

// tls returns how to speak TLS, nil where there is no certificate.
func (f *tlsFlags) tls(notice func(string)) (*tls.Config, error) {
	switch {
	case f.tlsCert == "" && f.tlsKey == "":
		return nil, nil
	case f.tlsCert == "" || f.tlsKey == "":
		return nil, errors.New("--tls-cert and --tls-key: name both or none")
	}
	files, err := certfile.Open(f.tlsCert, f.tlsKey, notice)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return files.Config(), nil
}

// authorities reads the certificates of the file that a flag names; nil, the system's, where it names none.
func authorities(flag, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--%s: %s holds no certificate in PEM", flag, path)
	}
	return pool, nil
}

// secret reads a key from the file that a flag names, or else from the environment.
func secret(flag, path, env string) (string, error) {
	if path == "" {
		return os.Getenv(env), nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	key := strings.TrimSpace(string(b))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", fmt.Errorf("--%s: %s holds no key alone", flag, path)
	}
	return key, nil
}
