package extract

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCards(t *testing.T) {
	const contacts = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u-1\r\nN:Berg;Anna;;;\r\nFN:Anna Berg\r\nitem1.TEL;TYPE=cell:+49 30 1234\r\nEMAIL;TYPE=\"home:x\":anna@example.org\r\nEMAIL:a@example.org\r\n" +
		"ADR;TYPE=home:;;Lake Road 1;Berlin;;10115;\r\nORG:Harbour\\, Ltd;Boats\r\nTITLE:Captain\r\nNOTE:Likes kay\r\n aks.\\nOwes me 5\\; ask.\r\nCATEGORIES:friends,sea\r\nPHOTO;ENCODING=b:" + "QUJD\r\n" + " QUJD\r\nEND:VCARD\r\n" +
		"BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=\r\n=F6rg\r\nBDAY:1970-01-02\r\nEND:VCARD\r\nBEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n"
	const calendar = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:19700101T000000\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:e1\nSUMMARY:Dentist\nDTSTART:20210304T103000Z\nLOCATION:Mill Lane\n" +
		"ORGANIZER;CN=\"Dr. Tooth\":mailto:t@example.org\nATTENDEE:mailto:me@example.org\nBEGIN:VALARM\nDESCRIPTION:no\nSUMMARY:no\nEND:VALARM\nDESCRIPTION:Bring the card.\nEND:VEVENT\n" +
		"BEGIN:VEVENT\nUID:e1\nRECURRENCE-ID:20210311\nSUMMARY:Again\nDTSTART;VALUE=DATE:20210311\nEND:VEVENT\nBEGIN:VTODO\nSUMMARY:Pay\nDUE;TZID=Nowhere/Known:20210305T100000\nEND:VTODO\nBEGIN:VJOURNAL\nDESCRIPTION:A day"
	for in, want := range map[string]string{contacts: `document u-1 at a.vcf:1: 
{
  "address": [
    "Lake Road 1, Berlin, 10115"
  ],
  "email": [
    "anna@example.org",
    "a@example.org"
  ],
  "job": "Captain",
  "organization": "Harbour, Ltd, Boats",
  "path": "a.vcf",
  "tags": [
    "friends",
    "sea"
  ],
  "tel": [
    "+49 30 1234"
  ],
  "text": "Likes kayaks.
    | Owes me 5; ask.",
  "title": "Anna Berg"
}
document c1f9e9ba45fad1cd261d1e397180ef0f at a.vcf:18: 
{
  "birthday": "1970-01-02",
  "path": "a.vcf",
  "title": "Jörg Müller"
}
fail a.vcf:24: nothing to read between its begin and its end
`, calendar: `document e1 at a.ics:8: 
{
  "attendees": [
    "me@example.org"
  ],
  "date": "2021-03-04T10:30:00Z",
  "location": "Mill Lane",
  "organizer": "Dr. Tooth \u003ct@example.org\u003e",
  "path": "a.ics",
  "text": "Bring the card.",
  "title": "Dentist"
}
document e1/20210311 at a.ics:21: 
{
  "date": "2021-03-11",
  "path": "a.ics",
  "title": "Again"
}
document ID at a.ics:27: 
{
  "date": "2021-03-05",
  "path": "a.ics",
  "title": "Pay"
}
fail a.ics:31: the file ends inside what begins here
`} {
		name := "a.vcf"
		if strings.Contains(in, "VEVENT") {
			name = "a.ics"
		}
		out := readBytes(t, []byte(in), name, Options{})
		for i, d := range out.docs {
			if len(d.ID) == 32 && name == "a.ics" {
				out.docs[i].ID = "ID"
			}
		}
		if got := out.String(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	for in, want := range map[string]string{
		"words":                    "a.vcf: no contacts or appointments in it",
		"BEGIN:VCARD\nFN:\x00\x01": "a.vcf:1: the file ends inside what begins here",
	} {
		if out := readBytes(t, []byte(in), "a.vcf", Options{}); len(out.docs) > 0 || len(out.errors) != 1 || out.errors[0].Error() != want {
			t.Errorf("%q: %v", in, out)
		}
	}
}

// A picture of any length costs linear time, and so do any number of notes and dates.
func TestLongCards(t *testing.T) {
	start := spent()
	for _, line := range []string{" QUJD\n", "QUJD=\n", "BEGIN:VEVENT\n", "\nNOTE:QUJD\n", "\nDTSTART;TZID=Asia/Tokyo:20210304T103000\n"} {
		in := "BEGIN:VCARD\nFN:Anna\nPHOTO;QUOTED-PRINTABLE:=\n" + strings.Repeat(line, 500_000) + "x\nEND:VCARD\n"
		out := readBytes(t, []byte(in), "a.vcf", Options{})
		if len(out.docs) != 1 && line[0] != 'B' {
			t.Errorf("%q: %v", line, out)
		}
	}
	if d := spent() - start; d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

// A comma or semicolon behind a backslash parts no values.
func TestCardEscapes(t *testing.T) {
	in := "BEGIN:VCARD\nN:O\\;Neil;Sha\nORG:Firma \\; Sohn;Labor\nADR:;;12\\; Hof;Bern\nCATEGORIES:a\\,b,c\\\\,d\nEND:VCARD\n"
	out := readBytes(t, []byte(in), "a.vcf", Options{})
	if len(out.docs) != 1 {
		t.Fatalf("%v", out)
	}
	f := out.docs[0].Fields
	if got, want := fmt.Sprintf("%v|%v|%q|%q", f["title"], f["organization"], f["address"], f["tags"]), `Sha O;Neil|Firma ; Sohn, Labor|["12; Hof, Bern"]|["a,b" "c\\" "d"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A parameter is found by its whole name in any case, and what is in quotes belongs to its value.
func TestCardParameters(t *testing.T) {
	in := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Talk\nATTENDEE;X-CN=no;ROLE=CHAIR;CN=\"Doe; John: Jr.\";RSVP=TRUE:mailto:j@example.org\nATTENDEE;X-CN=no:mailto:k@example.org\n" +
		"ORGANIZER;cn=Ann:mailto:a@example.org\nDTSTART;X=\";TZID=Nowhere\";TZID=\"Asia/Tokyo\":20210304T103000\nEND:VEVENT\nEND:VCALENDAR\n"
	out := readBytes(t, []byte(in), "a.ics", Options{})
	if len(out.docs) != 1 {
		t.Fatalf("%v", out)
	}
	f := out.docs[0].Fields
	if got, want := fmt.Sprintf("%q|%v|%v", f["attendees"], f["organizer"], f["date"]), `["Doe; John: Jr. <j@example.org>" "k@example.org"]|Ann <a@example.org>|2021-03-04T01:30:00Z`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is kept of a card has a limit.
func TestCardTooLong(t *testing.T) {
	for _, in := range []string{"NOTE:some words\n", "EMAIL:anna@example.org\n"} {
		in = "BEGIN:VCARD\nFN:Anna\n" + strings.Repeat(in, 20) + "END:VCARD\nBEGIN:VCARD\nFN:Ben\nEND:VCARD\n"
		out := readBytes(t, []byte(in), "a.vcf", Options{MaxText: 100})
		if len(out.docs) != 1 || len(out.errors) != 1 || out.errors[0].Error() != "a.vcf:1: its text is longer than the limit of 100 bytes" {
			t.Errorf("got %v", out)
		}
	}
}

// A line that is too long takes what goes on behind it with it, and nothing else.
func TestCardLineTooLong(t *testing.T) {
	in := "BEGIN:VCARD\nFN:Anna\nNOTE:some\n  words\nPHOTO:" + strings.Repeat("QUJD", 100) + "\n QUJD\n NOTE:no\nNICKNAME:Annie\nEND:VCARD\n"
	out := readBytes(t, []byte(in), "a.vcf", Options{MaxLine: 200})
	if len(out.docs) != 1 || len(out.errors) != 1 || out.docs[0].Fields["text"] != "some words" || out.docs[0].Fields["nickname"] != "Annie" {
		t.Errorf("got %v", out)
	}
}

// What lacks its end costs nothing but itself, and what is open in a card ends with it.
func TestCardWithoutEnd(t *testing.T) {
	for in, want := range map[string]string{
		"BEGIN:VCARD\nFN:A\nBEGIN:VCARD\nFN:B\nEND:VCARD\nBEGIN:VCARD\nFN:C\nEND:VCARD\n":                            `["B" "C"] [a.vcf:1: the next one begins in line 3 inside what begins here]`,
		"BEGIN:VEVENT\nSUMMARY:A\nBEGIN:VALARM\nSUMMARY:no\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:B\nEND:VEVENT\n":       `["A" "B"] []`,
		"BEGIN:VEVENT\nSUMMARY:A\nEND:VALARM\nLOCATION:B\nend:vevent\n":                                              `["A"] []`,
		"BEGIN:VEVENT\nSUMMARY:A\nBEGIN:VALARM\nEND:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:B\nEND:VEVENT\nEND:VCALENDAR\n": `["B"] [a.vcf:1: the next one begins in line 5 inside what begins here]`,
		"BEGIN:VCARD\nFN:A\nAGENT:\nBEGIN:VCARD\nFN:no\nEND:VCARD\nEND:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n":        `["A" "B"] []`,
		"BEGIN:VCARD\nFN:A\nAGENT:B\nBEGIN:VCARD\nFN:C\nEND:VCARD\n":                                                 `["C"] [a.vcf:1: the next one begins in line 4 inside what begins here]`,
		"BEGIN:VCARD\nFN:A\n" + strings.Repeat("BEGIN:X\n", 1000) + "END:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n":      `["A" "B"] []`,
	} {
		out := readBytes(t, []byte(in), "a.vcf", Options{})
		titles := []string{}
		for _, d := range out.docs {
			titles = append(titles, d.Fields["title"].(string))
		}
		if got := fmt.Sprintf("%q %v", titles, out.errors); got != want {
			t.Errorf("%.200q: got %s, want %s", in, got, want)
		}
	}
}

// A property that goes on over more lines than the limit is left out, and told where it would be
// kept.
func TestCardPropertyTooLong(t *testing.T) {
	long := strings.Repeat("\n some words", 40)
	for in, want := range map[string]string{"PHOTO:x": "[]", "X-NOTE:x": "[]", "NOTE:x": "[a.vcf:3: NOTE of more bytes than the limit of 200]"} {
		out := readBytes(t, []byte("BEGIN:VCARD\nFN:Anna\n"+in+long+"\nNICKNAME:Annie\nEND:VCARD\nBEGIN:VCARD\nFN:Ben\nEND:VCARD\n"), "a.vcf", Options{MaxLine: 200})
		if got := fmt.Sprint(out.errors); got != want || len(out.docs) != 2 || out.docs[0].Fields["nickname"] != "Annie" {
			t.Errorf("%s: got %s, want %s; %v", in, got, want, out.docs)
		}
	}
}

func FuzzCards(f *testing.F) {
	f.Add([]byte("BEGIN:VCARD\nN;QUOTED-PRINTABLE;CHARSET=big5:=A4=A4;=\n=41\nEMAIL:a\n b\nATTENDEE;CN=\"x\":mailto:y\nDTSTART;TZID=Europe/Rome:20210304T103000\nEND:VCARD"))
	fuzzReader(f, "in.vcf")
}
