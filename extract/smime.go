package extract

import (
	"bytes"
	"io"
	"net/mail"
	"strings"
)

// isSMIME reports whether a part is signed or encrypted as a whole by S/MIME (RFC 8551).
func isSMIME(kind, name string) bool {
	return kind == "application/pkcs7-mime" || kind == "application/x-pkcs7-mime" || strings.HasSuffix(strings.ToLower(name), ".p7m")
}

// enveloped returns the text of a part of S/MIME: that of the signed message inside. One that is
// encrypted has none, which is reported.
func (r *mailReader) enveloped(h mail.Header, body io.Reader, depth int) (string, error) {
	b, err := io.ReadAll(io.LimitReader(untransferred(h, body), r.x.o.MaxText))
	if err != nil && len(b) == 0 {
		return "", nil
	}
	inner, ok := signedContent(b)
	if !ok {
		return "", r.sealed("S/MIME")
	}
	h, body, err = parseMessage(bytes.NewReader(inner))
	if err != nil {
		return "", nil
	}
	return r.part(h, body, depth+1)
}

// sealed reports once that a message is encrypted.
func (r *mailReader) sealed(by string) error {
	if r.encrypted {
		return nil
	}
	r.encrypted = true
	return r.x.Warnf(r.line, "encrypted by %s; it is found by its subject, addresses and date alone", by)
}

// oidSigned is the object identifier of signed-data (RFC 5652), encoded.
const oidSigned = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"

// signedContent returns what a CMS message of type signed-data holds; false for other types.
func signedContent(b []byte) ([]byte, bool) {
	info, ok := berChildren(b, 0) // ContentInfo
	if !ok || len(info.parts) < 2 || string(info.parts[0].bytes) != oidSigned || len(info.parts[1].parts) < 1 {
		return nil, false
	}
	for _, part := range info.parts[1].parts[0].parts { // of SignedData: version, algorithms, content
		if part.tag == 0x30 && len(part.parts) == 2 && part.parts[0].tag == 6 {
			return part.parts[1].octets(nil), true
		}
	}
	return nil, false
}

// ber is a value of ASN.1 in the Basic Encoding Rules.
type ber struct {
	tag   byte
	bytes []byte // of a primitive value
	parts []ber  // of a constructed one
	size  int    // in bytes, with its head
}

// maxBERDepth is how deep values are read.
const maxBERDepth = 16

// berChildren reads a value and those inside it.
func berChildren(b []byte, depth int) (v ber, ok bool) {
	if len(b) < 2 || depth > maxBERDepth {
		return v, false
	}
	v.tag = b[0]
	length, at := int(b[1]), 2
	endless := b[1] == 0x80
	if n := int(b[1] & 0x7f); b[1] > 0x80 {
		if n > 4 || len(b) < 2+n {
			return v, false
		}
		length = 0
		for _, c := range b[2 : 2+n] {
			length = length<<8 | int(c)
		}
		at += n
	}
	end := len(b)
	if !endless {
		end = min(end, at+length) // a file that is cut off still shows its front
	}
	if v.tag&0x20 == 0 {
		v.bytes, v.size = b[at:end], end
		return v, !endless
	}
	for at < end {
		if endless && end-at >= 2 && b[at] == 0 && b[at+1] == 0 {
			at += 2
			break
		}
		part, ok := berChildren(b[at:end], depth+1)
		if !ok {
			break
		}
		v.parts = append(v.parts, part)
		at += part.size
	}
	if v.size = end; endless {
		v.size = at
	}
	return v, true
}

// octets appends the bytes of a value, which may come in parts.
func (v ber) octets(to []byte) []byte {
	to = append(to, v.bytes...)
	for _, part := range v.parts {
		to = part.octets(to)
	}
	return to
}
