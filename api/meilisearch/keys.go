package meilisearch

import (
	"cmp"
	"slices"
	"strings"

	"example.com/searchd/access"
)

// actions are the actions of a key and the scopes that they need. Those of things that this server
// does not have need none.
var actions = []struct {
	name   string
	scopes access.Scopes
}{
	{"*", access.All},
	{"search", access.Search},
	{"documents.*", access.DocumentsRead | access.DocumentsWrite}, {"documents.get", access.DocumentsRead}, {"documents.add", access.DocumentsWrite}, {"documents.delete", access.DocumentsWrite},
	{"indexes.*", access.CollectionsAdmin}, {"indexes.create", access.CollectionsAdmin}, {"indexes.get", access.CollectionsAdmin}, {"indexes.update", access.CollectionsAdmin}, {"indexes.delete", access.CollectionsAdmin},
	{"settings.*", access.CollectionsAdmin}, {"settings.get", access.CollectionsAdmin}, {"settings.update", access.CollectionsAdmin},
	{"tasks.*", access.CollectionsAdmin}, {"tasks.get", access.CollectionsAdmin},
	{"keys.*", access.KeysAdmin}, {"keys.create", access.KeysAdmin}, {"keys.get", access.KeysAdmin}, {"keys.update", access.KeysAdmin}, {"keys.delete", access.KeysAdmin},
	{"metrics.get", access.MetricsRead}, {"metrics.*", access.MetricsRead},
	{"stats.get", 0}, {"stats.*", 0}, {"version", 0},
}

// Scopes returns the scopes of the named actions.
func Scopes(names []string) (scopes access.Scopes, err error) {
	for _, name := range names {
		i := slices.IndexFunc(actions, func(a struct {
			name   string
			scopes access.Scopes
		}) bool {
			return a.name == name
		})
		if i < 0 {
			return 0, bad("invalid_api_key_actions", "actions: %.40q: not known here", name)
		}
		scopes |= actions[i].scopes
	}
	return scopes, nil
}

// Key is a key as clients of Meilisearch expect it.
type Key struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"`
	Key         string   `json:"key"` // once complete, after that without its secret
	UID         string   `json:"uid"`
	Actions     []string `json:"actions"`
	Indexes     []string `json:"indexes"`
	ExpiresAt   *Time    `json:"expiresAt"`
	CreatedAt   Time     `json:"createdAt"`
	UpdatedAt   Time     `json:"updatedAt"`
}

// KeyOf describes a key; token is empty unless it was just made.
func KeyOf(k access.Key, token string) Key {
	a := Key{Name: k.Name, Key: cmp.Or(token, "sd_"+k.ID+"_…"), UID: access.UUID(k.ID), Actions: []string{}, Indexes: k.Collections, CreatedAt: Time{Time: k.Created}, UpdatedAt: Time{Time: k.Created}}
	if k.Expires != nil {
		a.ExpiresAt = &Time{Time: *k.Expires}
	}
	if k.Scopes == access.All {
		a.Actions = []string{"*"}
		return a
	}
	for _, of := range actions {
		if of.scopes != 0 && k.Scopes.Has(of.scopes) && (strings.HasSuffix(of.name, "*") || !strings.Contains(of.name, ".")) {
			a.Actions = append(a.Actions, of.name)
		}
	}
	for _, half := range []string{"documents.get", "documents.add"} {
		if scopes, _ := Scopes([]string{half}); k.Scopes.Has(scopes) && !slices.Contains(a.Actions, "documents.*") {
			a.Actions = append(a.Actions, half)
		}
	}
	return a
}
