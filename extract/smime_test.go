package extract

import (
	"encoding/base64"
	"strings"
	"testing"
)

// der encodes a value of ASN.1; endless ones end with a mark instead of having a length.
func der(endless bool, tag byte, parts ...string) string {
	s := strings.Join(parts, "")
	switch {
	case endless && tag&0x20 != 0:
		return string([]byte{tag, 0x80}) + s + "\x00\x00"
	case len(s) < 128:
		return string([]byte{tag, byte(len(s))}) + s
	}
	return string([]byte{tag, 0x82, byte(len(s) >> 8), byte(len(s))}) + s
}

// Messages signed as a whole are read; of encrypted ones the report says so.
func TestSMIME(t *testing.T) {
	const head = "Subject: Sealed\nMIME-Version: 1.0\n"
	const oidData = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
	signed := func(endless bool, tag byte, inner ...string) string {
		octets := der(false, 4, inner...)
		if tag == 0x24 {
			octets = ""
			for _, s := range inner {
				octets += der(false, 4, s)
			}
			octets = der(endless, 0x24, octets)
		}
		data := der(endless, 0x30, der(false, 6, oidData), der(endless, 0xa0, octets))
		return der(endless, 0x30, der(false, 6, oidSigned), der(endless, 0xa0, der(endless, 0x30, der(false, 2, "\x01"), der(false, 0x31), data, der(false, 0x31))))
	}
	whole := func(b string) string {
		return head + "Content-Type: application/pkcs7-mime; name=\"smime.p7m\"\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(b)) + "\n"
	}
	inner := "Content-Type: text/plain\n\nThe rent is due.\n"
	html := "Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/html\n\n<p>The rent\n--B\nContent-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\n_id,text\n1,water\n--B--\n"
	sealed := func(by string) string {
		return "a.eml ; a.eml: warning: encrypted by " + by + "; it is found by its subject, addresses and date alone"
	}
	enveloped := der(false, 0x30, der(false, 6, "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03"), der(false, 0xa0, der(false, 0x30, "\x02\x01\x00")))
	const armor = "-----BEGIN PGP MESSAGE-----\n\nabcd\n-----END PGP MESSAGE-----\n"
	for name, tt := range map[string]struct{ in, want string }{
		"signed":              {whole(signed(false, 4, inner)), "a.eml The rent is due."},
		"of unknown length":   {whole(signed(true, 0x24, inner[:20], inner[20:])), "a.eml The rent is due."},
		"in parts":            {whole(signed(false, 0x24, inner[:20], inner[20:])), "a.eml The rent is due."},
		"attached":            {strings.Replace(whole(signed(false, 4, inner)), "\n\n", "\nContent-Disposition: attachment; filename=smime.p7m\n\n", 1), "a.eml The rent is due."},
		"by its name":         {strings.Replace(whole(signed(false, 4, inner)), "pkcs7-mime", "octet-stream", 1), "a.eml The rent is due."},
		"with an attachment":  {whole(signed(false, 4, html)), "a.eml!/a.csv#1 water; a.eml The rent"},
		"signed twice":        {whole(signed(false, 4, strings.TrimPrefix(whole(signed(true, 0x24, inner)), head))), "a.eml The rent is due."},
		"encrypted":           {whole(enveloped), sealed("S/MIME")},
		"damaged":             {whole("\x30\x80\x06"), sealed("S/MIME")},
		"PGP":                 {head + "Content-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=B\n\n--B\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--B\nContent-Type: application/octet-stream; name=\"m.asc\"\n\n" + armor + "--B--\n", sealed("PGP")},
		"PGP in the text":     {head + "\n" + armor, sealed("PGP")},
		"text of other names": {head + "Content-Type: application/plain; charset=utf-8\n\nGrüße\n", "a.eml Grüße"},
		"text/txt":            {head + "Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/txt\n\nWords\n--B--\n", "a.eml Words"},
		"news":                {head + "Content-Type: message/news\n\nFrom: ann@example.org\nNewsgroups: a.b\n\nWords\n", "a.eml From: ann@example.org\n\nWords"},
		"an abuse report":     {head + "Content-Type: message/feedback-report\n\nFeedback-Type: abuse\n", "a.eml Feedback-Type: abuse"},
		"the first piece":     {head + "Content-Type: message/partial; id=\"x\"; number=1; total=2\n\nSubject: Whole\n\nWords\n", "a.eml Whole\n\nWords; a.eml: warning: part 1 of a message that was sent in pieces; of others than the first nothing is read"},
		"the second piece":    {head + "Content-Type: message/partial; id=\"x\"; number=2\n\nd29yZHM=\n", "a.eml ; a.eml: warning: part 2 of a message that was sent in pieces; of others than the first nothing is read"},
		"of a program":        {"MIME-Version: 1.0\nContent-Type: text/html\n\n<p>Words\n", "a.eml Words"},
		"of a list":           {"Received: from x by y\nTo: list@example.org\n\nWords\n", "a.eml Words"},
	} {
		if got := readBytes(t, []byte(tt.in), "a.eml", Options{}).ids("text"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	nested := inner
	for range 40 {
		nested = strings.TrimPrefix(whole(signed(false, 4, nested)), head)
	}
	if out := readBytes(t, []byte(head+nested), "a.eml", Options{}); len(out.docs) != 1 {
		t.Errorf("nested: %v", out)
	}
}

func FuzzSignedContent(f *testing.F) {
	f.Add([]byte("\x30\x80\x06\x09" + oidSigned + "\xa0\x80\x30\x80\x02\x01\x01\x31\x00\x30\x80\x06\x01\x01\xa0\x80\x24\x80\x04\x01x\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x30\x84\xff\xff\xff\xff\x06"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, _ := signedContent(b); len(s) > len(b) {
			t.Errorf("%d bytes in a message of %d", len(s), len(b))
		}
	})
}
