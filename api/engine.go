package api

import (
	"context"
	"io"

	"example.com/searchd/encoder"
	"example.com/searchd/search"
)

// Engine is what a [Server] serves; [search.Engine] implements it.
type Engine interface {
	Search(ctx context.Context, collection string, q search.Query) (*search.Response, error)
	SearchBatch(ctx context.Context, collection string, queries []search.Query) ([]search.BatchResult, error)
	Similar(ctx context.Context, collection string, q search.Similar) (*search.Response, error)
	Suggest(ctx context.Context, collection string, q search.Suggest) (*search.Suggestions, error)
	Explain(ctx context.Context, collection, id string, q search.Query) (*search.Explanation, error)
	Map(ctx context.Context, collection string, o search.MapOptions) (*search.Map, error)

	Collection(ctx context.Context, name string) (search.CollectionInfo, error)
	Collections(ctx context.Context) ([]search.CollectionInfo, error)
	CreateCollection(ctx context.Context, name string, s search.Settings) (search.CollectionInfo, error)
	EnsureCollection(ctx context.Context, name string, s search.Settings) (info search.CollectionInfo, created bool, err error)
	ChangeSettings(ctx context.Context, name string, change func(search.Settings) (search.Settings, error)) (search.CollectionInfo, error)
	DropCollection(ctx context.Context, name string) error
	Gauges(ctx context.Context, name string) (*search.Gauges, error)
	Language(ctx context.Context, name string) (*search.Language, error)

	Aliases(ctx context.Context) ([]search.Alias, error)
	Alias(ctx context.Context, alias string) (search.Alias, error)
	SetAlias(ctx context.Context, alias, collection string) (created bool, err error)
	DeleteAlias(ctx context.Context, alias string) error

	Ingest(ctx context.Context, collection string, docs []search.Document) ([]search.ItemResult, error)
	Document(ctx context.Context, collection, id string) (*search.StoredDocument, error)
	Documents(ctx context.Context, collection, cursor string, limit int) (docs []search.StoredDocument, next string, err error)
	DeleteDocument(ctx context.Context, collection, id string, ifRevision *uint64) (search.ItemResult, error)
	DeleteDocuments(ctx context.Context, collection string, ids []string) ([]search.ItemResult, error)
	DeleteByFilter(ctx context.Context, collection, filter string, dryRun bool) (search.Deletion, error)

	Tasks(ctx context.Context) ([]search.Task, error)
	Task(ctx context.Context, id string) (search.Task, error)
	CancelTask(ctx context.Context, id string) (search.Task, error)
	Reembed(ctx context.Context, collection string, o search.ReembedOptions) (search.Task, error)

	Snapshots(ctx context.Context) ([]search.Snapshot, error)
	CreateSnapshot(ctx context.Context) (search.Task, error)
	OpenSnapshot(ctx context.Context, id string) (io.ReadSeekCloser, search.Snapshot, error)
	DeleteSnapshot(ctx context.Context, id string) error

	Stats(ctx context.Context) (*search.Stats, error)
	Ready() error    // nil when searches can be answered, else the reason
	ReadOnly() error // nil when writes are taken, else the reason
}

// Inference gives access to the checkpoints; [search.Engine.Inference] returns one. Without the
// checkpoint that a method needs it returns [search.ErrUnsupported].
type Inference interface {
	Model() search.ModelInfo
	Encoder() search.EncoderInfo
	Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error)
	EmbedIDs(ctx context.Context, ids [][]int32, o search.EmbedOptions) (*search.Embeddings, error)
	EmbedTokens(ctx context.Context, texts []string, ids [][]int32, o search.EmbedOptions) (*search.TokenVectors, error)
	EmbedSparse(ctx context.Context, texts []string, o search.EmbedOptions) (*encoder.SparseResult, error)
	Rerank(ctx context.Context, query string, texts []string) (*search.Ranking, error)
	Tokenize(ctx context.Context, texts []string, special bool, o search.EmbedOptions) ([]search.Tokenization, error)
	Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error)
	Attention(ctx context.Context, text string, o search.AttentionOptions) (*search.Attention, error)
	Contributions(ctx context.Context, texts [2]string, o [2]search.EmbedOptions) (*search.Contribution, error)
}
