// Package embedder has the settings of where the vectors of a collection come from, if not from the
// server's model. Package search/inference/remote asks the servers.
package embedder

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/searchd/search/fault"
)

// Config is a server and what it encodes with.
type Config struct {
	Source         string  `json:"source"`                    // openai, ollama, tei, cohere
	URL            string  `json:"url,omitempty"`             // default: that of the source
	Model          string  `json:"model,omitempty"`           // not of tei, which has one
	Dimension      int     `json:"dimension"`                 // of the vectors
	KeyEnv         string  `json:"key_env,omitempty"`         // environment variable with the key
	QueryPrompt    string  `json:"query_prompt,omitempty"`    // put before each query
	DocumentPrompt string  `json:"document_prompt,omitempty"` // put before each passage
	Batch          int     `json:"batch,omitempty"`           // texts of a request; default: what the source allows
	Rate           float64 `json:"rate_limit,omitempty"`      // requests per second; 0: not limited here
}

// Environment variables.
const (
	HostsEnv  = "EMBEDDER_HOSTS"
	KeyPrefix = "EMBEDDER_KEY"
)

// Limits.
const (
	MaxBatch = 2048
	maxRate  = 1e6
	maxText  = 4096 // bytes of a model's name, an address or a prompt
)

var keyName = regexp.MustCompile(`^` + KeyPrefix + `[A-Z0-9_]{0,64}$`)

// source is a protocol.
type source struct {
	base   string // default URL
	public bool   // its host may always be asked
	path   string
	batch  int  // texts of a request
	model  bool // requests name a model
}

var sources = map[string]source{
	"openai": {base: "https://api.openai.com/v1", public: true, path: "/embeddings", batch: 128, model: true},
	"ollama": {base: "http://127.0.0.1:11434", path: "/api/embed", batch: 32, model: true},
	"tei":    {path: "/embed", batch: 32},
	"cohere": {base: "https://api.cohere.com", public: true, path: "/v2/embed", batch: 96, model: true},
}

// Sources returns the names of the protocols.
func Sources() []string { return []string{"openai", "ollama", "tei", "cohere"} }

// Faults names what is wrong with a config, apart from its dimension.
func (c Config) Faults() (wrong fault.Fields) {
	p, ok := sources[c.Source]
	if !ok {
		wrong.Add("source", c.Source, "given, "+strings.Join(Sources(), ", "))
		return wrong
	}
	if p.model == (c.Model == "") || len(c.Model) > maxText {
		allowed := "the name of a model of the server"
		if !p.model {
			allowed = "left out: such a server has one"
		}
		wrong.Add("model", c.Model, allowed)
	}
	if _, err := c.Address(); err != nil {
		wrong.Add("url", c.URL, err.Error())
	}
	if c.KeyEnv != "" && !keyName.MatchString(c.KeyEnv) {
		wrong.Add("key_env", c.KeyEnv, "the name of an environment variable of the server that begins with "+KeyPrefix+", of capitals, digits and _")
	}
	if c.Batch < 0 || c.Batch > MaxBatch {
		wrong.Add("batch", c.Batch, fmt.Sprintf("1 to %d, or 0 for the default", MaxBatch))
	}
	if !(c.Rate >= 0 && c.Rate <= maxRate) {
		wrong.Add("rate_limit", c.Rate, "requests per second, or 0 for none")
	}
	for name, text := range map[string]string{"query_prompt": c.QueryPrompt, "document_prompt": c.DocumentPrompt} {
		if len(text) > maxText {
			wrong.Add(name, text, fmt.Sprintf("at most %d bytes", maxText))
		}
	}
	return wrong
}

// Address returns the URL that texts go to. Its error says what is allowed.
func (c Config) Address() (*url.URL, error) {
	p := sources[c.Source]
	text := cmp.Or(c.URL, p.base)
	u, err := url.Parse(text)
	if err != nil || len(text) > maxText || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("an http or https address without user, query and fragment")
	}
	if base, err := url.Parse(p.base); p.public && err == nil && base.Host == strings.ToLower(u.Host) && base.Scheme == u.Scheme {
		return u.JoinPath(p.path), nil
	}
	if !Trusted(u) {
		return nil, fmt.Errorf("an address whose host, %s, the environment variable %s of the server lists", u.Host, HostsEnv)
	}
	return u.JoinPath(p.path), nil
}

// Listed returns the hosts of EMBEDDER_HOSTS, with their ports as they are written.
func Listed() []string {
	return strings.FieldsFunc(strings.ToLower(os.Getenv(HostsEnv)), func(r rune) bool { return r == ',' || r == ' ' })
}

// Identity names what decides a vector: who encodes it, and with what.
func (c Config) Identity() string {
	return fmt.Sprintf("%s %s %d %q %q", c.Source, c.Model, c.Dimension, c.QueryPrompt, c.DocumentPrompt)
}

// BatchSize returns how many texts a request may have.
func (c Config) BatchSize() int { return cmp.Or(c.Batch, sources[c.Source].batch) }

// Trusted reports whether the operator lists the host of an address.
func Trusted(u *url.URL) bool { return slices.Contains(Listed(), strings.ToLower(u.Host)) }
