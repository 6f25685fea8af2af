package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// anyOrigin among the origins means all of them.
const anyOrigin = "*"

// checkOrigin refuses what is not "*" or the origin of a page as browsers send it, e.g.
// "https://app.example.com:8443".
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if origin != anyOrigin && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(u.Host, "*?") || origin != u.Scheme+"://"+u.Host || origin != strings.ToLower(origin)) {
		return fmt.Errorf("CORSOrigins: got %.100q, allowed: *, or scheme://host[:port] in lower case", origin)
	}
	return nil
}

// cors answers browsers whether pages of other origins may read answers and send keys; credentials
// of the browser's own never travel.
func (s *Server) cors() echo.MiddlewareFunc {
	return middleware.CORSWithConfig(middleware.CORSConfig{
		AllowOrigins:  s.o.CORSOrigins,
		AllowMethods:  []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
		AllowHeaders:  []string{"Authorization", "X-Api-Key", "Api-Key", "Content-Type", "Content-Encoding", "If-Match", "If-None-Match", "Idempotency-Key", "X-Request-ID", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"},
		ExposeHeaders: []string{"ETag", "Location", "Retry-After", "Idempotent-Replayed", "WWW-Authenticate", "X-Request-ID", "X-Compute-Tokens", "X-Truncated-Inputs"},
		MaxAge:        600,
	})
}

// trustsAll reports whether pages of all origins may send requests.
func (s *Server) trustsAll() bool { return slices.Contains(s.o.CORSOrigins, anyOrigin) }
