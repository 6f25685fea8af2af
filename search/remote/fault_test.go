package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"searchd/search/backend"
)

// failing is a shard whose methods fail.
type failing struct {
	Node
	err error
}

func (f failing) Collection(context.Context, string) (backend.Collection, error) {
	return backend.Collection{}, f.err
}
func (f failing) ReadOnly() error { return f.err }
func (f failing) Values(string) (map[string][]byte, error) {
	return map[string][]byte{"whole": {1}}, f.err
}

// TestErrors sends errors through HTTP: they are what they were, and say the same.
func TestErrors(t *testing.T) {
	node := openNode(t)
	damaged := &backend.DamagedError{Collection: "docs", Damage: "value 7", Document: true}
	values := &backend.ValuesError{Keys: []string{"a", "b\xff"}, Err: errors.New("two values")}
	for _, err := range []error{
		fmt.Errorf("%w: \"docs\"", backend.ErrCollectionNotFound), backend.ErrCollectionExists, backend.ErrDocumentNotFound, backend.ErrReadOnly,
		fmt.Errorf("%w: fsync", backend.ErrOutcomeUnknown), backend.ErrNoSpace, fmt.Errorf("%w: %w", backend.ErrInvalid, backend.ErrNoSpace),
		backend.ErrDamaged, backend.ErrReplica, backend.ErrNoReplica, backend.ErrPlaceLost, backend.ErrUnavailable, backend.ErrClaimed, backend.ErrPlacement,
		backend.ErrShard, errors.ErrUnsupported, fmt.Errorf("reading: %w", damaged), values, errors.Join(backend.ErrNoSpace, damaged), errors.New("something else"),
	} {
		s := dial(t, failing{node, err})
		_, got := s.Collection(t.Context(), "docs")
		if !reflect.DeepEqual(said(got), said(err)) {
			t.Errorf("Collection: %v, want %v", said(got), said(err))
		}
		if d := (*backend.DamagedError)(nil); errors.As(got, &d) != errors.As(err, &d) {
			t.Errorf("%v is no DamagedError any more, or one by now", err)
		} else if errors.As(got, &d) && *d != *damaged {
			t.Errorf("DamagedError %+v, want %+v", *d, *damaged)
		}
		if got := s.ReadOnly(); !reflect.DeepEqual(said(got), said(err)) {
			t.Errorf("ReadOnly: %v, want %v", said(got), said(err))
		}
		there, got := s.Values("")
		if !reflect.DeepEqual(said(got), said(err)) || string(there["whole"]) != "\x01" {
			t.Errorf("Values: %v, %v, want %v and what is whole", there, said(got), said(err))
		}
		if v := (*backend.ValuesError)(nil); errors.As(got, &v) != (err == error(values)) {
			t.Errorf("%v is no ValuesError any more, or one by now", err)
		} else if v != nil && (!reflect.DeepEqual(v.Keys, values.Keys) || v.Error() != values.Error()) {
			t.Errorf("ValuesError %+v, want %+v", *v, *values)
		}
	}
}

// TestErrorsOfTheOtherEnd holds apart what became of a request there and what became of the caller here.
func TestErrorsOfTheOtherEnd(t *testing.T) {
	node := openNode(t)
	for _, err := range []error{backend.ErrClosed, context.Canceled, context.DeadlineExceeded, os.ErrNotExist} {
		_, got := dial(t, failing{node, err}).Collection(context.Background(), "docs")
		if want := err != os.ErrNotExist; errors.Is(got, backend.ErrUnavailable) != want || errors.Is(got, err) {
			t.Errorf("%v there is %v here", err, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	if _, err := dial(t, failing{node, context.DeadlineExceeded}).Collection(ctx, "docs"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("no time there is %v here, want DeadlineExceeded: the shard answered", err)
	}
}

// TestEveryErrorHasACode holds the errors of the seam against the table.
func TestEveryErrorHasACode(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range codes {
		if seen[c.code] {
			t.Errorf("the code %s is there twice", c.code)
		}
		seen[c.code] = true
		f := faultOf(fmt.Errorf("x: %w", c.is))
		if got := f.err(); !errors.Is(got, c.is) || got.Error() != "x: "+c.is.Error() {
			t.Errorf("%v came back as %v", c.is, got)
		}
		if status := statusOf(c.is); status < 400 || status > 599 {
			t.Errorf("%v has the status %d", c.is, status)
		}
	}
	unknown := fault{Codes: []string{"of_a_later_version"}, Message: "what"}
	if err := unknown.err(); err == nil || said(err).([]string)[0] != "what" {
		t.Errorf("a code that is not known: %v", err)
	}
	names, err := exportedErrors("../backend")
	if err != nil || len(names) < 15 {
		t.Fatalf("errors of the seam: %v, %v", names, err)
	}
	source, err := os.ReadFile("fault.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(source), "backend."+name+"}") {
			t.Errorf("backend.%s has no code", name)
		}
	}
}

// TestKeys asks with and without the key.
func TestKeys(t *testing.T) {
	node := openNode(t)
	url := serve(t, Handler(node, HandlerOptions{Key: "secret"}))
	for _, key := range []string{"", "wrong", "secret2", "secre"} {
		if _, err := Dial(t.Context(), url, Options{Key: key}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "key") {
			t.Errorf("with the key %q: %v, want ErrUnavailable that names the key", key, err)
		}
	}
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/": http.StatusUnauthorized, "/shard/v1/hello": http.StatusUnauthorized,
		"/shard/v1/backup": http.StatusUnauthorized, "/shard/v1/collections": http.StatusUnauthorized,
	} {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s without the key: status %d, want %d", path, res.StatusCode, want)
		}
	}
	node.Close()
	if res, err := http.Get(url + "/readyz"); err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz of a closed shard: %v, %v", res.Status, err)
	}
	if _, err := Dial(t.Context(), serve(t, Handler(node, HandlerOptions{})), Options{Key: "whatever"}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("Dial of a closed shard: %v, want ErrUnavailable", err)
	}
}
