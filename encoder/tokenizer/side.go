package tokenizer

// Side is an end of a text.
type Side uint8

// The sides. SideOfFile is that of tokenizer.json, where it names one, and otherwise the right.
const (
	SideOfFile Side = iota
	Right
	Left
)

// CutsLeft reports whether texts are cut on the left; SideOfFile means the tokenizer's own side.
func (t *Tokenizer) CutsLeft(s Side) bool { return s == Left || s == SideOfFile && t.left }

// EncodeSide is Encode with a choice of the side that is cut; SideOfFile means the tokenizer's own.
func (t *Tokenizer) EncodeSide(text string, maxLen int, s Side) Encoding {
	return t.encode(text, t.template.single, maxLen, t.CutsLeft(s))
}

// EncodeStored is EncodeBare for at most StoredLength ids; s is as in EncodeSide.
func (t *Tokenizer) EncodeStored(text string, s Side) Encoding {
	return t.encode(text, bareTemplate().single, t.stored, t.CutsLeft(s))
}
