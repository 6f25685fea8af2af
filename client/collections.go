package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Settings are a collection's; what is left out has the server's default.
type Settings struct {
	Language string                   `json:"language,omitempty"`
	Fields   map[string]FieldSettings `json:"fields,omitempty"`
	Synonyms []string                 `json:"synonyms,omitzero"` // rules such as "tv, telly => television"; empty, not nil: PatchCollection takes away those that there are
	Rules    []Rule                   `json:"rules,omitzero"`    // what queries with certain words find; empty, not nil: PatchCollection takes away those that there are
	Passages PassageSettings          `json:"passages,omitzero"`
	Index    IndexSettings            `json:"index,omitzero"`
	Expiry   *Expiry                  `json:"expiry,omitempty"`   // when documents are deleted; nil: never
	Versions *VersionSettings         `json:"versions,omitempty"` // which former versions of documents are kept; nil: none
	Embedder *Embedder                `json:"embedder,omitempty"` // where vectors come from; nil: the server's model
}

// VersionSettings say which former versions of a document are kept: Keep of them, for a span such
// as 30d after they were replaced or deleted.
type VersionSettings struct {
	Keep int    `json:"keep"`
	For  string `json:"for,omitempty"` // in h, d or w; default: 30d
}

// Expiry is when documents are deleted: once the date in Field is After, such as 30d, ago.
type Expiry struct {
	Field string `json:"field"`
	After string `json:"after,omitempty"` // in h, d or w; default: the date itself
}

// Embedder says where the vectors of a collection come from.
type Embedder struct {
	Source         string  `json:"source"`              // given: they come with the documents and the queries; openai, ollama, tei, cohere: from a server
	Dimension      int     `json:"dimension,omitempty"` // components of each vector
	URL            string  `json:"url,omitempty"`       // of the server
	Model          string  `json:"model,omitempty"`
	KeyEnv         string  `json:"key_env,omitempty"` // environment variable of searchd that has the key
	QueryPrompt    string  `json:"query_prompt,omitempty"`
	DocumentPrompt string  `json:"document_prompt,omitempty"`
	Batch          int     `json:"batch,omitempty"`      // texts of a request
	RateLimit      float64 `json:"rate_limit,omitempty"` // requests per second
}

// Rule changes what the queries find whose words it names.
type Rule struct {
	ID       string      `json:"id"`
	Queries  []string    `json:"queries"`
	Match    string      `json:"match,omitempty"`    // exact (default): all words of the query; contains: it has them next to one another
	Pin      []string    `json:"pin,omitempty"`      // ids of documents that are the first hits, in this order
	Hide     []string    `json:"hide,omitempty"`     // ids of documents that are not found
	Boost    []RuleBoost `json:"boost,omitempty"`    // beside the boosts of the query
	Redirect string      `json:"redirect,omitempty"` // where the application sends the user
}

// RuleBoost raises, or with a negative weight lowers, the documents that pass a filter.
type RuleBoost struct {
	Filter string  `json:"filter"`
	Weight float64 `json:"weight"` // -1 to 10, not 0
}

// FieldSettings are the type of a field, text (searched), filter (exact values only) or stored
// (neither), and its weight.
type FieldSettings struct {
	Type   string  `json:"type"`
	Weight float64 `json:"weight,omitempty"`
}

// PassageSettings control how texts are cut into passages.
type PassageSettings struct {
	MaxTokens int  `json:"max_tokens,omitempty"`
	NoTitle   bool `json:"no_title,omitempty"`
}

// IndexSettings tune the vector index.
type IndexSettings struct {
	M              int `json:"m,omitempty"`
	EfConstruction int `json:"ef_construction,omitempty"`
	EfSearch       int `json:"ef_search,omitempty"`

	// TargetRecall is the part of the ten nearest passages that a search is to find, 0.5 to 0.999;
	// not beside EfSearch.
	TargetRecall float64 `json:"target_recall,omitempty"`
	Quantize     string  `json:"quantize,omitempty"` // none, int8
}

// Collection describes a collection.
type Collection struct {
	Name      string    `json:"name"`
	Settings  Settings  `json:"settings"`
	Model     Model     `json:"model"`
	Documents int       `json:"documents"`
	Passages  int       `json:"passages"`
	Sequence  uint64    `json:"sequence"`
	Created   time.Time `json:"created"`
	Damaged   string    `json:"damaged,omitempty"` // why the server cannot open it; it can be deleted, and nothing else

	// DamagedDocuments counts the damaged documents that the server has found. They are left out of
	// searches until they are written again.
	DamagedDocuments int `json:"damaged_documents,omitempty"`

	// Incarnation changes when the collection is recreated or restored from a backup.
	Incarnation string `json:"incarnation"`

	// CopyOf is the Incarnation of the collection that this one is being copied from. Documents are
	// missing until that has ended, and other writes are refused.
	CopyOf string `json:"copy_of,omitempty"`
}

// Model identifies the checkpoint that made a collection's vectors.
type Model struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	Dimension int    `json:"dimension"`
	Pooling   string `json:"pooling"`
	MaxTokens int    `json:"max_tokens"`

	// Parts are the SHA-256 of what decides a vector beside the weights: config, tokenizer, modules
	// and prompt. nil: unknown.
	Parts map[string]string `json:"parts,omitempty"`
}

type collectionBody struct {
	Name     string   `json:"name"`
	Settings Settings `json:"settings"`
}

func collectionPath(name string) string { return "/v1/collections/" + url.PathEscape(name) }

// Collections lists the collections.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	var out struct {
		Collections []Collection `json:"collections"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/collections"}, &out)
	return out.Collections, err
}

// Collection describes one collection; ErrNotFound.
func (c *Client) Collection(ctx context.Context, name string) (*Collection, error) {
	out := &Collection{}
	return out, c.do(ctx, call{method: http.MethodGet, path: collectionPath(name)}, out)
}

// CreateCollection makes a collection; ErrExists, ErrOutcomeUnknown.
func (c *Client) CreateCollection(ctx context.Context, name string, s Settings) (*Collection, error) {
	out := &Collection{}
	return out, c.send(ctx, call{method: http.MethodPost, path: "/v1/collections"}, collectionBody{name, s}, out)
}

// EnsureCollection makes a collection, or brings the settings of one that is there to s.
func (c *Client) EnsureCollection(ctx context.Context, name string, s Settings) (*Collection, error) {
	out := &Collection{}
	return out, c.send(ctx, call{method: http.MethodPut, path: collectionPath(name), effect: repeats}, collectionBody{name, s}, out)
}

// PatchCollection merges s into the settings of a collection; what s leaves out stays.
// ErrOutcomeUnknown.
func (c *Client) PatchCollection(ctx context.Context, name string, s Settings) (*Collection, error) {
	out := &Collection{}
	return out, c.send(ctx, call{method: http.MethodPatch, path: collectionPath(name)}, collectionBody{name, s}, out)
}

// DropCollection drops a collection with its documents; ErrNotFound, ErrOutcomeUnknown.
func (c *Client) DropCollection(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: collectionPath(name)}, nil)
}
