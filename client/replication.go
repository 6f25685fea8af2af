package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Changes asks for what a replica lacks and returns the answer, lines of JSON that the server's package search/wire reads, for the caller to close.
// The server answers as soon as there is something to tell, at the latest after 20 seconds. It needs a key with the scope replication.
func (c *Client) Changes(ctx context.Context, question any) (io.ReadCloser, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	res, err := c.open(ctx, call{method: http.MethodPost, path: "/v1/replication/changes", body: body, effect: reads})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Copy returns a backup of the server, for the caller to close, and the id of its store; the server keeps what changes meanwhile for the
// follower of that name. It needs a key with the scope replication.
func (c *Client) Copy(ctx context.Context, follower string) (body io.ReadCloser, store string, err error) {
	res, err := c.open(ctx, call{method: http.MethodGet, path: "/v1/replication/copy", query: url.Values{"follower": {follower}}})
	if err != nil {
		return nil, "", err
	}
	return res.Body, res.Header.Get("Searchd-Store"), nil
}
