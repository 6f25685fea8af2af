package extract

import "testing"

// In texts of Windows-1252 a letter and the sign behind it can be a character of UTF-8.
func TestLegacyCharsets(t *testing.T) {
	for _, tt := range []struct{ name, in, want, warning string }{
		{"sharp s and a quote", "\x84Spa\xdf\x93 f\xfcr M\xfcller", "„Spaß“ für Müller", "not UTF-8; read as Windows-1252 (Latin-1)"},
		{"capital and a space", "LE CAF\xc9\xa0! Un \xe9t\xe9", "LE CAFÉ\u00a0! Un été", "not UTF-8; read as Windows-1252 (Latin-1)"},
		{"damaged UTF-8", "für M\xfcller", "für M\ufffdller", "invalid UTF-8: 1 byte replaced by U+FFFD"},
		{"UTF-8", "für Müller", "für Müller", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, warning := (&decoder{}).text([]byte(tt.in)); got != tt.want || warning != tt.warning {
				t.Errorf("text(%q) = %q, %q, want %q, %q", tt.in, got, warning, tt.want, tt.warning)
			}
		})
	}
	d := &decoder{}
	d.text([]byte("für Müller"))
	if got, _ := d.text([]byte("Br\xfccke, Gr\xfc\xdfe")); got != "Br\ufffdcke, Gr\ufffde" {
		t.Errorf("behind UTF-8 text is %q, want damaged UTF-8", got)
	}
}
