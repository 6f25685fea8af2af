package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
)

// health is a probe of a server, for containers whose image has no other HTTP client.
type health struct {
	addr    string
	https   string // a certificate: its content does not matter
	timeout time.Duration
}

func newHealthCommand() *cobra.Command {
	var h health
	cmd := &cobra.Command{
		Use: "health", Short: "Check that the server on this machine is ready",
		Long: `Requests /readyz of a server on this machine. Exit code 0: it is ready, 1: it is not, and the reason is printed, 2: the flags are wrong.
No API key is needed. --addr and --tls-cert are those of serve, and come from the same settings; the certificate itself is not checked.`,
		Example: "  searchd health --addr 127.0.0.1:8080",
		Args:    cobra.NoArgs, PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if h.timeout <= 0 {
				return fmt.Errorf("--timeout: got %v, allowed: more than 0s", h.timeout)
			}
			if err := checkAddr(h.addr); err != nil {
				return err
			}
			if err := h.probe(cmd.Context()); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "searchd: not ready:", err)
				return command.ErrSome
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		},
	}
	cmd.Flags().StringVar(&h.addr, "addr", "127.0.0.1:8080", "address that serve listens on")
	cmd.Flags().StringVar(&h.https, "tls-cert", "", "certificate of serve; requests then use HTTPS")
	cmd.Flags().DurationVar(&h.timeout, "timeout", 3*time.Second, "longest wait for the answer")
	return cmd
}

// probe returns nil if the server is ready.
func (h health) probe(ctx context.Context) error {
	host, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens there, too
	}
	scheme, transport := "http", &http.Transport{Proxy: nil, DisableKeepAlives: true}
	if h.https != "" {
		scheme = "https"
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // names do not match on loopback, and nothing secret is sent
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server listens at %s", h.addr)
	}
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
