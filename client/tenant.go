package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TenantToken is what a tenant token allows: searches of some collections, in each of them only
// among the documents that pass a filter.
type TenantToken struct {
	Filter      string    // as in a [Query]; a search's own filter narrows it further. Default: all documents
	Collections []string  // patterns of names, '*' stands for any text; default: those of the key
	Expires     time.Time // required
}

// SignTenantToken returns a tenant token that the key signs: a JSON Web Token for [Options.Key] and
// for browsers. No server is asked. The token ends with the key. The server checks the filter when
// the token is used.
func SignTenantToken(key string, t TenantToken) (string, error) {
	prefix, rest, _ := strings.Cut(key, "_")
	id, _, ok := strings.Cut(rest, "_")
	if !ok || prefix != "sd" || len(key) <= sha256.BlockSize {
		return "", errors.New("client: tenant token: the key is not one that searchd made")
	}
	if t.Expires.IsZero() {
		return "", errors.New("client: tenant token: Expires: missing, allowed: a time in the future")
	}
	claims := map[string]any{"key": id, "exp": t.Expires.Unix()}
	if t.Filter != "" {
		claims["filter"] = t.Filter
	}
	if t.Collections != nil {
		claims["collections"] = t.Collections
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("client: tenant token: %w", err)
	}
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part(payload)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + part(mac.Sum(nil)), nil
}
