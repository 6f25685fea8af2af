package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// health asks a server whether it takes requests: the probe of a container, in whose image there is no other client.
type health struct {
	addr, cert string
	timeout    time.Duration
}

func newHealthCommand() *cobra.Command {
	var h health
	cmd := &cobra.Command{
		Use: "health", Short: "Ask the server on this machine whether it takes requests",
		Long: `Asks /readyz of a server on this machine and ends with 0 if it takes requests, else with 1 and the reason. It needs no API key.
--addr and --tls-cert mean what they mean to serve, and come from the same settings.`,
		Example: "  searchd health --addr 127.0.0.1:8080",
		Args:    cobra.NoArgs, PreRunE: fillSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if h.timeout <= 0 {
				return fmt.Errorf("--timeout: got %v, allowed: more than 0s", h.timeout)
			}
			if err := h.ask(cmd.Context()); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "searchd: not ready:", err)
				return errSome
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		},
	}
	cmd.Flags().StringVar(&h.addr, "addr", "127.0.0.1:8080", "address that serve listens on")
	cmd.Flags().StringVar(&h.cert, "tls-cert", "", "certificate that serve shows; the server is asked over HTTPS and has to show the same")
	cmd.Flags().DurationVar(&h.timeout, "timeout", 3*time.Second, "longest wait for the answer")
	return cmd
}

// ask returns nil if the server answers that it is ready.
func (h health) ask(ctx context.Context) error {
	host, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a server on all addresses is on this one, too
	}
	scheme, transport := "http", &http.Transport{Proxy: nil, DisableKeepAlives: true}
	if h.cert != "" {
		scheme = "https"
		if transport.TLSClientConfig, err = pinned(h.cert); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var problem struct{ Detail string }
	if body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16)); err == nil && json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return errors.New(problem.Detail)
	}
	return fmt.Errorf("the server answers %s", res.Status)
}

// pinned trusts the first certificate of a file, under whatever name the server is asked: on loopback it is not the certificate's.
func pinned(path string) (*tls.Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("--tls-cert: no certificate in %s", path)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // names do not match on loopback; the certificate itself is compared
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || !bytes.Equal(raw[0], block.Bytes) {
				return errors.New("the server shows another certificate than that of --tls-cert")
			}
			return nil
		},
	}, nil
}
