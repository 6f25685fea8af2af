package api

import (
	"fmt"
	"sync"
	"testing"
)

// Clients that state no condition never get 412 or 429 from other writers of the same document, and
// short bursts wait. One that states a condition loses against all but itself.
func TestWritersOfOneDocument(t *testing.T) {
	const docs, one = "/v1/collections/docs/documents", "/v1/collections/docs/documents/one"
	revision := "" // of the document before all
	for _, tt := range []struct {
		name  string
		write func(f *fixture, n, i int) answer
		codes map[int]bool // allowed
		exact map[int]int  // how many of a code
	}{
		{"patches", func(f *fixture, n, i int) answer {
			return f.do("PATCH", one, fmt.Sprintf(`{"by%d":%d}`, n, i))
		}, map[int]bool{200: true}, nil},
		{"patches of one member", func(f *fixture, n, _ int) answer { return f.do("PATCH", one, fmt.Sprintf(`{"by":%d}`, n)) }, map[int]bool{200: true}, nil},
		{"patches that remove", func(f *fixture, n, i int) answer {
			if i%2 == 0 {
				return f.do("PATCH", one, fmt.Sprintf(`{"by%d":1}`, n))
			}
			return f.do("PATCH", one, fmt.Sprintf(`{"by%d":null}`, n))
		}, map[int]bool{200: true}, nil},
		{"patches and an import", func(f *fixture, n, _ int) answer {
			if n%4 > 0 {
				return f.do("PATCH", one, `{"patched":true}`)
			}
			return f.do("POST", docs+"/import", `{"id":"one","title":"imported"}`+"\n", "Content-Type", "application/x-ndjson")
		}, map[int]bool{200: true}, nil},
		{"patches and a list", func(f *fixture, n, _ int) answer {
			if n%4 > 0 {
				return f.do("PATCH", one, `{"patched":true}`)
			}
			return f.do("POST", docs, `[{"id":"one","title":"posted"},{"id":"two","title":"posted"}]`)
		}, map[int]bool{200: true}, nil},
		{"patches and deletions", func(f *fixture, n, i int) answer {
			switch {
			case n%4 > 0:
				return f.do("PATCH", one, `{"patched":true}`)
			case i%2 == 0:
				return f.do("DELETE", one, "")
			}
			return f.do("PUT", one, `{"title":"again"}`)
		}, map[int]bool{200: true, 201: true, 204: true, 404: true}, nil},
		{"a condition", func(f *fixture, n, i int) answer {
			return f.do("PATCH", one, fmt.Sprintf(`{"by":"%d-%d"}`, n, i), "If-Match", revision)
		}, map[int]bool{200: true, 412: true}, map[int]int{200: 1}},
		{"creation once", func(f *fixture, n, i int) answer {
			return f.do("PUT", docs+"/new", fmt.Sprintf(`{"by":"%d-%d"}`, n, i), "If-None-Match", "*")
		}, map[int]bool{201: true, 412: true}, map[int]int{201: 1}},
		{"a burst", func(f *fixture, n, i int) answer {
			return f.do("PUT", fmt.Sprintf("%s/burst%d-%d", docs, n, i), `{"title":"x"}`)
		}, map[int]bool{201: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, Options{WriteSlots: 1})
			f.engine.Hook = nil
			f.do("PUT", "/v1/collections/docs/documents/one", `{"title":"one"}`).want(201, nil)
			revision = f.do("GET", one, "").Header().Get("ETag")
			var mu sync.Mutex
			counts := map[int]int{}
			var group sync.WaitGroup
			for n := range 16 {
				group.Go(func() {
					for i := range 3 {
						a := tt.write(f, n, i)
						mu.Lock()
						if counts[a.Code]++; !tt.codes[a.Code] {
							t.Errorf("%d %.200s", a.Code, a.Body)
						}
						mu.Unlock()
					}
				})
			}
			group.Wait()
			for code, want := range tt.exact {
				if counts[code] != want {
					t.Errorf("%d answers of %d, want %d: %v", counts[code], code, want, counts)
				}
			}
		})
	}
}
