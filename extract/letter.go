package extract

import (
	"bytes"
	"net/mail"

	"example.com/searchd/extract/content"
)

// plainKinds are the types that old and careless programs give to plain text.
var plainKinds = map[string]bool{"text": true, "plain": true, "txt": true, "text/txt": true, "text/text": true, "application/plain": true, "application/text": true, "application/txt": true}

// isLetter reports whether a file begins with the head of a message.
func isLetter(b []byte) bool {
	if !headerLine.Match(b) || !content.IsText(b[:min(len(b), 4096)]) {
		return false
	}
	h, _, err := parseMessage(bytes.NewReader(b))
	return err == nil && hasMailHeader(h)
}

// hasMailHeader reports whether a head is one of a message: mailing lists and programs leave out
// even From, Subject and Date.
func hasMailHeader(h mail.Header) bool {
	for _, name := range []string{"From", "Subject", "Date", "Received", "Return-Path", "Message-Id", "Mime-Version", "Content-Type"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}
