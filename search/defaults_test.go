package search_test

import (
	"fmt"
	"reflect"
	"testing"

	"example.com/searchd/search"
)

// TestDefaultSettings makes a collection with the settings that are said to hold by default, and
// one that leaves them to hold: they are the same in passages and index, and one with other
// settings is not.
func TestDefaultSettings(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	said := search.DefaultSettings(e.Inference().Model())
	fewer := said
	fewer.Index.M = 4
	short := said
	short.Passages.MaxTokens = 16
	gauges := map[string]search.Gauges{}
	for name, s := range map[string]search.Settings{"none": {}, "said": said, "fewer": fewer, "short": short} {
		if _, err := e.CreateCollection(t.Context(), name, s); err != nil {
			t.Fatal(err)
		}
		var docs []search.Document
		for i := range 60 {
			text := ""
			for j := range 30 {
				text += fmt.Sprintf("word%d is number %d of text %d. ", i*j%37, j, i)
			}
			docs = append(docs, doc(fmt.Sprint(i), fmt.Sprintf(`{"text":%q}`, text)))
		}
		if _, err := e.Ingest(t.Context(), name, docs); err != nil {
			t.Fatal(err)
		}
		g, err := e.Gauges(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		gauges[name] = *g
	}
	if !reflect.DeepEqual(gauges["none"].Vectors, gauges["said"].Vectors) || gauges["none"].Passages != gauges["said"].Passages {
		t.Errorf("by default %+v\nas it is said to be %+v", gauges["none"], gauges["said"])
	}
	if gauges["fewer"].Vectors.LinkBytes == gauges["none"].Vectors.LinkBytes || gauges["short"].Passages == gauges["none"].Passages {
		t.Errorf("other settings make no difference: %+v, %+v", gauges["fewer"], gauges["short"])
	}
}
