package client

import (
	"context"
	"net/http"
)

// Shard says how a shard of the server is.
type Shard struct {
	Name       string `json:"name"`
	Up         bool   `json:"up"`              // it answers; else the numbers are 0
	Error      string `json:"error,omitempty"` // why it does not, or that another server writes to it
	ReadOnly   bool   `json:"read_only"`       // it takes no writes until its next start
	Documents  int    `json:"documents"`       // of all collections
	StoreBytes int64  `json:"store_bytes"`
}

// Shards says how the server's shards are, in their order; none where it keeps its documents itself.
func (c *Client) Shards(ctx context.Context) ([]Shard, error) {
	var out struct {
		Shards []Shard `json:"shards"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/shards"}, &out)
	return out.Shards, err
}
