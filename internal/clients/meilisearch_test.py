"""The PyPI client of Meilisearch, as it is published, against a running searchd at SEARCHD_URL."""
import datetime
import os
import unittest

import meilisearch
from meilisearch.errors import MeilisearchApiError

URL = os.environ["SEARCHD_URL"]


class Meilisearch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = meilisearch.Client(URL)
        cls.index = cls.client.index("books")
        cls.done(cls.index.add_documents([
            {"id": 1, "title": "The Dough", "price": 12.5, "tags": ["bread"]},
            {"id": 2, "title": "Bicycles", "price": 30, "tags": ["sport", "repair"]},
            {"id": 3, "title": "Repairing a puncture", "price": 8, "tags": ["repair"]},
        ]))

    @classmethod
    def tearDownClass(cls):
        cls.done(cls.client.delete_index("books"))

    @classmethod
    def done(cls, task):
        task = cls.client.wait_for_task(task.task_uid)
        assert task.status == "succeeded", task
        return task

    def test_server(self):
        self.assertTrue(self.client.is_healthy())
        self.assertTrue(self.client.get_version()["pkgVersion"])
        self.assertIn("books", [i.uid for i in self.client.get_indexes()["results"]])
        self.assertEqual(self.client.get_all_stats()["indexes"]["books"]["numberOfDocuments"], 3)

    def test_documents(self):
        self.assertEqual(dict(self.index.get_document(2))["title"], "Bicycles")
        page = self.index.get_documents({"limit": 1, "offset": 1})
        self.assertEqual((page.total, dict(page.results[0])["id"]), (3, 2))
        self.done(self.index.add_documents([{"id": "x-1", "title": "Short-lived"}]))
        self.done(self.index.update_documents([{"id": "x-1", "price": 1}]))
        self.assertEqual(dict(self.index.get_document("x-1"))["title"], "Short-lived")
        self.done(self.index.delete_document("x-1"))
        with self.assertRaises(MeilisearchApiError) as caught:
            self.index.get_document("x-1")
        self.assertEqual(caught.exception.code, "document_not_found")
        self.done(self.index.add_documents_csv(b"id,title,price:number\nc1,Of a table,7\n"))
        self.assertEqual(dict(self.index.get_document("c1"))["price"], 7)
        self.done(self.index.add_documents_ndjson(b'{"id":"n1","title":"Of a line"}\n{"id":"n2","title":"Of another"}\n'))
        self.done(self.index.delete_documents(ids=["c1", "n1", "n2"]))

    def test_search(self):
        found = self.index.search("repiar", {"filter": "price < 20", "attributesToHighlight": ["*"]})
        self.assertEqual([h["id"] for h in found["hits"]], [3])
        found = self.index.search("", {"sort": ["price:desc"], "facets": ["tags"], "limit": 1})
        self.assertEqual((found["hits"][0]["id"], found["estimatedTotalHits"]), (2, 3))
        self.assertEqual(found["facetDistribution"]["tags"], {"bread": 1, "repair": 2, "sport": 1})
        self.assertEqual(len(self.client.multi_search([{"indexUid": "books", "q": "dough"}])["results"][0]["hits"]), 1)

    def test_settings(self):
        self.done(self.index.update_settings({"searchableAttributes": ["title"], "stopWords": ["the"]}))
        self.assertEqual(self.index.get_searchable_attributes(), ["title"])
        self.assertEqual(self.index.search("sport")["hits"], [])
        self.done(self.index.reset_settings())
        self.assertEqual(self.index.get_searchable_attributes(), ["*"])
        self.assertTrue(self.index.get_typo_tolerance().enabled)

    def test_z_keys(self):
        """The last test: from here on requests need a key."""
        admin = self.client.create_key({"description": "all", "actions": ["*"], "indexes": ["*"], "expiresAt": None})
        type(self).client = client = meilisearch.Client(URL, admin.key)
        type(self).index = client.index("books")
        key = client.create_key({"description": "reader", "actions": ["search"], "indexes": ["books"], "expiresAt": None})
        self.assertEqual(client.get_key(key.uid).actions, ["search"])
        self.assertIn(key.uid, [k.uid for k in client.get_keys().results])
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        token = client.generate_tenant_token(key.uid, {"books": {"filter": "tags = repair"}}, api_key=key.key, expires_at=until)
        tenant = meilisearch.Client(URL, token).index("books")
        self.assertEqual(sorted(h["id"] for h in tenant.search("")["hits"]), [2, 3])
        self.assertEqual(tenant.search("dough")["hits"], [])
        self.assertEqual([h["id"] for h in tenant.search("", {"filter": "price > 20 OR price < 20 OR tags = bread"})["hits"]], [2, 3])
        with self.assertRaises(MeilisearchApiError) as caught:
            tenant.get_documents()
        self.assertEqual(caught.exception.code, "invalid_api_key")
        client.delete_key(key.uid)
        with self.assertRaises(MeilisearchApiError):
            tenant.search("")


if __name__ == "__main__":
    unittest.main()
