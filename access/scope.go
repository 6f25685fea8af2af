package access

import (
	"encoding/json"
	"slices"
	"strings"
)

// Scopes is a set of permissions. Its text is their names, its JSON an array of them.
type Scopes uint8

// The scopes.
const (
	Search           Scopes = 1 << iota // search collections, encode and re-rank texts
	DocumentsRead                       // read, list and export documents
	DocumentsWrite                      // write, import and delete documents
	CollectionsAdmin                    // make, change and drop collections
	KeysAdmin                           // make, list and revoke keys
	MetricsRead                         // read the server's metrics, which name all collections
	AnalyticsRead                       // read what users searched for, and which hits they opened

	All = 1<<iota - 1
)

// scopeNames are the names of the scopes, in the order of their bits.
var scopeNames = [...]string{"search", "documents:read", "documents:write", "collections:admin", "keys:admin", "metrics:read", "analytics:read"}

// ScopeNames returns the names of all scopes.
func ScopeNames() []string { return slices.Clone(scopeNames[:]) }

// ParseScopes returns the set of the named scopes; "all" names all of them.
func ParseScopes(names []string) (Scopes, error) {
	var s Scopes
	for _, name := range names {
		i := slices.Index(scopeNames[:], name)
		switch {
		case name == "all":
			s |= All
		case i < 0:
			return 0, &FieldError{"scopes", name, strings.Join(scopeNames[:], ", ")}
		default:
			s |= 1 << i
		}
	}
	return s, nil
}

// Has reports whether s holds all of other.
func (s Scopes) Has(other Scopes) bool { return s&other == other }

// Names returns the names of the scopes in s.
func (s Scopes) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (s Scopes) String() string {
	if s == 0 {
		return "none"
	}
	return strings.Join(s.Names(), ", ")
}

// MarshalJSON implements json.Marshaler.
func (s Scopes) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON implements json.Unmarshaler. An unknown name is a [FieldError].
func (s *Scopes) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return &FieldError{"scopes", string(b), "an array of " + strings.Join(scopeNames[:], ", ")}
	}
	parsed, err := ParseScopes(names)
	if err == nil {
		*s = parsed
	}
	return err
}
