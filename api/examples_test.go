package api

import (
	"net/http"
	"strings"
	"testing"

	"example.com/searchd/api/reference"
)

// TestExamplesAreTaken sends the requests that the page of the API offers for copying, in its
// order, deletions last.
func TestExamplesAreTaken(t *testing.T) {
	d, err := reference.Parse(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	f := overLoader(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"lang":{"type":"filter"},"year":{"type":"filter"}}}}`).want(201, nil)
	f.do("PUT", "/v1/collections/docs/documents/a1", `{"text":"Flip pancakes.","lang":"en"}`).want(201, nil)
	f.do("PUT", "/v1/aliases/live", `{"collection":"docs"}`).want(201, nil)
	missing := map[string]int{ // by operationId, what there is nothing for here
		"clusterStatus": 422, "drainNode": 422, "undrainNode": 422, "removeNode": 422, "task": 404, "cancelTask": 404, "snapshot": 404, "deleteSnapshot": 404, "getKey": 422, "listKeys": 422, "createKey": 422, "revokeKey": 422,
		"rerank": 422, "rerankV2": 422, "teiRerank": 422, "embedSparse": 422, "completions": 422, "chatCompletions": 422, "createCollection": 409, "model": 404, "addEvent": 422, "listEvents": 422, "deleteEvents": 422, "analytics": 422, "beginCopy": 409, "copyDocuments": 400, "endCopy": 400, "restoreVersion": 404,
	}
	var later []reference.Operation
	send := func(o reference.Operation) {
		target := o.Curl[strings.Index(o.Curl, reference.Origin)+len(reference.Origin):]
		target = target[:strings.IndexByte(target, '\'')]
		body, media := "", ""
		for _, b := range o.Body {
			if b.Example != "" {
				body, media = b.Example, b.Type
				break
			}
		}
		if len(o.Body) > 0 && o.BodyRequired && body == "" {
			t.Errorf("%s: no example of its body", o.ID)
		}
		a := f.do(o.Method, target, body, "Content-Type", media)
		if want, ok := missing[o.ID]; ok && a.Code != want || !ok && a.Code >= 300 {
			t.Errorf("%s: %s\nis answered %d: %s", o.ID, o.Curl, a.Code, a.Body)
		}
		if a.Code == http.StatusAccepted {
			f.ended(a)
		}
	}
	for _, g := range d.Groups {
		for _, o := range g.Operations {
			if o.Method == http.MethodDelete {
				later = append(later, o)
				continue
			}
			send(o)
		}
	}
	for i := len(later) - 1; i >= 0; i-- {
		send(later[i])
	}
}
