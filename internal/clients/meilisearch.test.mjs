// The clients of Meilisearch against searchd: npm meilisearch, and @meilisearch/instant-meilisearch as InstantSearch uses it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Meilisearch } from 'meilisearch';
import { instantMeiliSearch } from '@meilisearch/instant-meilisearch';

const host = process.env.SEARCHD_URL;
const client = new Meilisearch({ host });
const films = [
  { film_id: 1, title: 'Carol', genres: ['Romance', 'Drama'], year: 2015, director: 'Todd Haynes' },
  { film_id: 2, title: 'Wonder Woman', genres: ['Action', 'Adventure'], year: 2017, director: 'Patty Jenkins' },
  { film_id: 3, title: 'Life of Pi', genres: ['Adventure', 'Drama'], year: 2012, director: 'Ang Lee' },
  { film_id: 4, title: 'Mad Max: Fury Road', genres: ['Adventure', 'Science Fiction'], year: 2015, director: 'George Miller' },
  { film_id: 5, title: 'Moana', genres: ['Fantasy', 'Action'], year: 2016, director: 'Ron Clements' },
];

test('health, version, indexes', async () => {
  assert.equal((await client.health()).status, 'available');
  assert.ok((await client.getVersion()).pkgVersion);
  const made = await client.createIndex('empty', { primaryKey: 'key' }).waitTask();
  assert.equal(made.status, 'succeeded');
  assert.equal((await client.getRawIndex('empty')).primaryKey, 'key');
  assert.equal((await client.createIndex('empty').waitTask()).error.code, 'index_already_exists');
  assert.equal((await client.deleteIndex('empty').waitTask()).status, 'succeeded');
  await assert.rejects(client.getRawIndex('empty'), (e) => e.cause.code === 'index_not_found');
});

test('documents', async () => {
  const index = client.index('films');
  const task = await index.addDocuments(films).waitTask();
  assert.deepEqual([task.status, task.details.indexedDocuments, task.type], ['succeeded', 5, 'documentAdditionOrUpdate']);
  assert.equal(await index.fetchPrimaryKey(), 'film_id');
  assert.deepEqual(await index.getDocument(3), films[2]);
  await index.updateDocuments([{ film_id: 3, year: 2013 }, { film_id: 3, seen: true }]).waitTask();
  assert.deepEqual(await index.getDocument(3), { ...films[2], year: 2013, seen: true });
  const page = await index.getDocuments({ limit: 2, offset: 1, fields: ['title'], filter: 'year >= 2015' });
  assert.equal(page.total, 4);
  assert.deepEqual(page.results, [{ title: 'Wonder Woman' }, { title: 'Mad Max: Fury Road' }]);
  await index.addDocuments([{ film_id: 6, title: 'Doomed' }, { film_id: 7, title: 'Doomed' }, { film_id: 8, title: 'Doomed too' }]).waitTask();
  await index.deleteDocument(6).waitTask();
  await index.deleteDocuments([7]).waitTask();
  assert.equal((await index.deleteDocuments({ filter: 'title = "Doomed too"' }).waitTask()).details.deletedDocuments, 1);
  await assert.rejects(index.getDocument(6), (e) => e.cause.code === 'document_not_found');
  assert.equal((await index.getStats()).numberOfDocuments, 5);
  const bad = await index.addDocuments([{ title: 'without an id' }]).waitTask();
  assert.deepEqual([bad.status, bad.error.code], ['failed', 'missing_document_id']);
  assert.ok((await client.tasks.getTasks({ indexUids: ['films'], statuses: ['failed'] })).total >= 1);
});

test('settings', async () => {
  const index = client.index('films');
  await index.updateSettings({ filterableAttributes: ['genres', 'year', 'director'], sortableAttributes: ['year'], synonyms: { movie: ['film'] } }).waitTask();
  const all = await index.getSettings();
  assert.deepEqual(all.filterableAttributes, ['genres', 'year', 'director']);
  assert.deepEqual(all.synonyms, { movie: ['film'] });
  await index.updateTypoTolerance({ enabled: false }).waitTask();
  assert.equal((await index.getTypoTolerance()).minWordSizeForTypos.oneTypo, 5);
  assert.equal((await index.search('wonder wooman')).hits[0]?.title, 'Wonder Woman');
  await index.resetTypoTolerance().waitTask();
  assert.equal((await index.getTypoTolerance()).enabled, true);
  assert.equal((await index.updateSettings({ nonsense: 1 }).waitTask().catch((e) => e)).cause?.code, 'bad_request');
});

test('search', async () => {
  const index = client.index('films');
  const found = await index.search('wondre', { attributesToHighlight: ['title'], showRankingScore: true, showMatchesPosition: true });
  assert.equal(found.hits[0]._formatted.title, '<em>Wonder</em> Woman');
  assert.deepEqual(found.hits[0]._matchesPosition.title, [{ start: 0, length: 6 }]);
  assert.ok(found.hits[0]._rankingScore > 0 && found.hits[0]._rankingScore < 1);
  assert.equal((await index.search('wond')).hits[0].title, 'Wonder Woman');
  const filtered = await index.search('', { filter: ['genres = Adventure', ['year > 2016', 'year < 2014']], sort: ['year:desc'], facets: ['genres', 'year'] });
  assert.deepEqual(filtered.hits.map((h) => h.film_id), [2, 3]);
  assert.deepEqual(filtered.facetDistribution.genres, { Adventure: 2, Action: 1, Drama: 1 });
  assert.deepEqual(filtered.facetStats.year, { min: 2013, max: 2017 });
  assert.equal(filtered.estimatedTotalHits, 2);
  const paged = await index.search('', { hitsPerPage: 2, page: 3 });
  assert.deepEqual([paged.totalHits, paged.totalPages, paged.hits.length], [5, 3, 1]);
  const meaning = await index.search('a superhero', { hybrid: { embedder: 'default', semanticRatio: 1 }, limit: 1, attributesToRetrieve: ['title'] });
  assert.deepEqual(meaning.hits, [{ title: 'Wonder Woman' }]);
  assert.equal((await index.searchForFacetValues({ facetName: 'genres', facetQuery: 'adv' })).facetHits[0].value, 'Adventure');
  assert.ok((await index.searchSimilarDocuments({ id: 2, embedder: 'default', limit: 2 })).hits.length > 0);
  await assert.rejects(index.search('x', { filter: 'year >' }), (e) => e.cause.code === 'invalid_search_filter');
  await assert.rejects(client.index('nowhere').search('x'), (e) => e.cause.code === 'index_not_found');
  const multi = await client.multiSearch({ queries: [{ indexUid: 'films', q: 'carol' }, { indexUid: 'films', q: 'moana', limit: 1 }] });
  assert.deepEqual(multi.results.map((r) => r.hits[0].title), ['Carol', 'Moana']);
});

test('InstantSearch', async () => {
  const { searchClient } = instantMeiliSearch(host, 'unused', { primaryKey: 'film_id', finitePagination: true });
  const { results } = await searchClient.search([
    { indexName: 'films', params: { query: 'adventure', facets: ['genres', 'year'], facetFilters: [['genres:Adventure']], hitsPerPage: 2, page: 0, highlightPreTag: '__ais-highlight__', highlightPostTag: '__/ais-highlight__' } },
    { indexName: 'films', params: { query: '', facets: ['genres'], numericFilters: ['year>=2016'], hitsPerPage: 20, page: 0 } },
  ]);
  assert.equal(results[0].nbHits, 3);
  assert.equal(results[0].hits.length, 2);
  assert.equal(results[0].hits[0].objectID, results[0].hits[0].film_id);
  assert.match(JSON.stringify(results[0].hits[0]._highlightResult.genres), /__ais-highlight__Adventure__\/ais-highlight__/);
  assert.equal(results[0].facets.genres.Adventure, 3);
  assert.equal(results[1].nbHits, 2);
});
