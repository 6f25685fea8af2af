package apitest

import (
	"context"
	"io"

	"searchd/encoder"
	"searchd/search"
)

// The methods of api.Engine that take a context are those of the engine, after the hook.

func (e *Engine) Search(ctx context.Context, collection string, q search.Query) (*search.Response, error) {
	return hooked(ctx, e, "Search", func() (*search.Response, error) { return e.Engine.Search(ctx, collection, q) })
}

func (e *Engine) SearchBatch(ctx context.Context, collection string, queries []search.Query) ([]search.BatchResult, error) {
	return hooked(ctx, e, "SearchBatch", func() ([]search.BatchResult, error) { return e.Engine.SearchBatch(ctx, collection, queries) })
}

func (e *Engine) Similar(ctx context.Context, collection string, q search.Similar) (*search.Response, error) {
	return hooked(ctx, e, "Similar", func() (*search.Response, error) { return e.Engine.Similar(ctx, collection, q) })
}

func (e *Engine) Explain(ctx context.Context, collection, id string, q search.Query) (*search.Explanation, error) {
	return hooked(ctx, e, "Explain", func() (*search.Explanation, error) { return e.Engine.Explain(ctx, collection, id, q) })
}

func (e *Engine) Collection(ctx context.Context, name string) (search.CollectionInfo, error) {
	return hooked(ctx, e, "Collection", func() (search.CollectionInfo, error) { return e.Engine.Collection(ctx, name) })
}

func (e *Engine) Collections(ctx context.Context) ([]search.CollectionInfo, error) {
	return hooked(ctx, e, "Collections", func() ([]search.CollectionInfo, error) { return e.Engine.Collections(ctx) })
}

func (e *Engine) Gauges(ctx context.Context, name string) (*search.Gauges, error) {
	return hooked(ctx, e, "Gauges", func() (*search.Gauges, error) { return e.Engine.Gauges(ctx, name) })
}

func (e *Engine) Language(ctx context.Context, name string) (*search.Language, error) {
	return hooked(ctx, e, "Language", func() (*search.Language, error) { return e.Engine.Language(ctx, name) })
}

func (e *Engine) CreateCollection(ctx context.Context, name string, s search.Settings) (search.CollectionInfo, error) {
	return hooked(ctx, e, "CreateCollection", func() (search.CollectionInfo, error) { return e.Engine.CreateCollection(ctx, name, s) })
}

func (e *Engine) EnsureCollection(ctx context.Context, name string, s search.Settings) (info search.CollectionInfo, created bool, err error) {
	if err = e.enter(ctx, "EnsureCollection"); err == nil {
		info, created, err = e.Engine.EnsureCollection(ctx, name, s)
	}
	return
}

func (e *Engine) ChangeSettings(ctx context.Context, name string, change func(search.Settings) (search.Settings, error)) (search.CollectionInfo, error) {
	return hooked(ctx, e, "ChangeSettings", func() (search.CollectionInfo, error) { return e.Engine.ChangeSettings(ctx, name, change) })
}

func (e *Engine) DropCollection(ctx context.Context, name string) error {
	if err := e.enter(ctx, "DropCollection"); err != nil {
		return err
	}
	return e.Engine.DropCollection(ctx, name)
}

func (e *Engine) Aliases(ctx context.Context) ([]search.Alias, error) {
	return hooked(ctx, e, "Aliases", func() ([]search.Alias, error) { return e.Engine.Aliases(ctx) })
}

func (e *Engine) Alias(ctx context.Context, alias string) (search.Alias, error) {
	return hooked(ctx, e, "Alias", func() (search.Alias, error) { return e.Engine.Alias(ctx, alias) })
}

func (e *Engine) SetAlias(ctx context.Context, alias, collection string) (created bool, err error) {
	return hooked(ctx, e, "SetAlias", func() (bool, error) { return e.Engine.SetAlias(ctx, alias, collection) })
}

func (e *Engine) DeleteAlias(ctx context.Context, alias string) error {
	if err := e.enter(ctx, "DeleteAlias"); err != nil {
		return err
	}
	return e.Engine.DeleteAlias(ctx, alias)
}

func (e *Engine) Tasks(ctx context.Context) ([]search.Task, error) {
	return hooked(ctx, e, "Tasks", func() ([]search.Task, error) { return e.Engine.Tasks(ctx) })
}

func (e *Engine) Task(ctx context.Context, id string) (search.Task, error) {
	return hooked(ctx, e, "Task", func() (search.Task, error) { return e.Engine.Task(ctx, id) })
}

func (e *Engine) CancelTask(ctx context.Context, id string) (search.Task, error) {
	return hooked(ctx, e, "CancelTask", func() (search.Task, error) { return e.Engine.CancelTask(ctx, id) })
}

func (e *Engine) Reembed(ctx context.Context, collection string, o search.ReembedOptions) (search.Task, error) {
	return hooked(ctx, e, "Reembed", func() (search.Task, error) { return e.Engine.Reembed(ctx, collection, o) })
}

func (e *Engine) Snapshots(ctx context.Context) ([]search.Snapshot, error) {
	return hooked(ctx, e, "Snapshots", func() ([]search.Snapshot, error) { return e.Engine.Snapshots(ctx) })
}

func (e *Engine) CreateSnapshot(ctx context.Context) (search.Task, error) {
	return hooked(ctx, e, "CreateSnapshot", func() (search.Task, error) { return e.Engine.CreateSnapshot(ctx) })
}

func (e *Engine) OpenSnapshot(ctx context.Context, id string) (r io.ReadSeekCloser, s search.Snapshot, err error) {
	if err = e.enter(ctx, "OpenSnapshot"); err == nil {
		r, s, err = e.Engine.OpenSnapshot(ctx, id)
	}
	return
}

func (e *Engine) DeleteSnapshot(ctx context.Context, id string) error {
	if err := e.enter(ctx, "DeleteSnapshot"); err != nil {
		return err
	}
	return e.Engine.DeleteSnapshot(ctx, id)
}

func (e *Engine) Ingest(ctx context.Context, collection string, docs []search.Document) ([]search.ItemResult, error) {
	return hooked(ctx, e, "Ingest", func() ([]search.ItemResult, error) { return e.Engine.Ingest(ctx, collection, docs) })
}

func (e *Engine) Document(ctx context.Context, collection, id string) (*search.StoredDocument, error) {
	return hooked(ctx, e, "Document", func() (*search.StoredDocument, error) { return e.Engine.Document(ctx, collection, id) })
}

func (e *Engine) Documents(ctx context.Context, collection, cursor string, limit int) (docs []search.StoredDocument, next string, err error) {
	if err = e.enter(ctx, "Documents"); err == nil {
		docs, next, err = e.Engine.Documents(ctx, collection, cursor, limit)
	}
	return
}

func (e *Engine) DeleteDocument(ctx context.Context, collection, id string, ifRevision *uint64) (search.ItemResult, error) {
	return hooked(ctx, e, "DeleteDocument", func() (search.ItemResult, error) { return e.Engine.DeleteDocument(ctx, collection, id, ifRevision) })
}

func (e *Engine) DeleteDocuments(ctx context.Context, collection string, ids []string) ([]search.ItemResult, error) {
	return hooked(ctx, e, "DeleteDocuments", func() ([]search.ItemResult, error) { return e.Engine.DeleteDocuments(ctx, collection, ids) })
}

func (e *Engine) DeleteByFilter(ctx context.Context, collection, filter string, dryRun bool) (search.Deletion, error) {
	return hooked(ctx, e, "DeleteByFilter", func() (search.Deletion, error) { return e.Engine.DeleteByFilter(ctx, collection, filter, dryRun) })
}

func (e *Engine) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	return hooked(ctx, e, "Embed", func() (*search.Embeddings, error) { return e.Engine.Inference().Embed(ctx, texts, o) })
}

func (e *Engine) EmbedIDs(ctx context.Context, ids [][]int32, o search.EmbedOptions) (*search.Embeddings, error) {
	return hooked(ctx, e, "EmbedIDs", func() (*search.Embeddings, error) { return e.Engine.Inference().EmbedIDs(ctx, ids, o) })
}

func (e *Engine) EmbedTokens(ctx context.Context, texts []string, ids [][]int32, o search.EmbedOptions) (*search.TokenVectors, error) {
	return hooked(ctx, e, "EmbedTokens", func() (*search.TokenVectors, error) { return e.Engine.Inference().EmbedTokens(ctx, texts, ids, o) })
}

func (e *Engine) EmbedSparse(ctx context.Context, texts []string, o search.EmbedOptions) (*encoder.SparseResult, error) {
	return hooked(ctx, e, "EmbedSparse", func() (*encoder.SparseResult, error) { return e.Engine.Inference().EmbedSparse(ctx, texts, o) })
}

func (e *Engine) Rerank(ctx context.Context, query string, texts []string) (*search.Ranking, error) {
	return hooked(ctx, e, "Rerank", func() (*search.Ranking, error) { return e.Engine.Inference().Rerank(ctx, query, texts) })
}

func (e *Engine) Tokenize(ctx context.Context, texts []string, special bool, o search.EmbedOptions) ([]search.Tokenization, error) {
	return hooked(ctx, e, "Tokenize", func() ([]search.Tokenization, error) { return e.Engine.Inference().Tokenize(ctx, texts, special, o) })
}

func (e *Engine) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	return hooked(ctx, e, "Decode", func() ([]string, error) { return e.Engine.Inference().Decode(ctx, ids, skipSpecial) })
}

func (e *Engine) Attention(ctx context.Context, text string, o search.AttentionOptions) (*search.Attention, error) {
	return hooked(ctx, e, "Attention", func() (*search.Attention, error) { return e.Engine.Inference().Attention(ctx, text, o) })
}

func (e *Engine) Contributions(ctx context.Context, texts [2]string, o [2]search.EmbedOptions) (*search.Contribution, error) {
	return hooked(ctx, e, "Contributions", func() (*search.Contribution, error) { return e.Engine.Inference().Contributions(ctx, texts, o) })
}

func (e *Engine) Map(ctx context.Context, collection string, o search.MapOptions) (*search.Map, error) {
	return hooked(ctx, e, "Map", func() (*search.Map, error) { return e.Engine.Map(ctx, collection, o) })
}

func (e *Engine) Stats(ctx context.Context) (*search.Stats, error) {
	return hooked(ctx, e, "Stats", func() (*search.Stats, error) { return e.Engine.Stats(ctx) })
}

// Model describes the checkpoint.
func (e *Engine) Model() search.ModelInfo { return e.Engine.Inference().Model() }

// Encoder describes what the checkpoints can do.
func (e *Engine) Encoder() search.EncoderInfo { return e.Engine.Inference().Encoder() }
