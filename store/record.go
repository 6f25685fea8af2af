package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"

	"go.etcd.io/bbolt"
)

// A kind is one sort of bucket. Its letter goes into every checksum, so that a record that turns up
// in the wrong bucket is as corrupt as one with a flipped bit.
type kind byte

const (
	kindMeta        kind = 'm'
	kindCollections kind = 'c'
	kindNames       kind = 'n'
	kindValues      kind = 'x'
	kindState       kind = 's'
	kindIDs         kind = 'i'
	kindDocs        kind = 'd'
	kindFields      kind = 'f'
	kindSlots       kind = 'l'
	kindVectors     kind = 'v'
	kindLog         kind = 'g'
	kindVersions    kind = 'h'
)

// bucketNames maps each kind to the name of its bucket in the file.
var bucketNames = map[kind]string{
	kindMeta: "meta", kindCollections: "collections", kindNames: "names", kindValues: "values",
	kindState: "state", kindIDs: "ids", kindDocs: "docs", kindFields: "fields",
	kindSlots: "slots", kindVectors: "vectors", kindLog: "log", kindVersions: "versions",
}

// topKinds are the buckets of the whole store, collectionKinds those inside the bucket of each
// collection, where there may be one of versions, too.
var (
	topKinds        = []kind{kindMeta, kindCollections, kindNames, kindValues}
	collectionKinds = []kind{kindState, kindIDs, kindDocs, kindFields, kindSlots, kindVectors, kindLog}
)

// appendFill fills the pages of buckets whose keys only grow; the rest is room for updates in
// place.
const appendFill = 0.9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A bucket is a bbolt bucket whose values end in a CRC-32C over kind, collection, key and payload.
type bucket struct {
	*bbolt.Bucket
	kind       kind
	collection uint32 // 0: bucket of the whole store
}

// openBucket wraps b; a missing bucket is damage, since every bucket is made together with its
// parent.
func openBucket(b *bbolt.Bucket, k kind, collection uint32) (bucket, error) {
	out := bucket{Bucket: b, kind: k, collection: collection}
	if b == nil {
		return out, &CorruptError{Bucket: out.name(), Detail: "bucket is missing"}
	}
	switch k {
	case kindDocs, kindFields, kindSlots, kindVectors, kindLog:
		b.FillPercent = appendFill
	}
	return out, nil
}

// openTop opens a bucket of the whole store.
func openTop(tx *bbolt.Tx, k kind) (bucket, error) {
	return openBucket(tx.Bucket([]byte(bucketNames[k])), k, 0)
}

// name returns the path of the bucket for messages.
func (b bucket) name() string {
	if b.collection == 0 {
		return bucketNames[b.kind]
	}
	return "collection " + strconv.FormatUint(uint64(b.collection), 10) + "/" + bucketNames[b.kind]
}

// keyText returns key as people write it: a number or a quoted string.
func (b bucket) keyText(key []byte) string {
	switch b.kind {
	case kindCollections, kindDocs, kindFields, kindSlots, kindVectors:
		if len(key) == 4 {
			return strconv.FormatUint(uint64(binary.BigEndian.Uint32(key)), 10)
		}
	case kindLog:
		if len(key) == 8 {
			return strconv.FormatUint(binary.BigEndian.Uint64(key), 10)
		}
	}
	return strconv.Quote(string(key))
}

// corrupt returns the error for a record of b.
func (b bucket) corrupt(key []byte, format string, args ...any) error {
	return &CorruptError{Bucket: b.name(), Key: b.keyText(key), Detail: fmt.Sprintf(format, args...), kind: b.kind, key: bytes.Clone(key)}
}

// sum is the checksum of a record: kind, collection (4 bytes, big-endian), length of the key (2
// bytes), key, payload.
func (b bucket) sum(key, payload []byte) uint32 {
	var head [7]byte
	head[0] = byte(b.kind)
	binary.BigEndian.PutUint32(head[1:], b.collection)
	binary.BigEndian.PutUint16(head[5:], uint16(len(key)))
	c := crc32.Update(0, castagnoli, head[:])
	c = crc32.Update(c, castagnoli, key)
	return crc32.Update(c, castagnoli, payload)
}

// put writes payload under key and appends the checksum to payload, whose memory then belongs to
// the transaction.
func (b bucket) put(key, payload []byte) error {
	return b.Put(key, binary.LittleEndian.AppendUint32(payload, b.sum(key, payload)))
}

// open checks the checksum of a value and returns its payload, which is valid as long as the
// transaction.
func (b bucket) open(key, value []byte) ([]byte, error) {
	if len(value) < 4 {
		return nil, b.corrupt(key, "value of %d bytes has no checksum", len(value))
	}
	payload := value[: len(value)-4 : len(value)-4]
	if want, got := binary.LittleEndian.Uint32(value[len(payload):]), b.sum(key, payload); got != want {
		return nil, b.corrupt(key, "checksum is %08x, stored %08x", got, want)
	}
	return payload, nil
}

// get returns the payload under key, or nil if there is none. It believes an absence only after the
// records to both sides of the gap have proved their keys: a key with a flipped bit would otherwise
// hide its record without a trace.
func (b bucket) get(key []byte) ([]byte, error) {
	c := b.Cursor()
	k, v := c.Seek(key)
	if bytes.Equal(k, key) && k != nil {
		return b.open(k, v)
	}
	if k != nil {
		if bytes.Compare(k, key) < 0 {
			return nil, b.corrupt(key, "search ended at the smaller key %s", b.keyText(k))
		}
		if _, err := b.open(k, v); err != nil {
			return nil, err
		}
	}
	if k, v = c.Prev(); k != nil {
		if bytes.Compare(k, key) >= 0 {
			return nil, b.corrupt(key, "search began after the larger key %s", b.keyText(k))
		}
		if _, err := b.open(k, v); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// key32 returns n as a key: big-endian, so that keys sort as numbers do.
func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(make([]byte, 0, 4), n) }

// key64 returns n as a key.
func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), n) }

// decoder reads the little-endian fields of a payload; after the first short read it returns zeros
// and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) u8() uint8 {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// done reports whether every byte was read and none was missing.
func (d *decoder) done() bool { return !d.bad && len(d.b) == 0 }
