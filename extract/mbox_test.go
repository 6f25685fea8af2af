package extract

import (
	"fmt"
	"strings"
	"testing"
)

func TestMailbox(t *testing.T) {
	const envelope = "From j@example.org Mon Jan  2 10:00:00 2023\n"
	one := envelope + "From: j@example.org\nSubject: One\nMessage-ID: <1@example.org>\n\nDear all,\n\nFrom here on it is easy.\n>From me, 10:00.\n>>From him\n\n"
	box := one +
		"From - Tue Jan  3 10:00:00 2023\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMessage-ID: <2@example.org>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nschön\r\n\r\n" +
		envelope + "Subject: Three\n\nsch\xf6n\n\n" +
		envelope + "no message\n\n" +
		envelope + ">From somebody Mon\nSubject: Four\nContent-Type: text\nMessage-ID: <" + strings.Repeat("4", maxID+1) + ">\n\nfour, without an end"
	want := "1@example.org:1:One:Dear all,\n\nFrom here on it is easy.\nFrom me, 10:00.\n>From him|2@example.org:12:Grüße:schön|:19:Three:schön|:27:Four:four, without an end|"
	for _, name := range []string{"in.mbox", "Inbox"} {
		t.Run(name, func(t *testing.T) {
			out := readBytes(t, []byte(box), name, Options{})
			got := ""
			for _, d := range out.docs {
				if len(d.ID) == 32 { // a hash
					d.ID = ""
				}
				got += fmt.Sprintf("%s:%d:%s:%s|", d.ID, d.Line, d.Fields["title"], d.Fields["text"])
			}
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if e := out.errors; len(e) != 2 || e[0].Line != 19 || !e[0].Warning || e[1].Line != 24 || e[1].Warning {
				t.Errorf("errors %v", e)
			}
		})
	}
	// What ends without a blank line ends where the date of the next one is as mail programs write
	// it.
	box = strings.TrimRight(one, "\n") + "\nFrom all of us at 10:00, 2023\n" + strings.Replace(one, "<1@", "<2@", 1) + "bye\n" +
		"From - Mon Jan 02 10:00:00 +0000 2023\r\nSubject: Three\r\nMessage-ID: <3@example.org>\r\n\r\nend\r\n"
	ids := ""
	for _, d := range readBytes(t, []byte(box), "a.mbox", Options{}).docs {
		ids += fmt.Sprintf("%s:%d ", d.ID, d.Line)
	}
	if ids != "1@example.org:1 2@example.org:12 3@example.org:24 " {
		t.Errorf("without blank lines: %s", ids)
	}
	// A line of text is no envelope, though it has a time and a year; nor is the first line of a
	// text.
	const text = "From 10:30 on 5 May 2024 it is open.\nBring cake."
	box = "From an exporter, 2 Jan 10:00 2023\nMessage-ID: <1@example.org>\nSubject: One\n\nDear all,\n\n" + text + "\n\nFrom - 2023-01-02 10:00:00 (year 2023)\nSubject: Two\nMessage-ID: <2@example.org>\n\nbye\n"
	out := readBytes(t, []byte(box), "a.mbox", Options{})
	if len(out.docs) != 2 || out.docs[0].Fields["text"] != "Dear all,\n\n"+text || out.docs[1].ID != "2@example.org" || len(out.errors) > 0 {
		t.Error(out)
	}
	if out = readBytes(t, []byte(text), "hours", Options{}); len(out.docs) != 1 || out.docs[0].ID != "hours" || out.docs[0].Fields["text"] != text {
		t.Error(out)
	}
	// What Thunderbird has deleted or moved stays in the file until that is compacted.
	box = ""
	for id, status := range []string{"0009", "0001", "8009", "", "none"} {
		box += fmt.Sprintf("%sX-Mozilla-Status: %s\nX-Mozilla-Status2: 00000000\nSubject: One\nMessage-ID: <%d>\n\ntext\n\n", envelope, status, id)
	}
	ids = ""
	out = readBytes(t, []byte(box), "Inbox", Options{})
	for _, d := range out.docs {
		ids += d.ID + " "
	}
	if ids != "1 3 4 " || len(out.errors) > 0 {
		t.Errorf("with deleted messages: %s", out)
	}
	// A message beyond the limit costs no other.
	out = readBytes(t, []byte(envelope+"Subject: Long\n\n"+strings.Repeat("x", 1000)+"\n\n"+one), "a.mbox", Options{MaxFile: 500})
	if len(out.docs) != 1 || out.docs[0].ID != "1@example.org" || len(out.errors) != 1 || out.errors[0].Line != 1 {
		t.Error(out)
	}
	// One message that was saved with its envelope is a file like others.
	out = readBytes(t, []byte(one), "a.eml", Options{})
	if len(out.docs) != 1 || out.docs[0].ID != "a.eml" {
		t.Error(out)
	}
	if out = readBytes(t, []byte("From Monday to Friday\n\nat home"), "days", Options{}); len(out.docs) != 1 || out.docs[0].ID != "days" {
		t.Error(out)
	}
}

func FuzzMailbox(f *testing.F) {
	f.Add([]byte("From a Mon Jan  2 10:00:00 2023\nSubject: x\n\n>From\n\nFrom a Mon Jan  2 10:00:00 2023\r\nSubject: y\r\n\r\n"))
	fuzzReader(f, "in.mbox")
}
