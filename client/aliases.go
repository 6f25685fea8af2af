package client

import (
	"context"
	"net/http"
	"net/url"
)

// Alias is a second name of a collection, which every request takes in the place of its own.
type Alias struct {
	Alias      string `json:"alias"`
	Collection string `json:"collection"`
}

func aliasPath(alias string) string { return "/v1/aliases/" + url.PathEscape(alias) }

// Aliases lists the aliases.
func (c *Client) Aliases(ctx context.Context) ([]Alias, error) {
	var out struct {
		Aliases []Alias `json:"aliases"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/aliases"}, &out)
	return out.Aliases, err
}

// SetAlias makes an alias, or lets it lead to another collection from one request to the next;
// ErrNotFound, ErrExists where a collection has that name.
func (c *Client) SetAlias(ctx context.Context, alias, collection string) error {
	body := map[string]string{"collection": collection}
	return c.send(ctx, call{method: http.MethodPut, path: aliasPath(alias), effect: repeats}, body, nil)
}

// DeleteAlias deletes an alias, and nothing of the collection; ErrNotFound, ErrOutcomeUnknown.
func (c *Client) DeleteAlias(ctx context.Context, alias string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: aliasPath(alias)}, nil)
}
