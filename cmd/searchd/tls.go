package main

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/searchd/internal/certfile"
)

// tlsFlags name the certificate of a server.
type tlsFlags struct{ tlsCert, tlsKey string }

func (f *tlsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tlsCert, "tls-cert", "", "PEM file of the TLS certificate and its chain; with --tls-key, serves HTTPS. Both are read again when they change")
	cmd.Flags().StringVar(&f.tlsKey, "tls-key", "", "PEM file of the certificate's key")
}

// tls returns the TLS configuration, nil without a certificate.
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
