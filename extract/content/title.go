package content

import (
	"regexp"
	"strings"
)

// maxTitle is the length in bytes of the longest title.
const maxTitle = 120

// TitleLine returns the first line that is not blank, nothing if it is too long for a title.
func TitleLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && len(line) <= maxTitle {
			return line
		} else if line != "" {
			break
		}
	}
	return ""
}

// OwnTitle is TitleLine for files whose name is a better title than the salutation of a letter or
// the first message of a chat.
func OwnTitle(s string) string {
	title := TitleLine(s)
	if salutation.MatchString(title) || isChat(s) {
		return ""
	}
	return title
}

// IsAlt reports whether s describes a picture: it is neither empty, nor a file name, nor what a
// program calls every picture.
func IsAlt(s string) bool { return HasText(s) && !noAlt.MatchString(strings.TrimSpace(s)) }

var noAlt = regexp.MustCompile(`(?i)^(?:[^\s/]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)|(?:picture|image|graphic|bild|grafik) ?\d*)$`)

// salutation matches the salutations of letters.
var salutation = regexp.MustCompile(`(?i)^(?:` +
	`(?:dear|to whom it may concern|sehr geehrte[rs]?|liebe[rs]?|werte[rs]?|geachte|beste|ch[eè]re?s?|madame|monsieur|mesdames|messieurs|estimad[oa]s?|querid[oa]s?|` +
	`prezad[oa]s?|car[aoei]|gentil[ei](?:ssim[aoei])?|egregi[oa]?|spettabile|szanown[aeiy]|drog[aeiy]|уважаем\pL+|дорог\pL+)(?:\pZ[^,:!]{0,80})?[,:!，]` +
	`|(?:dear (?:mr|mrs|ms|miss|dr|prof|sir|madam|all)\b|sehr geehrte[rs]?\pZ|to whom it may concern)[^,:!]{0,80}` +
	`|(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|hej|hoi|moin|guten (?:morgen|tag|abend)|bonjour|bonsoir|hola|buenos d[ií]as|buenas tardes|ciao|salve|ol[aá]|` +
	`здравствуйте|привет)(?:\pZ[^,:!]{0,60})?,` +
	`)$`)

// chatLine matches the beginning of an exported chat message: date, time and author.
var chatLine = regexp.MustCompile(`^[\x{200e}\x{202f}]*(?:` +
	`\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\pZ\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\pZ?[AaPp]\.?[Mm]\.?)?(?:\]|\pZ[-–])\pZ` +
	`|(?:\d{4}-\d\d-\d\d[ T])?\[?\d{1,2}:\d{2}(?::\d{2})?\]?[ \t]+<[^<>]{1,60}>[ \t])`)

// isChat reports whether s begins with a message and its author, or with two lines of a chat.
func isChat(s string) bool {
	lines := 0
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line = line[:min(len(line), 500)]
		at := chatLine.FindStringIndex(line)
		if at == nil {
			return false
		}
		if lines++; lines == 2 || line[at[1]-2] == '>' || strings.Contains(line[at[1]:], ": ") {
			return true
		}
	}
	return false
}
