package embedded

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// TestErrorsOfTheStore holds that each error of the store has a name in package backend, or is
// known to need none.
func TestErrorsOfTheStore(t *testing.T) {
	none := errors.New("none")
	want := map[string]struct{ is, named error }{
		"ErrNoCollection": {store.ErrNoCollection, backend.ErrCollectionNotFound}, "ErrExists": {store.ErrExists, backend.ErrCollectionExists},
		"ErrCorrupt": {store.ErrCorrupt, backend.ErrDamaged}, "ErrInvalid": {store.ErrInvalid, backend.ErrInvalid},
		"ErrOutcomeUnknown": {store.ErrOutcomeUnknown, backend.ErrOutcomeUnknown}, "ErrReadOnly": {store.ErrReadOnly, backend.ErrReadOnly},
		"ErrClosed": {store.ErrClosed, backend.ErrClosed}, "ErrNoSpace": {store.ErrNoSpace, backend.ErrNoSpace},
		// Of opening: no request meets them.
		"ErrLocked": {store.ErrLocked, none}, "ErrNoStore": {store.ErrNoStore, none}, "ErrLost": {store.ErrLost, none}, "ErrDamaged": {store.ErrDamaged, none},
		"ErrNewerFormat": {store.ErrNewerFormat, none},
		// Answered here, before anybody sees them.
		"ErrNotFound": {store.ErrNotFound, none}, "ErrTrimmed": {store.ErrTrimmed, none}, "ErrAhead": {store.ErrAhead, none}, "ErrStop": {store.ErrStop, none},
		// Faults of the engine, and the end of four thousand million numbers.
		"ErrDimension": {store.ErrDimension, none}, "ErrFull": {store.ErrFull, none},
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../store/errors.go", nil, 0)
	must(t, err)
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		seen++
		name := spec.Names[0].Name
		w, known := want[name]
		if !known {
			t.Errorf("store.%s has no name in package backend: give it one in translate, or say here why it needs none", name)
			return false
		}
		if got := translate(w.is); !errors.Is(got, w.is) || w.named != none && !errors.Is(got, w.named) || w.named == none && got != w.is {
			t.Errorf("translate(store.%s) = %v, want %v", name, got, w.named)
		}
		return false
	})
	if seen != len(want) {
		t.Errorf("the store has %d errors, here are %d", seen, len(want))
	}
}
