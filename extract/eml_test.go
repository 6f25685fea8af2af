package extract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestEML(t *testing.T) {
	const head = "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nTo: a@example.org,\r\n b@example.org\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\nDate: Mon, 2 Jan 2023 10:00:00 +0100\r\n"
	nested := ""
	for range 200 {
		nested = "Content-Type: message/rfc822\r\n\r\n" + nested
	}
	for _, tt := range []struct{ name, message, text string }{
		{"plain", head + "\r\nHello,\r\n\r\nall is well.\r\n", "Hello,\n\nall is well."},
		{"quoted-printable", head + "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nSch=F6n =\r\nhier.\r\n", "Schön hier."},
		{"base64, of a mailbox", "From j@example.org Mon\n" + head + "Content-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: base64\r\n\r\nU2Now7ZuIGhp\r\nZXIu\r\n", "Schön hier."},
		{"alternatives", head + "Content-Type: multipart/mixed; boundary=A\r\n\r\n--A\r\nContent-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nthe text\r\n" +
			"--B\r\nContent-Type: text/html\r\n\r\n<p>the text</p>\r\n--B--\r\n" +
			"--A\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\n\r\ninner text\r\n--A--\r\n", "the text\n\nInner\n\ninner text"},
		{"HTML only, cut off", head + "Content-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\n \r\n--B\r\nContent-Type: text/html\r\n\r\n<style>x</style><p>One<p>two", "One\n\ntwo"},
		{"picture", head + "Content-Type: image/png\r\n\r\nxxxx\r\n", ""},
		{"deep", head + nested, ""},
		{"bad base64", head + "Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n", ""},
		{"a blank line first", "\r\n" + head + "\r\ntext\r\n", "text"},
		{"lines that are no header", ">From j@example.org\n" + head + "no header\r\n more\r\nX: y\r\n\r\ntext\r\n", "text"},
		{"of before MIME", head + "Content-Type: text\r\n\r\ntext\r\n", "text"},
		{"bytes in a header", strings.Replace(head, "=?iso-8859-1?Q?Gr=FC=DFe?=", "Gr\xfc\xdfe", 1) + "\r\ntext\r\n", "text"},
		{"UTF-8 called ASCII", head + "Content-Type: text/plain; charset=us-ascii\r\n\r\nGrüße\r\n", "Grüße"},
		{"uuencode", head + "\r\nThe file:\r\n\r\nbegin 644 a b.bin\r\nM" + strings.Repeat("86%A", 15) + "\r\n#86%A\r\n`\r\nend\r\n\r\nbegin 644 what I mean\r\nno code\r\nend\r\n", "The file:\n\n\nbegin 644 what I mean\nno code\nend"},
		{"signed in the text", head + "\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA1\r\n\r\nSigned.\r\n-----BEGIN PGP SIGNATURE-----\r\nVersion: 1\r\n\r\niD8DBQFa\r\n-----END PGP SIGNATURE-----\r\n", "Signed."},
		{"digest", head + "Content-Type: multipart/digest; boundary=A\r\n\r\n--A\r\n\r\nFrom: k@example.org\r\nSubject: Inner\r\n\r\ninner text\r\n--A--\r\n", "Inner\n\nFrom: k@example.org\n\ninner text"},
		{"bad type", head + "Content-Type: ;;;\r\n\r\ntext\r\n", "text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(tt.message), "a.eml", Options{})
			if len(out.docs) != 1 || len(out.errors) > 0 {
				t.Fatal(out)
			}
			got, err := json.Marshal(out.docs[0].Fields)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(tt.text)
			if want := `{"date":"2023-01-02T09:00:00Z","from":"Jürgen \u003cj@example.org\u003e","path":"a.eml","text":` + string(text) + `,"title":"Grüße","to":"a@example.org, b@example.org"}`; string(got) != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
	out := readBytes(t, []byte("From: j@example.org\n\nNo subject here\n\ntext\n"), "a.mbox", Options{})
	if len(out.docs) != 1 || out.docs[0].Fields["title"] != "No subject here" || out.docs[0].Fields["text"] != "text" {
		t.Errorf("without a subject: %v", out)
	}
	for _, bad := range []string{"only words", "Key: value\n\ntext", strings.Repeat("x", 100) + "\n\n"} {
		if out := readBytes(t, []byte(bad), "a.eml", Options{}); len(out.docs) > 0 || len(out.errors) != 1 {
			t.Errorf("%q: %v", bad, out)
		}
	}
}

// The names of attachments are found; the picture in a signature, a signature, and the preview that
// HTML hides are not.
func TestAttachments(t *testing.T) {
	const message = "From: a@example.org\nSubject: Invoice\nContent-Type: multipart/mixed; boundary=A\n\n" +
		"--A\nContent-Type: text/html\n\n<div style=\"color:red; Display : none!important\">Preview<div>x</div></div><p>The text.<p style='display:none'>open</p>\n" +
		"--A\nContent-Type: image/png; name=image001.png\nContent-ID: <1>\n\nx\n" +
		"--A\nContent-Type: text/csv; name=x.csv\nContent-Disposition: attachment; filename*=utf-8''Heiz%C3%B6l.csv\n\nx,y\n" +
		"--A\nContent-Type: image/jpeg\nContent-Disposition: attachment; filename=\"=?utf-8?q?Dach_f=C3=BCr.jpg?=\"\n\nx\n" +
		"--A\nContent-Type: application/pdf; name=\"two words.pdf\"\n\nx\n" +
		"--A\nContent-Type: application/pdf; name=\"...\"\n\nx\n" +
		"--A\nContent-Type: application/pgp-signature; name=signature.asc\n\nx\n--A--\n"
	out := readBytes(t, []byte(message), "a.eml", Options{})
	if len(out.docs) != 1 || fmt.Sprint(out.docs[0].Fields["attachments"]) != "[Heizöl.csv Dach für.jpg two words.pdf]" || out.docs[0].Fields["text"] != "The text.\n\nopen" {
		t.Errorf("got %v", out)
	}
	out = readBytes(t, []byte("<body><div style='display:none'>Panel</div>Page"), "a.html", Options{})
	if len(out.docs) != 1 || out.docs[0].Fields["text"] != "Panel\n\nPage" {
		t.Errorf("in a page: %v", out)
	}
	many := readBytes(t, []byte(message[:strings.Index(message, "--A\n")]+strings.Repeat("--A\nContent-Type: application/pdf; name=a.pdf\n\nx\n", 900)+"--A\n\ntext\n--A--\n"), "a.eml", Options{})
	if len(many.docs) != 1 || len(many.docs[0].Fields["attachments"].([]any)) != maxAttachments || many.docs[0].Fields["text"] != "text" {
		t.Errorf("many: %v", many)
	}
}

func FuzzEML(f *testing.F) {
	f.Add([]byte("Subject: =?utf-8?q?x?=\nContent-Type: multipart/mixed; boundary=A\n\n--A\nContent-Type: text/html; charset=big5\nContent-Transfer-Encoding: quoted-printable\n\n<p>x=\n--A--\n"))
	f.Add([]byte(parted("mixed", "Content-Type: text/plain; format=flowed; delsp=yes\n\na \nb", attachedAs("b.csv", "text/csv", "id,t\n1,x\n"), "Content-Type: message/rfc822\n\n"+parted("alternative", "\nx", attachedAs("a.txt", "", "x")))))
	fuzzReader(f, "in.eml")
}
