package tokenizer

// Side is an end of a text.
type Side uint8

// The sides. SideOfFile is that of tokenizer.json, where it names one, and otherwise the right.
const (
	SideOfFile Side = iota
	Right
	Left
)

// CutsLeft reports whether texts are cut on the left; SideOfFile stands for the tokenizer's own
// side.
func (t *Tokenizer) CutsLeft(s Side) bool { return s == Left || s == SideOfFile && t.left }

// EncodeSide is Encode for a text that is cut at another end than the tokenizer's own, which
// SideOfFile stands for.
func (t *Tokenizer) EncodeSide(text string, maxLen int, s Side) Encoding {
	return t.encode(text, t.template.single, maxLen, t.CutsLeft(s))
}

// EncodeStored is EncodeBare, but for at most StoredLength ids; s is as in EncodeSide.
func (t *Tokenizer) EncodeStored(text string, s Side) Encoding {
	return t.encode(text, bareTemplate().single, t.stored, t.CutsLeft(s))
}
