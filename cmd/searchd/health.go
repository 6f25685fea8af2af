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

	"searchd/cmd/internal/command"
)

// health asks a server whether it takes requests: the probe of a container, in whose image there is
// no other client.
type health struct {
	addr, cert string
	timeout    time.Duration
}

func newHealthCommand() *cobra.Command {
	var h health
	cmd := &cobra.Command{
		Use: "health", Short: "Ask the server on this machine whether it takes requests",
		Long: `Asks /readyz of a server on this machine and ends with 0 if it takes requests, else with 1 and the reason, or with 2 where it cannot be asked as the
flags say. It needs no API key.
--addr and --tls-cert mean what they mean to serve, and come from the same settings. A certificate file that cannot be read, or is not what the server
shows, is no reason to end with 1, since serve goes on with the certificate of before; a line on standard error says so.`,
		Example: "  searchd health --addr 127.0.0.1:8080",
		Args:    cobra.NoArgs, PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if h.timeout <= 0 {
				return fmt.Errorf("--timeout: got %v, allowed: more than 0s", h.timeout)
			}
			if _, _, err := net.SplitHostPort(h.addr); err != nil {
				return fmt.Errorf("--addr: got %q, allowed: HOST:PORT, such as 127.0.0.1:8080", h.addr)
			}
			note := func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "searchd:", text) }
			if err := h.ask(cmd.Context(), note); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "searchd: not ready:", err)
				return command.ErrSome
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		},
	}
	cmd.Flags().StringVar(&h.addr, "addr", "127.0.0.1:8080", "address that serve listens on")
	cmd.Flags().StringVar(&h.cert, "tls-cert", "", "certificate that serve shows; the server is asked over HTTPS")
	cmd.Flags().DurationVar(&h.timeout, "timeout", 3*time.Second, "longest wait for the answer")
	return cmd
}

// ask returns nil if the server answers that it is ready. note is told what else is wrong.
func (h health) ask(ctx context.Context, note func(string)) error {
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
		transport.TLSClientConfig = expecting(h.cert, note)
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

// expecting takes whatever certificate the server shows, and notes where it is not the first of a
// file: while the file cannot be used, or has just changed, the server goes on with the one of
// before. Nothing secret is sent.
func expecting(path string, note func(string)) *tls.Config {
	block, err := func() (*pem.Block, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(b)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("no certificate in %s", path)
		}
		return block, nil
	}()
	if err != nil {
		note(fmt.Sprintf("--tls-cert: %v", err))
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // names do not match on loopback
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if block != nil && (len(raw) == 0 || !bytes.Equal(raw[0], block.Bytes)) {
				note("the server shows another certificate than that of --tls-cert")
			}
			return nil
		},
	}
}
