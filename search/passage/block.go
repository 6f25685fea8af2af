package passage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a block. In JSON it is its name.
type Kind uint8

// The kinds of blocks.
const (
	Paragraph Kind = iota // prose, and whatever is none of the others
	Heading               // Level is 1 to 6
	Item                  // an item of a list; Level is the depth of the list, from 1
	Table                 // one row per line; Head is its header
	Code                  // lines as they stand; Language is that of the code, if it is known
	Quote                 // a paragraph of a quotation
)

var kindNames = [...]string{Paragraph: "paragraph", Heading: "heading", Item: "item", Table: "table", Code: "code", Quote: "quote"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(name []byte) error {
	i := slices.Index(kindNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("kind of a block: got %.40q, allowed: %s", name, strings.Join(kindNames[:], ", "))
	}
	*k = Kind(i)
	return nil
}

// Block is a part of a text that is read as a whole. What lies between two blocks of a text is a
// paragraph.
type Block struct {
	Kind     Kind   `json:"kind"`
	Level    int    `json:"level,omitempty"` // of a heading or an item
	Start    int    `json:"start"`           // bytes [Start, End) of the text
	End      int    `json:"end"`
	Head     int    `json:"head,omitempty"`     // where the header of a table ends, which begins at Start; 0: it has none
	Language string `json:"language,omitempty"` // of code
	Page     int    `json:"page,omitempty"`     // number of the page or slide on which the block begins; 0: none
}

// Limits of blocks.
const (
	MaxBlocks   = 1 << 18 // of one text
	maxLevel    = 64
	maxPage     = 1 << 30
	maxLanguage = 64 // bytes
)

// BlockError is a member of a block that is wrong.
type BlockError struct {
	Index   int // of the block
	Member  string
	Value   any
	Allowed string
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("block %d: %s is %v, allowed: %s", e.Index, e.Member, e.Value, e.Allowed)
}

// Check returns a [*BlockError] unless blocks are at most [MaxBlocks], sorted, do not overlap, lie
// within the text at character boundaries, and have allowed members.
func Check(text string, blocks []Block) error {
	if len(blocks) > MaxBlocks {
		return &BlockError{MaxBlocks, "start", blocks[MaxBlocks].Start, fmt.Sprintf("at most %d blocks of a text", MaxBlocks)}
	}
	after := 0
	for i, b := range blocks {
		if member, value, allowed := b.wrong(text, after); allowed != "" {
			return &BlockError{i, member, value, allowed}
		}
		after = b.End
	}
	return nil
}

// wrong returns a wrong member of a block behind another one that ends at after, and what is
// allowed; empty if there is none.
func (b Block) wrong(text string, after int) (member string, value any, allowed string) {
	const characters = "a byte at which a character of the text begins"
	most := map[Kind]int{Heading: 6, Item: maxLevel}[b.Kind]
	switch {
	case int(b.Kind) >= len(kindNames):
		return "kind", b.Kind, strings.Join(kindNames[:], ", ")
	case b.Start < after:
		return "start", b.Start, fmt.Sprintf("at least %d, the end of the block before", after)
	case b.End <= b.Start || b.End > len(text):
		return "end", b.End, fmt.Sprintf("more than start, %d, and at most %d, the bytes of the text", b.Start, len(text))
	case !boundary(text, b.Start):
		return "start", b.Start, characters
	case !boundary(text, b.End):
		return "end", b.End, characters
	case b.Level < min(most, 1) || b.Level > most:
		return "level", b.Level, fmt.Sprintf("%d to %d of a block of the kind %s", min(most, 1), most, b.Kind)
	case b.Head != 0 && b.Kind != Table:
		return "head", b.Head, "0 except of a table"
	case b.Head != 0 && (b.Head <= b.Start || b.Head > b.End || !boundary(text, b.Head)):
		return "head", b.Head, fmt.Sprintf("0, or the end of the header, from %d to %d", b.Start+1, b.End)
	case b.Language != "" && b.Kind != Code:
		return "language", b.Language, "none except of code"
	case len(b.Language) > maxLanguage || !utf8.ValidString(b.Language) || strings.ContainsFunc(b.Language, unicode.IsControl):
		return "language", b.Language, fmt.Sprintf("at most %d bytes of UTF-8 without control characters", maxLanguage)
	case b.Page < 0 || b.Page > maxPage:
		return "page", b.Page, fmt.Sprintf("0 to %d", maxPage)
	}
	return "", nil, ""
}

// boundary reports whether a character of text begins or ends at a byte.
func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// Encode appends blocks of fields to b, by name, in a compact form; see store/FORMAT.md.
func Encode(b []byte, blocks map[string][]Block) []byte {
	names := make([]string, 0, len(blocks))
	for name, list := range blocks {
		if len(list) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = appendString(b, name)
		b = binary.AppendUvarint(b, uint64(len(blocks[name])))
		end, page := 0, 0
		for _, x := range blocks[name] {
			has := byte(0)
			for i, set := range []bool{x.Head != 0, x.Language != "", x.Page != page} {
				if set {
					has |= 1 << i
				}
			}
			b = append(b, byte(x.Kind)|has<<4)
			b = binary.AppendUvarint(b, uint64(x.Level))
			b = binary.AppendUvarint(b, uint64(x.Start-end))
			b = binary.AppendUvarint(b, uint64(x.End-x.Start))
			if x.Head != 0 {
				b = binary.AppendUvarint(b, uint64(x.Head-x.Start))
			}
			if x.Language != "" {
				b = appendString(b, x.Language)
			}
			if x.Page != page {
				b = binary.AppendUvarint(b, uint64(x.Page))
			}
			end, page = x.End, x.Page
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errEncoding = errors.New("blocks of a document cannot be decoded")

// Decode returns the blocks that [Encode] has encoded. They still have to be checked against the
// text.
func Decode(b []byte) (map[string][]Block, error) {
	if len(b) == 0 {
		return nil, nil
	}
	bad := false
	number := func() int {
		n, size := binary.Uvarint(b)
		if bad = bad || size <= 0 || n > maxPage; bad {
			return 0
		}
		b = b[size:]
		return int(n)
	}
	text := func() string {
		n := number()
		if bad = bad || n > len(b); bad {
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	out := map[string][]Block{}
	for len(b) > 0 {
		name, n := text(), number()
		if bad || n > len(b)/4 { // a block takes four bytes or more
			return nil, errEncoding
		}
		blocks := make([]Block, n)
		end, page := 0, 0
		for i := range blocks {
			kind := byte(number())
			x := Block{Kind: Kind(kind & 15), Level: number()}
			x.Start = end + number()
			x.End = x.Start + number()
			if kind>>4&1 != 0 {
				x.Head = x.Start + number()
			}
			if kind>>4&2 != 0 {
				x.Language = text()
			}
			if kind>>4&4 != 0 {
				page = number()
			}
			if x.Page, end = page, x.End; bad || end > maxPage {
				return nil, errEncoding
			}
			blocks[i] = x
		}
		out[name] = blocks
	}
	return out, nil
}
