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
	"sync"
	"time"

	"example.com/searchd/api/reference"
	"example.com/searchd/api/ui"
)

// pageCSP allows the page to load only its own files.
const pageCSP = "default-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// page serves the web page at / and its files under /ui/.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutPrefix(r.URL.Path, "/ui/")
	if !ok {
		name = "index.html"
	}
	data, err := fs.ReadFile(ui.Files, name) // a name outside the embedded folder is not valid in an fs.FS
	if err != nil {
		return errNoRoute
	}
	serveFile(w, r, name, data)
	return nil
}

// apiReference is the page of the REST API, rendered on first use.
var apiReference = sync.OnceValues(func() ([]byte, error) {
	d, err := reference.Parse(openAPI)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = d.Render(&b)
	return b.Bytes(), err
})

// docs serves the page of the REST API.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) error {
	data, err := apiReference()
	if err != nil {
		return err
	}
	serveFile(w, r, "docs.html", data)
	return nil
}

// serveFile sends a file of the page, or 304.
func serveFile(w http.ResponseWriter, r *http.Request, name string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Security-Policy", pageCSP)
	h.Set("Cache-Control", "no-cache")
	sum := sha256.Sum256(data)
	h.Set("ETag", `W/"`+hex.EncodeToString(sum[:8])+`"`) // weak: it may be sent compressed
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
