package extract

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"
)

func (x *source) isSavedPage() bool {
	ext := x.Ext()
	return ext == ".mhtml" || ext == ".mht"
}

var errNoPage = errors.New("it has no page")

// savedPage reads a web page saved as one file, with its address: the first part that is HTML.
func (x *source) savedPage(h mail.Header, body io.Reader) (content.Content, error) {
	b, err := firstPage(h, body, x.o.MaxText)
	if err != nil {
		return content.Content{}, x.Reject("not a saved page: %v", err)
	}
	c, err := web.Page(&x.File, b)
	if err != nil {
		return content.Content{}, err
	}
	if c.Title == "" {
		c.Title = headerText(h.Get("Subject"))
	}
	if url := headerText(h.Get("Snapshot-Content-Location")); strings.HasPrefix(url, "http") {
		c.Fields["url"] = url
	}
	return c, nil
}

// firstPage returns the first HTML part of a message, of at most limit bytes.
func firstPage(h mail.Header, body io.Reader, limit int64) ([]byte, error) {
	kind, params, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		parts := multipart.NewReader(body, params["boundary"])
		for kind != "text/html" && kind != "application/xhtml+xml" {
			p, err := parts.NextRawPart()
			if err != nil {
				return nil, errNoPage
			}
			h, body = mail.Header(p.Header), p
			kind, _, _ = mime.ParseMediaType(h.Get("Content-Type"))
		}
	} else if kind != "text/html" {
		return nil, errNoPage
	}
	b, err := io.ReadAll(io.LimitReader(untransferred(h, body), limit+1))
	switch {
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("%w of %d bytes", content.ErrTooLong, limit)
	case err != nil && len(b) == 0:
		return nil, errNoPage
	}
	return b, nil // also where it is cut off
}
