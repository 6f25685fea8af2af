package embedded

import (
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestSlotsOfManyDocuments: the slots of a large set of documents are put into a bitmap without
// copying its containers for each document.
func TestSlotsOfManyDocuments(t *testing.T) {
	const n = 100_000
	var table slotTable
	docs, want := roaring.New(), roaring.New()
	for no, slot := uint32(0), uint32(0); no < n; no++ {
		passages := no % 4
		table.load(no, slot, passages)
		if no%3 != 0 {
			docs.Add(no)
			want.AddRange(uint64(slot), uint64(slot+passages))
		}
		slot += passages + no%2
	}
	docs.Add(n + 5) // the table does not know it
	if got, _ := table.of(docs); !got.Equals(want) {
		t.Errorf("%d slots, want %d", got.GetCardinality(), want.GetCardinality())
	}
	docs.AddRange(n+5, 1<<32) // as a set may that somebody sends
	began := time.Now()
	if got, _ := table.of(docs); !got.Equals(want) || time.Since(began) > 5*time.Second { // one by one it takes longer
		t.Errorf("%d slots in %v, want %d at once", got.GetCardinality(), time.Since(began), want.GetCardinality())
	}
	if allocs := testing.AllocsPerRun(1, func() { table.of(docs) }); allocs > 1000 {
		t.Errorf("%.0f allocations", allocs)
	}
}

func BenchmarkSlotsOf(b *testing.B) {
	var table slotTable
	docs := roaring.New()
	for no := range uint32(300_000) {
		table.load(no, no, 1)
		if no%5 != 0 {
			docs.Add(no)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		table.of(docs)
	}
}
