package content

import (
	"fmt"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
)

// CodePage decodes a string of a Windows code page, up to a NUL.
func CodePage(b []byte, page int) string {
	for i, c := range b {
		if c == 0 && page != 1200 {
			b = b[:i]
			break
		}
	}
	label := Charsets[page]
	switch {
	case page == 1200:
		label = "utf-16le"
	case page == 20127: // ASCII
		label = "utf-8"
	case page == 20866:
		label = "koi8-r"
	case page == 21866:
		label = "koi8-u"
	case page > 28590 && page < 28606:
		label = fmt.Sprintf("iso-8859-%d", page-28590)
	case page == 50220, page == 50221, page == 50222:
		label = "iso-2022-jp"
	case page == 51932:
		label = "euc-jp"
	case page == 54936:
		label = "gb18030"
	}
	enc, _ := charset.Lookup(label)
	if enc == nil {
		enc, _ = charset.Lookup("windows-1252")
	}
	s, err := Decode(b, enc)
	if err != nil {
		s = string(b)
	}
	return strings.ReplaceAll(strings.Map(printed, strings.ToValidUTF8(s, "\ufffd")), "\x00", "")
}

// printed returns what programs of Windows show for a control character of ISO 8859.
func printed(r rune) rune {
	if r >= 0x80 && r < 0xa0 {
		return charmap.Windows1252.DecodeByte(byte(r))
	}
	return r
}

// Charsets are the names of character sets by the numbers of their code pages.
var Charsets = map[int]string{
	1250: "windows-1250", 1251: "windows-1251", 1253: "windows-1253", 1254: "windows-1254", 1255: "windows-1255", 1256: "windows-1256", 1257: "windows-1257",
	1258: "windows-1258", 874: "windows-874", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 866: "ibm866", 10000: "macintosh", 65001: "utf-8",
}
