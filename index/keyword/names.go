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
	// MaxTextFields is how many names of text fields an index keeps apart, beside those of
	// Options.OwnField.
	MaxTextFields = 1000
	// OtherFields is the text field that has the texts of all further names. A field of this name
	// is among them.
	OtherFields = "*"
)

// keyFields is the key of bleve's internal value with the names that have a field of their own, see
// encodeNames.
var keyFields = []byte("fields")

// fieldNames are the text fields that have a field of their own. A name that is taken stays taken
// for as long as the index lives, also when the last document with it goes, so that documents
// written at different times have their texts under the same names.
type fieldNames struct {
	own func(name string) bool // see Options.OwnField

	mu struct {
		sync.RWMutex
		taken map[string]bool
	}
	written int // of taken, how many are in the index; the holder of Index.applying has it
}

// of returns the field under which the text of a field is indexed.
func (n *fieldNames) of(name string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.mu.taken[name] || n.free(name) {
		return name
	}
	return OtherFields
}

// free says whether a name can be taken. The caller holds mu.
func (n *fieldNames) free(name string) bool {
	return name != OtherFields && (len(n.mu.taken) < MaxTextFields || n.own != nil && n.own(name))
}

// take gives the text fields of entries names of their own while there are some, in the order of
// entries.
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

// encode returns the names and their number; nil if the index has them.
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

// load reads the names of an index. One that was written before they were has those of its
// segments.
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

// snapshotNames returns the names that a snapshot has, if it has them.
func snapshotNames(s *scorch.IndexSnapshot) (list []string, ok bool, err error) {
	b, ok := s.Internal()[string(keyFields)]
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
		panic(err) // strings can be written
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

// FieldOf returns the field under which the text of a field is indexed: itself, or OtherFields.
func (x *Index) FieldOf(name string) string { return x.names.of(name) }
