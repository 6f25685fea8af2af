package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"searchd/api/ui"
)

// pageCSP lets the page load from this server alone, and run no script that is not one of its files.
const pageCSP = "default-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// page answers the web page at / and its files under /ui/.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutPrefix(r.URL.Path, "/ui/")
	if !ok {
		name = "index.html"
	}
	data, err := fs.ReadFile(ui.Files, name) // a name outside the embedded folder is not valid in an fs.FS
	if err != nil {
		return errNoRoute
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Security-Policy", pageCSP)
	h.Set("Cache-Control", "no-cache")
	sum := sha256.Sum256(data)
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return nil
}
