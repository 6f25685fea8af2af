package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
)

// TestOptions refuses wrong options, and addresses beyond loopback without certificates.
func TestOptions(t *testing.T) {
	local, far := []string{"127.0.0.1:1", "[::1]:2", "localhost:3"}, []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}
	for what, o := range map[string]Options{
		"no name":               {},
		"a name with a dot":     {Cluster: "a.b"},
		"a node with a space":   {Cluster: "a", Node: "b c"},
		"far without TLS":       {Cluster: "a", Listen: far[0], Peers: far},
		"a far peer":            {Cluster: "a", Listen: local[0], Peers: append(far[:1:1], local...)},
		"no address":            {Cluster: "a", Peers: local},
		"a peer without a port": {Cluster: "a", Listen: local[0], Peers: []string{local[0], "localhost"}},
		"half of TLS":           {Cluster: "a", Listen: far[0], Peers: far, Security: Security{Certificate: "a"}},
		"too many partitions":   {Cluster: "a", Partitions: 1000},
	} {
		if b, err := Open(t.Context(), t.TempDir(), o); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("Open with %s = %v, %v, want ErrInvalid", what, b, err)
		}
	}
}

// TestTLS starts nodes with certificates, and one whose certificate is of another authority: it
// does not get in.
func TestTLS(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	own, foreign := authority(t), authority(t)
	c := newThree(t)
	c.options.Security = own
	c.start(0, 1, 2)
	c.stop(2)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	stranger, err := Open(ctx, t.TempDir(), Options{Cluster: "test", Node: "n2", Listen: c.peers[2], Peers: c.peers, Security: foreign})
	if err == nil {
		t.Error("a node with a certificate of another authority is let in")
		stranger.Close()
	}
	c.start(2)
	c.create(2)
	settle(t, func() error {
		_, err := c.on(0).Apply(t.Context(), "docs", []backend.Write{testWrite("a", "white whale")})
		return err
	})
}

// authority makes an authority and a certificate of nodes on 127.0.0.1 and in networks of tests.
func authority(t *testing.T) Security {
	t.Helper()
	dir := t.TempDir()
	save := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	root, rootKey, nodeKey := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nodes"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key(), key()
	node := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 99, 0, 1), net.IPv4(10, 99, 0, 2), net.IPv4(10, 99, 0, 3)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		t.Fatal(err)
	}
	nodeDER, err := x509.CreateCertificate(rand.Reader, node, root, &nodeKey.PublicKey, rootKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(nodeKey)
	if err != nil {
		t.Fatal(err)
	}
	return Security{Certificate: save("node.pem", "CERTIFICATE", nodeDER), Key: save("node.key", "EC PRIVATE KEY", keyDER), Authority: save("ca.pem", "CERTIFICATE", rootDER)}
}
