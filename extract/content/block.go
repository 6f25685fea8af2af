package content

import "fmt"

// BlockKind is what a block of a text is.
type BlockKind uint8

const (
	Paragraph BlockKind = iota // prose, and whatever is none of the others
	Heading                    // Level is 1 to 6
	Item                       // an item of a list, or a paragraph of one; Level is the depth of the list, from 1
	Table                      // rows as lines, cells apart by " | "; Head is its header
	Code                       // lines as they stand; Language is that of the code, if it is named
	Quote                      // a paragraph of a quotation
)

var blockKindNames = [...]string{Paragraph: "paragraph", Heading: "heading", Item: "item", Table: "table", Code: "code", Quote: "quote"}

// String returns the name of the kind in lower case.
func (k BlockKind) String() string {
	if int(k) < len(blockKindNames) {
		return blockKindNames[k]
	}
	return fmt.Sprintf("BlockKind(%d)", uint8(k))
}

// whole reports whether a block of that kind may hold blank lines.
func (k BlockKind) whole() bool { return k == Code || k == Table }

// Block is a part of the text of a document that is read as a whole: bytes [Start, End) of it, at
// character boundaries.
//
// The blocks of a document stand in the order of its text and do not overlap; between two of them
// there is nothing but white space. The section of a block is given by the headings before it: the
// nearest one of each level below that of the nearer ones.
type Block struct {
	Kind       BlockKind
	Level      int    // of a heading or an item; 0 for others
	Start, End int    // bytes in the text
	Head       int    // of a table: where its header ends, the rows [Start, Head); 0 if it has none
	Language   string // of code, in lower case; empty if unknown
	Page       int    // number of the page or slide on which it begins; 0 where the format has none
}

// maxBlocks is the number of blocks that are noted of a text. What is behind them belongs to the
// last one.
const maxBlocks = 1 << 18

// Moved returns the blocks of a text of which the first n bytes have been taken off; those that lay
// there are dropped.
func Moved(blocks []Block, n int) []Block {
	kept := blocks[:0]
	for _, b := range blocks {
		if b.Start < n {
			continue
		}
		b.Start, b.End = b.Start-n, b.End-n
		if b.Head > 0 {
			b.Head -= n
		}
		kept = append(kept, b)
	}
	return kept
}
