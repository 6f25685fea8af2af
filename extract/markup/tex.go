package markup

import (
	"regexp"
	"strings"

	"example.com/searchd/extract/content"

	"golang.org/x/text/unicode/norm"
)

var (
	texGroup    = `\{((?:[^{}]|\{[^{}]*\})*)\}`
	texTitle    = regexp.MustCompile(`\\title(?:\[[^\]]*\])?[ \t\n]*` + texGroup)
	texComment  = regexp.MustCompile(`(?m)(^|[^\\])%.*$`)
	texNoText   = regexp.MustCompile(`\\(?:[a-zA-Z]*cite[a-zA-Z]*|label|ref|eqref|pageref|autoref|[cC]ref|includegraphics|input|include|bibliography|bibliographystyle|[vh]space|vskip|setlength|setcounter|addtocounter|pagestyle|thispagestyle|hypertarget|href|usepackage|index|selectlanguage|fontsize|color|textcolor)\*?(?:\[[^\]]*\])*(?:\{[^{}]*\})`)
	texSection  = regexp.MustCompile(`\\(?:part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]]*\])?` + texGroup)
	texItem     = regexp.MustCompile(`[ \t\n]*\\item\b[ \t\n]*(?:\[([^\]]*)\])?[ \t\n]*`)
	texTabular  = regexp.MustCompile(`\\begin\{(?:tabular|tabularx|longtable|array|minipage|multicols|thebibliography)\*?\}(?:\[[^\]]*\])?(?:\{[^{}]*\})?(?:\{(?:[^{}]|\{[^{}]*\})*\})?`)
	texEnv      = regexp.MustCompile(`\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?`)
	texAccent   = regexp.MustCompile("\\\\([\"'`^~=.])[ ]*(?:\\{\\\\?([A-Za-z])\\}|\\\\?([A-Za-z]))|\\\\([cvuHkr])(?:\\{([A-Za-z])\\}|[ ]+([A-Za-z]))")
	texLetter   = regexp.MustCompile(`\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j|S|ldots|dots|textbackslash|euro|pounds|TeX|LaTeX)(?:\{\}|\b[ \t]?)`)
	texBreak    = regexp.MustCompile(`\\\\\*?(?:\[[^\]]*\])?[ \t]*\n?`)
	texCommand  = regexp.MustCompile(`\\[a-zA-Z@]+\*?(?:\[[^\]\n]*\])?[ \t]?`)
	texEscape   = regexp.MustCompile(`\\([%&$#_{} ,;:!/()\[\]-])`)
	texCombines = map[string]string{`"`: "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
		"c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a"}
	texLetters = map[string]string{"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "i": "i", "j": "j",
		"S": "§", "ldots": "…", "dots": "…", "textbackslash": `\`, "euro": "€", "pounds": "£", "TeX": "TeX", "LaTeX": "LaTeX"}
	texSigns = strings.NewReplacer("---", "—", "--", "–", "``", "“", "''", "”", "~", " ", "{", "", "}", "", "$", "", "&", "|",
		"\x01{", "{", "\x01}", "}", "\x01$", "$", "\x01&", "&", "\x01", "")
)

// texText reads LaTeX: it removes commands and keeps their text.
func texText(s string) content.Content {
	c := content.Content{}
	s = texComment.ReplaceAllString(strings.ReplaceAll(s, "\x01", ""), "$1")
	if m := texTitle.FindStringSubmatch(s); m != nil && len(m[1]) <= maxMarkedLine {
		c.Title = strings.Join(strings.Fields(texPlain(m[1])), " ")
	}
	if _, body, ok := strings.Cut(s, `\begin{document}`); ok {
		s, _, _ = strings.Cut(body, `\end{document}`)
	}
	var p plainLines
	piece := ""
	end := func() {
		for l := range strings.Lines(texPlain(piece)) {
			p.line(strings.Join(strings.Fields(l), " "))
		}
		piece = ""
	}
	for l := range strings.Lines(s) {
		raw := p.raw(l)
		if blank := strings.TrimSpace(l) == ""; raw || blank && len(piece) > maxMarkedLine/2 || len(piece)+len(l) > maxMarkedLine {
			end() // expressions may stand on several lines, seldom in several paragraphs
		}
		if raw {
			p.line(strings.TrimRight(l, "\n"))
		} else {
			piece += l
		}
	}
	end()
	c.Text = p.String()
	return c
}

func texPlain(s string) string {
	s = texNoText.ReplaceAllLiteralString(strings.ReplaceAll(s, `\footnote{`, " {"), "")
	s = texSection.ReplaceAllString(s, "\n\n$1\n\n")
	s = texEnv.ReplaceAllLiteralString(texTabular.ReplaceAllLiteralString(s, "\n"), "\n\n")
	s = texItem.ReplaceAllString(s, "\n- $1 ")
	s = texAccent.ReplaceAllStringFunc(s, func(accent string) string {
		m := texAccent.FindStringSubmatch(accent)
		return norm.NFC.String(m[2] + m[3] + m[5] + m[6] + texCombines[m[1]+m[4]])
	})
	s = texLetter.ReplaceAllStringFunc(s, func(letter string) string { return texLetters[texLetter.FindStringSubmatch(letter)[1]] })
	s = texEscape.ReplaceAllStringFunc(texBreak.ReplaceAllLiteralString(s, "\n"), func(e string) string {
		switch e[1] {
		case ' ', ',', ';', ':':
			return " "
		case '!', '/', '-', '(', ')', '[', ']':
			return ""
		}
		return "\x01" + e[1:]
	})
	return texSigns.Replace(texCommand.ReplaceAllLiteralString(s, ""))
}
