package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// anyOrigin allows all origins.
const anyOrigin = "*"

// checkOrigin accepts "*" or an origin as browsers send it, e.g. "https://app.example.com:8443".
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if origin != anyOrigin && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(u.Host, "*?") || origin != u.Scheme+"://"+u.Host || origin != strings.ToLower(origin)) {
		return fmt.Errorf("CORSOrigins: got %.100q, allowed: *, or scheme://host[:port] in lower case", origin)
	}
	return nil
}

// cors allows pages of other origins to read answers and send keys, but no cookies.
func (s *Server) cors() echo.MiddlewareFunc {
	return middleware.CORSWithConfig(middleware.CORSConfig{
		AllowOrigins:  s.o.CORSOrigins,
		AllowMethods:  []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
		AllowHeaders:  []string{"Authorization", "X-Api-Key", "Api-Key", "Content-Type", "Content-Encoding", "If-Match", "If-None-Match", "Idempotency-Key", "X-Request-ID", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Meilisearch-Client"},
		ExposeHeaders: []string{"ETag", "Location", "Retry-After", "Idempotent-Replayed", "WWW-Authenticate", "X-Request-ID", "X-Compute-Tokens", "X-Truncated-Inputs", "Documents-Count"},
		MaxAge:        600,
	})
}

func (s *Server) trustsAll() bool { return slices.Contains(s.o.CORSOrigins, anyOrigin) }
