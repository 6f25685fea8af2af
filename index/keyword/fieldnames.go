package keyword

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

const (
	// MaxTextFields is the number of text fields that an index keeps separate, beside those of
	// Options.OwnField.
	MaxTextFields = 1000
	// OtherFields is the field that holds the texts of all further fields, and of one with this
	// name.
	OtherFields = "*"
)

// keyNames is the key of bleve's internal value with the separate text fields, see encodeNames.
var keyNames = []byte("fields")

// fieldNames are the text fields that an index keeps separate. A name is never removed, not even
// with the last document that has it, so that documents written at different times have their texts
// under the same names.
type fieldNames struct {
	own func(name string) bool // see Options.OwnField

	mu struct {
		sync.RWMutex
		taken map[string]bool
	}
	written int // number of taken names in the index; guarded by Index.applying
}

// of returns the name under which a text field is indexed: itself, or OtherFields.
func (n *fieldNames) of(name string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.mu.taken[name] || n.free(name) {
		return name
	}
	return OtherFields
}

// free reports whether a name can be taken. The caller holds mu.
func (n *fieldNames) free(name string) bool {
	return name != OtherFields && (len(n.mu.taken) < MaxTextFields || n.own != nil && n.own(name))
}

// take makes the text fields of entries separate, in their order, while there is room.
func (n *fieldNames) take(entries []Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range entries {
		if entries[i].Delete {
			continue
		}
		for _, t := range entries[i].Text {
			if !n.mu.taken[t.Name] && n.free(t.Name) {
				n.mu.taken[t.Name] = true
			}
		}
	}
}

// encode returns the names, or nil if the index has them all, and their number.
func (n *fieldNames) encode() (b []byte, names int) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if names = len(n.mu.taken); names == n.written {
		return nil, names
	}
	list := make([]string, 0, names)
	for name := range n.mu.taken {
		list = append(list, name)
	}
	slices.Sort(list)
	return encodeNames(list), names
}

// load reads the names of an index, from its segments if it is so old that it has no list of them.
func (n *fieldNames) load(s *scorch.IndexSnapshot) error {
	list, ok, err := snapshotNames(s)
	if err != nil {
		return err
	}
	if !ok {
		for _, seg := range s.Segments() {
			for _, field := range seg.Segment().Fields() {
				if name, ok := strings.CutPrefix(field, textPrefix); ok {
					list = append(list, name)
				}
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range list {
		n.mu.taken[name] = true
	}
	if ok {
		n.written = len(n.mu.taken)
	}
	return nil
}

// snapshotNames returns the names in a snapshot; ok is false if it has none.
func snapshotNames(s *scorch.IndexSnapshot) (list []string, ok bool, err error) {
	b, ok := s.Internal()[string(keyNames)]
	if !ok {
		return nil, false, nil
	}
	list, err = decodeNames(b)
	return list, true, err
}

// encodeNames returns CRC-32C in 4 bytes, little endian, and the names as a JSON array.
func encodeNames(list []string) []byte {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	return append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(text, castagnoli)), text...)
}

func decodeNames(b []byte) (list []string, err error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return nil, fmt.Errorf("%w: the names of the text fields are damaged", ErrDamaged)
	}
	if err := json.Unmarshal(b[4:], &list); err != nil {
		return nil, fmt.Errorf("%w: the names of the text fields: %w", ErrDamaged, err)
	}
	return list, nil
}

// FieldOf returns the name under which a text field is indexed: itself, or OtherFields.
func (x *Index) FieldOf(name string) string { return x.names.of(name) }
