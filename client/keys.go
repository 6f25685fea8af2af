package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// KeySpec is what an API key may do.
type KeySpec struct {
	Name        string    `json:"name"`
	Scopes      []string  `json:"scopes"`                // search, documents:read, documents:write, collections:admin, keys:admin, metrics:read, analytics:read
	Collections []string  `json:"collections,omitempty"` // patterns of names, '*' stands for any text; default: all
	Expires     time.Time `json:"expires,omitzero"`      // default: never
	RateLimit   float64   `json:"rate_limit,omitempty"`  // requests per second; default: the server's
	RateBurst   int       `json:"rate_burst,omitempty"`  // requests at once; default: those of one second
}

// Key is an API key without its secret.
type Key struct {
	ID string `json:"id"`
	KeySpec
	Created  time.Time `json:"created"`
	MadeBy   string    `json:"made_by,omitempty"`  // id of the key that made it, which may be revoked; empty: none, or unknown
	LastUsed time.Time `json:"last_used,omitzero"` // the hour of the last use; zero: never
}

// NewKey is a key that was just made. Its token is not shown again.
type NewKey struct {
	Key
	Token string `json:"key"`
}

func keyPath(id string) string { return "/v1/keys/" + url.PathEscape(id) }

// CreateKey makes an API key. After ErrOutcomeUnknown there may be a key whose secret is lost: find
// it by its name and revoke it.
func (c *Client) CreateKey(ctx context.Context, s KeySpec) (*NewKey, error) {
	out := &NewKey{}
	return out, c.send(ctx, call{method: http.MethodPost, path: "/v1/keys"}, s, out)
}

// Keys lists the keys that the client's own may see.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var out struct {
		Keys []Key `json:"keys"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/keys"}, &out)
	return out.Keys, err
}

// Key describes one key; ErrNotFound.
func (c *Client) Key(ctx context.Context, id string) (*Key, error) {
	out := &Key{}
	return out, c.do(ctx, call{method: http.MethodGet, path: keyPath(id)}, out)
}

// RevokeKey revokes a key; ErrNotFound, ErrOutcomeUnknown.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: keyPath(id)}, nil)
}
