"""LangChain's vector store of Meilisearch, as it is published, against a running searchd at SEARCHD_URL."""
import os
import unittest

import meilisearch
from langchain_community.vectorstores import Meilisearch
from langchain_core.embeddings import Embeddings

EMBEDDERS = {"letters": {"source": "userProvided", "dimensions": 26}}


class Letters(Embeddings):
    """How often a text has each letter."""

    def embed_documents(self, texts):
        return [self.embed_query(t) for t in texts]

    def embed_query(self, text):
        return [text.count(chr(ord("a") + i)) + 0.01 for i in range(26)]


class LangChain(unittest.TestCase):
    def test_store(self):
        client = meilisearch.Client(os.environ["SEARCHD_URL"])
        # One that is new, and one that was made before its embedder.
        client.create_index("made", {"primaryKey": "id"})
        for name in ("fresh", "made"):
            store = Meilisearch.from_texts(
                ["bread and dough", "repair of a bicycle", "a meadow"], Letters(), [{"n": 1}, {"n": 2}, {"n": 3}],
                client=client, index_name=name, ids=["a", "b", "c"], embedders=EMBEDDERS, embedder_name="letters")
            store.add_texts(["jazz quiz"], [{"n": 4}], ids=["d"], embedder_name="letters")
            found = store.similarity_search("quiz of jazz", k=1, embedder_name="letters")
            self.assertEqual([(d.page_content, d.metadata) for d in found], [("jazz quiz", {"n": 4})])
            found = store.similarity_search_with_score("quiz of jazz", embedder_name="letters", filter="metadata.n < 4")
            self.assertEqual(len(found), 3)
            self.assertEqual(sorted(found, key=lambda f: -f[1]), found)
            found = store.similarity_search_by_vector(Letters().embed_query("meadow"), k=1, embedder_name="letters")
            self.assertEqual(found[0].metadata, {"n": 3})
            retriever = store.as_retriever(search_kwargs={"k": 1, "embedder_name": "letters"})
            self.assertEqual(retriever.invoke("repair of bicycles")[0].metadata, {"n": 2})
            client.delete_index(name)


if __name__ == "__main__":
    unittest.main()
