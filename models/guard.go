package models

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// guard decides which addresses a pull may connect to. It checks the address of the connection
// itself, after the name was resolved, so that no response of a name server leads to an internal
// machine.
type guard struct {
	loopback bool // the hub was given as a loopback URL: connect to loopback too
	private  bool // connect to private networks too, but never to link-local addresses
}

// reserved are prefixes that [netip.Addr] has no method for: not reachable from outside, or
// services of a cloud to its machines. Source: the special-purpose address registries of IANA (RFC
// 6890).
var reserved = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "fec0::/10")

// carriers are the IPv6 prefixes that hold an IPv4 address from the given byte on.
var carriers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

func prefixes(s ...string) (out []netip.Prefix) {
	for _, p := range s {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// check returns ErrRefused for an address that must not be connected to.
func (g guard) check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			b := a.As16()
			a = netip.AddrFrom4([4]byte(b[c.at : c.at+4]))
			break
		}
	}
	switch {
	case a.IsLoopback():
		if g.loopback {
			return nil
		}
	case a.IsPrivate():
		// The IPv6 metadata addresses of a cloud lie in the private range.
		if g.private && a.Is4() {
			return nil
		}
	case a.IsGlobalUnicast():
		inside := false
		for _, p := range reserved {
			inside = inside || p.Contains(a)
		}
		if !inside {
			return nil
		}
	}
	return fmt.Errorf("%w: the address %s is private, link-local or reserved", ErrRefused, a)
}

// GuardedTransport returns a transport for requests to u that connects to no private, link-local
// or reserved address whatever a name server answers. With trusted, an operator has named the host:
// its address may be private, or loopback where u says so.
func GuardedTransport(u *url.URL, trusted bool) *http.Transport {
	return guard{loopback: trusted && isLoopback(u.Hostname()), private: trusted}.transport(u)
}

// control is called by the dialer with each address that it is about to connect to.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: address %q: %v", ErrRefused, address, err)
	}
	return g.check(ap.Addr())
}

// transport connects through the guard, or through the proxy of the environment, which is the
// operator's and resolves names itself.
func (g guard) transport(hub *url.URL) *http.Transport {
	guarded := &net.Dialer{Timeout: 20 * time.Second, Control: g.control}
	plain := &net.Dialer{Timeout: 20 * time.Second}
	proxy := proxyAddress(hub)
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == proxy {
				return plain.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    20 * time.Second,
		ResponseHeaderTimeout:  60 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// proxyAddress is the host:port of the proxy for the hub; empty if there is none.
func proxyAddress(hub *url.URL) string {
	u, err := http.ProxyFromEnvironment(&http.Request{URL: hub})
	if err != nil || u == nil {
		return ""
	}
	return hostPort(u)
}

// hostPort is the host of u in lower case with its port, also where the URL leaves the port out.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		switch u.Scheme {
		case "https":
			port = "443"
		case "socks5", "socks5h":
			port = "1080"
		default:
			port = "80"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// isLoopback reports whether host is localhost or a loopback address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
