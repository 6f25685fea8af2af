package apitest

import (
	"context"

	"example.com/searchd/encoder"
	"example.com/searchd/search"
)

// These methods call the hook before those of the engine.

func (e *Engine) Search(ctx context.Context, collection string, q search.Query) (*search.Response, error) {
	return hooked(ctx, e, "Search", func() (*search.Response, error) { return e.Engine.Search(ctx, collection, q) })
}

func (e *Engine) Collection(ctx context.Context, name string) (search.CollectionInfo, error) {
	return hooked(ctx, e, "Collection", func() (search.CollectionInfo, error) { return e.Engine.Collection(ctx, name) })
}

func (e *Engine) Collections(ctx context.Context) ([]search.CollectionInfo, error) {
	return hooked(ctx, e, "Collections", func() ([]search.CollectionInfo, error) { return e.Engine.Collections(ctx) })
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

func (e *Engine) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	return hooked(ctx, e, "Embed", func() (*search.Embeddings, error) { return e.Service.Embed(ctx, texts, o) })
}

func (e *Engine) EmbedSparse(ctx context.Context, texts []string, o search.EmbedOptions) (*encoder.SparseResult, error) {
	return hooked(ctx, e, "EmbedSparse", func() (*encoder.SparseResult, error) { return e.Service.EmbedSparse(ctx, texts, o) })
}

func (e *Engine) Rerank(ctx context.Context, query string, texts []string) (*search.Ranking, error) {
	return hooked(ctx, e, "Rerank", func() (*search.Ranking, error) { return e.Service.Rerank(ctx, query, texts) })
}

func (e *Engine) Stats(ctx context.Context) (*search.Stats, error) {
	return hooked(ctx, e, "Stats", func() (*search.Stats, error) { return e.Engine.Stats(ctx) })
}

func (e *Engine) EmbedTokens(ctx context.Context, texts []string, ids [][]int32, o search.EmbedOptions) (*search.TokenVectors, error) {
	return hooked(ctx, e, "EmbedTokens", func() (*search.TokenVectors, error) { return e.Service.EmbedTokens(ctx, texts, ids, o) })
}

func (e *Engine) Tokenize(ctx context.Context, texts []string, special bool, o search.EmbedOptions) ([]search.Tokenization, error) {
	return hooked(ctx, e, "Tokenize", func() ([]search.Tokenization, error) { return e.Service.Tokenize(ctx, texts, special, o) })
}

func (e *Engine) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	return hooked(ctx, e, "Decode", func() ([]string, error) { return e.Service.Decode(ctx, ids, skipSpecial) })
}
