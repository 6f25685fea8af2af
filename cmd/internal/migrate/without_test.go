package migrate

import (
	"encoding/json"
	"testing"

	"example.com/searchd/client"
)

func TestWithout(t *testing.T) {
	const lacks = "; former versions of documents stay behind"
	for body, want := range map[string]string{
		`{"settings":{"versions":{"keep":3}}}`: lacks, `{"settings":{}}`: "", `{}`: "", `{"settings":{"versions":null}}`: "", `[]`: "", ``: "",
	} {
		if got := without(client.Original{Body: json.RawMessage(body)}); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
