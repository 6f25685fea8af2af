package api

import (
	_ "embed"
	"fmt"
	"net/http"
	"runtime"

	"example.com/searchd/search"
)

type health struct {
	Status  string `json:"status"`            // always ok: a server that is not ready answers with an error
	Warning string `json:"warning,omitempty"` // what the server cannot do, while it answers searches
}

// livez reports that the process runs. It checks nothing, since a busy server must not be
// restarted.
func (s *Server) livez(_ http.ResponseWriter, r *http.Request) (any, error) {
	return health{Status: "ok"}, nil
}

// readyz reports whether the server can answer. A server that refuses writes after a failed commit
// still answers searches.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.draining.Load() {
		return nil, fmt.Errorf("%w: shutting down", errNotReady)
	}
	if err := s.o.Engine.Ready(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReady, err)
	}
	if s.o.NodeReady != nil {
		if err := s.o.NodeReady(); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotReady, err)
		}
	}
	h := health{Status: "ok"}
	if s.o.Warning != nil {
		h.Warning = s.o.Warning()
	}
	if err := s.o.Engine.ReadOnly(); err != nil {
		h.Warning = "writes are rejected until a restart:  " + search.ErrReadOnly.Error() + " after a failed commit"
	}
	return h, nil
}

// info describes the server. The first group is named as in text-embeddings-inference.
type info struct {
	ModelID             string  `json:"model_id"`
	ModelSHA            string  `json:"model_sha"`
	ModelDType          string  `json:"model_dtype"` // float32, int8
	ServedModelName     string  `json:"served_model_name"`
	ModelType           any     `json:"model_type"`
	MaxConcurrent       int     `json:"max_concurrent_requests"`
	MaxInputLength      int     `json:"max_input_length"`
	MaxBatchTokens      int     `json:"max_batch_tokens"`
	MaxBatchRequests    *int    `json:"max_batch_requests"`
	MaxClientBatchSize  int     `json:"max_client_batch_size"`
	AutoTruncate        bool    `json:"auto_truncate"`
	TokenizationWorkers int     `json:"tokenization_workers"`
	Version             string  `json:"version"`
	SHA                 *string `json:"sha"`
	DockerLabel         *string `json:"docker_label"`

	Name    string             `json:"name"`
	Model   search.ModelInfo   `json:"model"`
	Encoder search.EncoderInfo `json:"encoder"`
	Limits  infoLimits         `json:"limits"`

	Analytics bool `json:"analytics,omitempty"` // searches are logged

	Defaults search.Settings `json:"defaults"` // what holds where the settings of a collection say nothing
}

type infoLimits struct {
	Body            int64   `json:"body_bytes"`
	Documents       int64   `json:"documents_bytes"`
	Import          int64   `json:"import_bytes"`
	Document        int     `json:"document_bytes"`
	PDF             int64   `json:"pdf_bytes"`  // 0: none are taken
	File            int64   `json:"file_bytes"` // of a document of an office program, an e-book, a notebook or a message
	Items           int     `json:"items"`
	RerankTexts     int     `json:"rerank_texts"`
	RequestTokens   int     `json:"request_tokens"` // of one request that embeds or re-ranks several texts
	TokenTexts      int     `json:"token_texts"`
	TokenValues     int     `json:"token_values"`
	AttentionTokens int     `json:"attention_tokens"`
	Query           int     `json:"query_bytes"`
	Hits            int     `json:"hits"`
	Window          int     `json:"window"`
	SearchSeconds   float64 `json:"search_seconds"`
}

func (s *Server) info(_ http.ResponseWriter, r *http.Request) (any, error) {
	m, e := s.o.Inference.Model(), s.o.Inference.Encoder()
	dtype := "float32"
	if e.Precision == "int8" {
		dtype = e.Precision
	}
	return info{
		ModelID: m.Name, ModelSHA: m.SHA256, ModelDType: dtype, ServedModelName: m.Name,
		ModelType:      map[string]any{"embedding": map[string]string{"pooling": m.Pooling}},
		MaxInputLength: m.MaxTokens, MaxBatchTokens: search.MaxBatchTokens, MaxClientBatchSize: s.o.MaxEmbedTexts,
		MaxConcurrent: s.o.EmbedSlots, AutoTruncate: true, TokenizationWorkers: runtime.GOMAXPROCS(0),
		Version: s.o.Version, SHA: s.o.revision(), Name: "searchd", Model: m, Encoder: e,
		Limits: infoLimits{Body: s.o.MaxBody, Documents: s.o.MaxDocuments, Import: s.o.MaxImport, Document: s.o.MaxItem, PDF: s.pdfBytes(), File: maxFile,
			Items: maxItems, RerankTexts: maxRerankTexts, RequestTokens: search.MaxRequestTokens, TokenTexts: maxTokenTexts, TokenValues: search.MaxTokenValues, AttentionTokens: search.MaxAttentionTokens, Query: search.MaxQueryBytes, Hits: search.MaxLimit, Window: search.MaxWindow,
			SearchSeconds: s.o.SearchTimeout.Seconds()},
		Analytics: s.o.Analytics != nil,
		Defaults:  search.DefaultSettings(m),
	}, nil
}

//go:embed openapi.yaml
var openAPI []byte

func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, err := w.Write(openAPI)
	return err
}

// clusterStatus describes the cluster as this node sees it.
func (s *Server) clusterStatus(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.o.ClusterStatus == nil {
		return nil, fmt.Errorf("%w: this server is not a node of a cluster; `searchd serve --cluster NAME` makes it one", search.ErrUnsupported)
	}
	return s.o.ClusterStatus(r.Context()), nil
}

// changeNode makes a change of a node.
func (s *Server) changeNode(change string) func(http.ResponseWriter, *http.Request) error {
	return func(_ http.ResponseWriter, r *http.Request) error {
		if s.o.ClusterNode == nil {
			return fmt.Errorf("%w: this server is not a node of a cluster; `searchd serve --cluster NAME` makes it one", search.ErrUnsupported)
		}
		return s.o.ClusterNode(r.Context(), r.PathValue("node"), change)
	}
}
