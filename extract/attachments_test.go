package extract

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

const mailTop = "From: a@example.org\nSubject: S\nMessage-ID: <1@example.org>\n"

// parted returns a message of parts.
func parted(kind string, parts ...string) string {
	return mailTop + "Content-Type: multipart/" + kind + "; boundary=A\n\n--A\n" + strings.Join(parts, "\n--A\n") + "\n--A--\n"
}

func attachedAs(name, kind, body string) string {
	return "Content-Type: " + kind + "\nContent-Disposition: attachment; filename=\"" + name + "\"\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(body))
}

// ids lists the documents: id, and what is told of each.
func (o outcome) ids(fields ...string) string {
	var all []string
	for _, d := range o.docs {
		s := d.ID
		for _, f := range fields {
			if v := d.Fields[f]; v != nil {
				s += fmt.Sprintf(" %v", v)
			}
		}
		all = append(all, s)
	}
	for _, e := range o.errors {
		all = append(all, e.Error())
	}
	return strings.Join(all, "; ")
}

// Attachments are documents of their own, which name the message, and which the message names.
func TestAttachmentDocuments(t *testing.T) {
	const csv = "id,text\n1,rent\n2,water\n"
	long := strings.Repeat("n", 300) + ".txt"
	forwarded := "From: inner@example.org\nTo: me@example.org\nDate: Tue, 3 Jan 2023 10:00:00 +0100\nSubject: Inner\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nbody\n--B\n" + attachedAs("deep.txt", "text/plain", "deep text") + "\n--B--\n"
	invitation := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u1\nSUMMARY:Meeting\nLOCATION:Room 5\nEND:VEVENT\nEND:VCALENDAR\n"
	many := make([]string, 102)
	for i := range many {
		many[i] = attachedAs("a.txt", "text/plain", fmt.Sprint("word ", i))
	}
	for _, tt := range []struct{ name, file, in, want string }{
		{"a text", "a.eml", parted("mixed", "\nbody", attachedAs("b.txt", "text/plain", "attached text")), "a.eml!/b.txt a.eml attached text; a.eml [b.txt] [a.eml!/b.txt] body"},
		{"no body", "a.eml", mailTop + attachedAs("b.txt", "text/plain", "attached text"), "a.eml!/b.txt a.eml attached text; a.eml [b.txt] [a.eml!/b.txt] "},
		{"neither body nor subject", "a.eml", "From: a@example.org\n" + attachedAs("b.bin", "application/octet-stream", "\x00"), "a.eml [b.bin] "},
		{"records", "a.eml", parted("mixed", "\nbody", attachedAs("b.csv", "text/csv", csv)), "a.eml!/b.csv#1 a.eml rent; a.eml!/b.csv#2 a.eml water; a.eml [b.csv] [a.eml!/b.csv#1 a.eml!/b.csv#2] body"},
		{"in a mailbox", "a.mbox", "From - Mon Jan  5 10:00:00 2026\n" + parted("mixed", "\nbody", attachedAs("b.txt", "text/plain", "attached text")),
			"1@example.org!/b.txt 1@example.org attached text; 1@example.org [b.txt] [1@example.org!/b.txt] body"},
		{"two of one name", "a.eml", parted("mixed", "\nbody", attachedAs("b.txt", "text/plain", "one"), attachedAs("b.txt", "text/plain", "two")),
			"a.eml!/b.txt a.eml one; a.eml!/b (2).txt a.eml two; a.eml [b.txt b.txt] [a.eml!/b.txt a.eml!/b (2).txt] body"},
		{"a path for a name", "a.eml", parted("mixed", "\nbody", attachedAs(`C:/x/../b.txt`, "text/plain", "one")), "a.eml!/b.txt a.eml one; a.eml [C:/x/../b.txt] [a.eml!/b.txt] body"},
		{"no name", "a.eml", parted("mixed", "\nbody", "Content-Type: text/csv\n\nid,text\n1,x\n", "Content-Type: application/x-unknown\n\nx", "Content-Type: text/x-amp-html\n\n<p>x"),
			"a.eml!/attachment.csv#1 a.eml x; a.eml [a.eml!/attachment.csv#1] body"},
		{"a name that is too long", "a.eml", parted("mixed", "\nbody", attachedAs(long, "text/plain", "one")), "a.eml!/attachment.txt a.eml one; a.eml [a.eml!/attachment.txt] body"},
		{"an extension that says nothing", "a.eml", parted("mixed", "\nbody", attachedAs("report", "text/html", "<p>one")), "a.eml!/report.html a.eml one; a.eml [report] [a.eml!/report.html] body"},
		{"cannot be read", "a.eml", parted("mixed", "\nbody", attachedAs("b.docx", "x/y", "no archive"), attachedAs("c.exe", "x/y", "MZ\x00")),
			`a.eml [b.docx c.exe] body; a.eml: warning: attachment "b.docx": not a Word document: zip: not a valid zip file`},
		{"a forwarded message", "a.eml", parted("mixed", "\nbody", "Content-Type: message/rfc822\n\n"+forwarded),
			"a.eml!/deep.txt a.eml deep text; a.eml [deep.txt] [a.eml!/deep.txt] body\n\nInner\n\nFrom: inner@example.org\nTo: me@example.org\nDate: Tue, 3 Jan 2023 10:00:00 +0100\n\nbody"},
		{"a message as a file", "a.eml", parted("mixed", "\nbody", attachedAs("Old.EML", "application/octet-stream", "From: inner@example.org\nSubject: Inner\n\ntext")),
			"a.eml body\n\nInner\n\nFrom: inner@example.org\n\ntext"},
		{"an invitation", "a.eml", parted("mixed", "Content-Type: multipart/alternative; boundary=B\n\n--B\n\nbody\n--B\nContent-Type: text/calendar; method=REQUEST\n\n"+invitation+"\n--B--", attachedAs("invite.ics", "application/ics", invitation)),
			"a.eml!/attachment.ics#u1 a.eml; a.eml [invite.ics] [a.eml!/attachment.ics#u1] body"},
		{"more than may be", "a.eml", parted("mixed", append([]string{"\nbody"}, many...)...), "*a.eml: warning: more than 100 attachments; the others are not read"},
		{"one that a mailbox has no more", "a.mbox", "From - Mon Jan  5 10:00:00 2026\nX-Mozilla-Status: 0009\n" + parted("mixed", "\nbody", attachedAs("b.txt", "text/plain", "attached text")), ""},
		{"base64 with other bytes", "a.eml", mailTop + "Content-Transfer-Encoding: base64\n\nU2No*w7Zu\n!\nIGhpZXIu", "a.eml Schön hier."},
		{"quoted-printable with faults", "a.eml", mailTop + "Content-Transfer-Encoding: quoted-printable\n\na=b 100=25 =C3=B6 =\nmore=  \n, =3D=\r\n end=", "a.eml a=b 100% ö more, = end="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readBytes(t, []byte(tt.in), tt.file, Options{}).ids("attached_to", "attachments", "attachment_ids", "text")
			if end, ok := strings.CutPrefix(tt.want, "*"); got != tt.want && !(ok && strings.HasSuffix(got, end)) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// What a message says twice is read once, and what only one of the alternatives says is not lost.
func TestAlternatives(t *testing.T) {
	const stub = "Your program does not show HTML. Open this newsletter in a browser: https://example.org/view"
	const html = "Content-Type: text/html\n\n<p>Potatoes are two euros a kilo this week, and carrots are cheaper than ever before."
	flowed := func(params, text string) string {
		return mailTop + "Content-Type: text/plain; format=flowed" + params + "\n\n" + text
	}
	for _, tt := range []struct{ name, in, want string }{
		{"a stub", parted("alternative", "\n"+stub, html), "a.eml Potatoes are two euros a kilo this week, and carrots are cheaper than ever before."},
		{"a stub with pictures", parted("alternative", "\n"+stub, "Content-Type: multipart/related; boundary=B\n\n--B\n"+html+"\n--B\nContent-Type: image/png\n\nx\n--B--"), "a.eml Potatoes are two euros a kilo this week, and carrots are cheaper than ever before."},
		{"the same", parted("alternative", "\nPotatoes: two euros a kilo this week; carrots are cheaper than ever before.", html), "a.eml Potatoes: two euros a kilo this week; carrots are cheaper than ever before."},
		{"HTML that is a stub", parted("alternative", "\nPotatoes are two euros a kilo this week.", "Content-Type: text/html\n\n<p>See plain text"), "a.eml See plain text\n\nPotatoes are two euros a kilo this week."},
		{"HTML without text", parted("alternative", "\n"+stub, "Content-Type: text/html\n\n<img src=x>"), "a.eml " + stub},
		{"the best of several", parted("alternative", "\n"+stub, "Content-Type: text/html\n\n<p>first", html), "a.eml Potatoes are two euros a kilo this week, and carrots are cheaper than ever before."},
		{"flowed", flowed("", "one \ntwo\n  three\n> quoted \n> more\n>> deeper\n-- \nname \n"), "a.eml one two\n three\n> quoted more\n>> deeper\n-- \nname"},
		{"flowed without spaces", flowed("; delsp=yes", "日本 \n語 \n\nend"), "a.eml 日本語\nend"},
		{"enriched", mailTop + "Content-Type: text/enriched\n\n<bold>Now</bold> is the time", "a.eml Now is the time"},
		{"another kind of text", parted("mixed", "\nbody", "Content-Type: text/rfc822-headers\n\nSubject: Lost"), "a.eml body\n\nSubject: Lost"},
		{"a report", parted("report", "\nbounced", "Content-Type: message/delivery-status\n\nFinal-Recipient: rfc822; b@example.org\nStatus: 5.1.1"), "a.eml bounced\n\nFinal-Recipient: rfc822; b@example.org\nStatus: 5.1.1"},
		{"a stub in another script", parted("alternative", "\nご利用のソフトではHTMLを表示できません。", "Content-Type: text/html; charset=utf-8\n\n<p>ご注文の商品は本日発送されました。追跡番号はZX81です。金曜日に届きます。"), "a.eml ご注文の商品は本日発送されました。追跡番号はZX81です。金曜日に届きます。"},
		{"a link for a stub", parted("alternative", "\nhttps://example.org/view?id=1", html), "a.eml Potatoes are two euros a kilo this week, and carrots are cheaper than ever before."},
		{"a boundary with spaces", mailTop + "Content-Type: multipart/mixed; boundary=A B\n\n--A B\nContent-Type: text/plain\n\none\n--A B--", `a.eml one; a.eml: warning: the boundary of its parts is not the one that its head names; read by "A B", which is there`},
		{"a wrong boundary inside", parted("mixed", "Content-Type: multipart/alternative; boundary=B\n\n--C\nContent-Type: text/plain\n\none\n--C--"), `a.eml one; a.eml: warning: the boundary of its parts is not the one that its head names; read by "C", which is there`},
		{"cut off", mailTop + "Content-Type: multipart/mixed; boundary=A\n\n--A\n\none", "a.eml one"},
		{"not flowed", mailTop + "\none \ntwo", "a.eml one \ntwo"},
		{"another boundary", strings.ReplaceAll(parted("mixed", "Content-Type: text/plain\n\none", "Content-Type: text/plain\n\ntwo"), "--A", "--=_B"),
			`a.eml one` + "\n\n" + `two; a.eml: warning: the boundary of its parts is not the one that its head names; read by "=_B", which is there`},
		{"no boundary", mailTop + "Content-Type: multipart/mixed\n\n--B\nContent-Type: text/plain\n\none\n--B--", `a.eml one; a.eml: warning: the boundary of its parts is not the one that its head names; read by "B", which is there`},
		{"no parts", mailTop + "Content-Type: multipart/mixed; boundary=A\n\nwords", `a.eml words; a.eml: warning: no part begins with the boundary "A" that its head names; read as one text`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readBytes(t, []byte(tt.in), "a.eml", Options{}).ids("text"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
