package content

import "fmt"

// BlockKind is the kind of a block.
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

func (k BlockKind) whole() bool { return k == Code || k == Table }

// Block is a unit of a document's text: bytes [Start, End). Blocks are in the order of the text, do
// not overlap, and have only white space between them. The headings before a block give its
// section.
type Block struct {
	Kind       BlockKind
	Level      int    // of a heading or an item; 0 for others
	Start, End int    // bytes in the text
	Head       int    // of a table: where its header ends, the rows [Start, Head); 0 if it has none
	Language   string // of code, in lower case; empty if unknown
	Page       int    // number of the page or slide on which it begins; 0 where the format has none
}

// maxBlocks limits the blocks of a text; the last one holds the rest.
const maxBlocks = 1 << 18

// Moved returns the blocks of a text whose first n bytes were removed.
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
