package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/searchd/search/backend"
)

// Security is how nodes prove to each other who they are. Beyond loopback it must be set.
type Security struct {
	Certificate string // file of this node's certificate, in PEM; it is valid for servers and clients
	Key         string // file of its key
	Authority   string // file of the certificates of the authority that signs those of all nodes
}

// check refuses addresses that others can reach without certificates.
func (s Security) check(listen string, peers []string) []error {
	var errs []error
	if n := len(s.Certificate + s.Key + s.Authority); n > 0 && (s.Certificate == "" || s.Key == "" || s.Authority == "") {
		errs = append(errs, fmt.Errorf("%w: certificate, key and authority: allowed: all of them or none", backend.ErrInvalid))
	}
	if len(peers) > 1 && listen == "" {
		errs = append(errs, fmt.Errorf("%w: the address of the node is missing, which its peers connect to", backend.ErrInvalid))
	}
	for _, addr := range append([]string{listen}, peers...) {
		if addr == "" {
			continue
		}
		host, port, err := net.SplitHostPort(addr)
		if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > 65535 {
			errs = append(errs, fmt.Errorf("%w: address %q: allowed: host:port", backend.ErrInvalid, addr))
			continue
		}
		if ip := net.ParseIP(host); s.Certificate == "" && len(peers) > 1 && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			errs = append(errs, fmt.Errorf("%w: address %q is beyond loopback: nodes need a certificate, its key and the authority", backend.ErrInvalid, addr))
		}
	}
	return errs
}

// routes makes a server one of several.
func (s Security) routes(to *server.Options, o Options) error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	to.Cluster = server.ClusterOpts{Name: o.Cluster, Host: host, Port: number, ConnectRetries: 1 << 30, PoolSize: 3,
		PingInterval: time.Second, MaxPingsOut: 3}
	to.Routes = nil
	for _, p := range o.Peers {
		to.Routes = append(to.Routes, &url.URL{Scheme: "nats-route", Host: p})
	}
	if s.Certificate == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return fmt.Errorf("certificate of the node: %w", err)
	}
	pem, err := os.ReadFile(s.Authority)
	if err != nil {
		return fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return errors.New("authority: no certificate in " + s.Authority)
	}
	to.Cluster.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	to.Cluster.TLSTimeout = 5
	return nil
}
