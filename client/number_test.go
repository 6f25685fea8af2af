package client

import (
	"encoding/json"
	"testing"
)

func TestLargeIntegersStayExact(t *testing.T) {
	var h Hit
	var f FacetCounts
	if err := json.Unmarshal([]byte(`{"group":{"value":1234567890123456789,"more":2}}`), &h); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"values":[{"value":1234567890123456789,"count":1},{"value":1.5,"count":2},{"value":"a","count":3}]}`), &f); err != nil {
		t.Fatal(err)
	}
	want := json.Number("1234567890123456789")
	if h.Group.Value != want || h.Group.More != 2 {
		t.Errorf("group %+v", *h.Group)
	}
	if f.Values[0] != (FacetValue{want, 1}) || f.Values[1] != (FacetValue{1.5, 2}) || f.Values[2] != (FacetValue{"a", 3}) {
		t.Errorf("values %+v", f.Values)
	}
}
