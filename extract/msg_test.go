package extract

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16LE writes a text in UTF-16.
func inUTF16LE(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// fixedProperties is a stream of properties behind head bytes: ids and values by turns.
func fixedProperties(head int, all ...uint64) string {
	b := make([]byte, head)
	for i := 0; i < len(all); i += 2 {
		b = binary.LittleEndian.AppendUint32(b, uint32(all[i])<<16|3)
		b = binary.LittleEndian.AppendUint32(b, 6)
		b = binary.LittleEndian.AppendUint64(b, all[i+1])
	}
	return string(b)
}

func TestMSG(t *testing.T) {
	const time2023 = 133171236000000000 // 2023-01-02T09:00:00Z
	text := func(path string, id int, s string) []string {
		return []string{fmt.Sprintf("%s__substg1.0_%04X001F", path, id), inUTF16LE(s)}
	}
	bytesOf := func(path string, id int, s string) []string {
		return []string{fmt.Sprintf("%s__substg1.0_%04X0102", path, id), s}
	}
	join := func(all ...[]string) (out []string) {
		for _, a := range all {
			out = append(out, a...)
		}
		return out
	}
	head := join([]string{"__properties_version1.0", fixedProperties(32, msgSubmitted, time2023)}, text("", msgSubject, "Grüße"), text("", msgSenderName, "Jürgen"), text("", msgSenderSMTP, "j@example.org"), text("", msgTo, "Ann"))
	to := join([]string{"__recip_version1.0_#00000000/__properties_version1.0", fixedProperties(8, msgRecipientKind, 1)}, text("__recip_version1.0_#00000000/", msgName, "Ann"), text("__recip_version1.0_#00000000/", msgSMTP, "ann@example.org"))
	file := join([]string{"__attach_version1.0_#00000000/__properties_version1.0", fixedProperties(8)}, text("__attach_version1.0_#00000000/", msgLongName, "b.txt"), bytesOf("__attach_version1.0_#00000000/", msgData, "attached text"))
	const in = "__attach_version1.0_#00000001/__substg1.0_3701000D/"
	inner := join([]string{in + "__properties_version1.0", fixedProperties(24, msgSubmitted, time2023)}, text(in, msgSubject, "Inner"), text(in, msgSenderName, "Bob"), text(in, msgBody, "inner body"),
		text(in+"__attach_version1.0_#00000000/", msgLongName, "deep.csv"), bytesOf(in+"__attach_version1.0_#00000000/", msgData, "id,t\n1,x\n"))
	const from = " Jürgen <j@example.org>"
	rtf := `{\rtf1 Packed {\b text}}`
	packed := string(binary.LittleEndian.AppendUint32(nil, 0)) + string(binary.LittleEndian.AppendUint32(nil, uint32(len(rtf)))) + "LZFu\x00\x00\x00\x00"
	for i := 0; i < len(rtf); i += 8 {
		packed += "\x00" + rtf[i:min(i+8, len(rtf))]
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"plain", oleOf(t, join(head, text("", msgBody, "Hello,\r\n\r\nall is well."), to)...), "a.msg Grüße Hello,\n\nall is well." + from + " Ann <ann@example.org> 2023-01-02T09:00:00Z"},
		{"HTML of a code page", oleOf(t, join([]string{"__properties_version1.0", fixedProperties(32, msgCharset, 1251)}, text("", msgSubject, "S"), bytesOf("", msgHTML, "<p>\xe4\xe0</p>"))...), "a.msg S да"},
		{"strings of a code page", oleOf(t, "__properties_version1.0", fixedProperties(32, msgCodePage, 1251), "__substg1.0_0037001E", "\xcf\xf0", "__substg1.0_1000001E", "\xe4\xe0"), "a.msg Пр да"},
		{"RTF", oleOf(t, join(head, bytesOf("", msgRTF, packed))...), "a.msg Grüße Packed text" + from + " Ann 2023-01-02T09:00:00Z"},
		{"attachments", oleOf(t, join(head, text("", msgBody, "Body"), file, inner)...), "a.msg!/b.txt attached text attached text a.msg; a.msg!/deep.csv#1 a.msg; a.msg Grüße Body\n\nInner\n\nFrom: Bob\nDate: 2023-01-02T09:00:00Z\n\ninner body" + from + " Ann 2023-01-02T09:00:00Z [b.txt deep.csv] [a.msg!/b.txt a.msg!/deep.csv#1]"},
		{"a code page of UTF-8", oleOf(t, "__properties_version1.0", fixedProperties(32, msgCodePage, 65001), "__substg1.0_0037001E", "Grüße", "__substg1.0_1000001E", "schön"), "a.msg Grüße schön"},
		{"HTML as a string", oleOf(t, join(head, text("", msgHTML, "<p>One</p><p>two</p>"))...), "a.msg Grüße One\n\ntwo" + from + " Ann 2023-01-02T09:00:00Z"},
		{"a text beside HTML", oleOf(t, join(head, text("", msgBody, "the text"), bytesOf("", msgHTML, "<p>the text</p>"))...), "a.msg Grüße the text" + from + " Ann 2023-01-02T09:00:00Z"},
		{"no body", oleOf(t, head...), "a.msg Grüße " + from + " Ann 2023-01-02T09:00:00Z"},
		{"no subject", oleOf(t, join([]string{"__properties_version1.0", fixedProperties(32)}, text("", msgBody, "Body"))...), "a.msg Body Body"},
		{"a file without a name", oleOf(t, join(head, text("", msgBody, "Body"), bytesOf("__attach_version1.0_#00000000/", msgData, "attached text"))...), "a.msg!/attachment attached text attached text a.msg; a.msg Grüße Body" + from + " Ann 2023-01-02T09:00:00Z [a.msg!/attachment]"},
		{"an unknown file attached", oleOf(t, join(head, text("", msgBody, "Body"), text("__attach_version1.0_#00000000/", msgLongName, "b.xyz"), bytesOf("__attach_version1.0_#00000000/", msgData, "\x00\x01\x02\xff"))...), "a.msg Grüße Body" + from + " Ann 2023-01-02T09:00:00Z [b.xyz]"},
		{"no message", oleOf(t, "Workbook", "x"), "a.msg: not a message of Outlook: it has no properties"},
		{"no compound file", []byte("words"), "a.msg: not a message of Outlook: damaged compound file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readBytes(t, tt.b, "a.msg", Options{}).ids("title", "text", "from", "to", "date", "attached_to", "attachments", "attachment_ids"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	mail := parted("mixed", "\nbody", attachedAs("old.msg", "application/vnd.ms-outlook", string(oleOf(t, join(head, text("", msgBody, "Body"), file)...))))
	if got, want := readBytes(t, []byte(mail), "a.eml", Options{}).ids("attached_to"), "a.eml!/old.msg!/b.txt a.eml!/old.msg; a.eml!/old.msg a.eml; a.eml"; got != want {
		t.Errorf("in mail: %q, want %q", got, want)
	}
}

// The example of [MS-OXRTFCP], 4.1.
func TestUnpackRTF(t *testing.T) {
	in := "\x2d\x00\x00\x00\x2b\x00\x00\x00\x4c\x5a\x46\x75\xf1\xc5\xc7\xa7\x03\x00\x0a\x00\x72\x63\x70\x67\x31\x32\x35\x42\x32\x0a\xf3\x20\x68\x65\x6c\x09\x00\x20\x62\x77\x05\xb0\x6c\x64\x7d\x0a\x80\x0f\xa0"
	if got, want := string(unpackRTF([]byte(in), 1000)), "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n := range len(in) {
		unpackRTF([]byte(strings.ReplaceAll(in[:n], "\x03", "\xff")), 10)
	}
}

func FuzzMSG(f *testing.F) {
	f.Add(oleOf(f, "__properties_version1.0", fixedProperties(32, msgCodePage, 1251), "__substg1.0_0037001E", "S", "__substg1.0_10090102", "\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\x00\x00\x00\x00\x00{\\rtf1 x}", "__attach_version1.0_#00000000/__substg1.0_37010102", "x", "__attach_version1.0_#00000000/__substg1.0_3707001F", inUTF16LE("a.txt")))
	fuzzReader(f, "in.msg")
}
