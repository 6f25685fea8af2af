package client

import (
	"strings"
	"testing"
	"time"
)

func TestSignTenantToken(t *testing.T) {
	key := "sd_aaaaaaaaaaaa_" + strings.Repeat("b", 52)
	at := time.Unix(1_800_000_000, 0)
	// The header and the claims; package api checks what is signed.
	const want = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJjb2xsZWN0aW9ucyI6WyJkb2NzIl0sImV4cCI6MTgwMDAwMDAwMCwiZmlsdGVyIjoidGVuYW50ID0gJ2EnIiwia2V5IjoiYWFhYWFhYWFhYWFhIn0."
	got, err := SignTenantToken(key, TenantToken{Filter: "tenant = 'a'", Collections: []string{"docs"}, Expires: at})
	if err != nil || !strings.HasPrefix(got, want) || len(got) != len(want)+43 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := SignTenantToken(key, TenantToken{Filter: "x = 1"}); err == nil {
		t.Error("a token without an end")
	}
	for _, bad := range []string{"", "sd_x", "an-admin-key-of-the-environment", "sd_aaaaaaaaaaaa_b"} {
		if _, err := SignTenantToken(bad, TenantToken{Expires: at}); err == nil {
			t.Errorf("%q signs", bad)
		}
	}
}
