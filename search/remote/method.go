package remote

import "searchd/search/backend"

// method is a method on both sides of the wire: what is asked, and what is answered.
type method[Q, A any] struct {
	name   string
	writes bool // it needs the right to write, and is not sent twice
}

// The methods.
var (
	methodCreate      = method[configured, none]{"create", true}
	methodUpdate      = method[configured, none]{"update", true}
	methodDrop        = method[named, none]{"drop", true}
	methodCollections = method[none, []backend.Collection]{"collections", false}
	methodCollection  = method[named, backend.Collection]{"collection", false}

	methodApply  = method[applied, []backend.Outcome]{"apply", true}
	methodLookup = method[lookedUp, []*document]{"lookup", false}
	methodFetch  = method[ofRefs, []*document]{"fetch", false}
	methodList   = method[page, pageAnswer]{"list", false}

	methodValues    = method[text, valuesAnswer]{"values", false}
	methodSetValues = method[keyed, none]{"set_values", true}

	methodNearest = method[nearest, []byte]{"nearest", false}
	methodCosines = method[cosines, [][]byte]{"cosines", false}
	methodVectors = method[ofPassages, [][]byte]{"vectors", false}
	methodNames   = method[ofPassages, []byte]{"names", false}
	methodSample  = method[sample, sampleAnswer]{"sample", false}

	methodSelect     = method[subset, *chosen]{"select", false}
	methodWords      = method[found, foundAnswer]{"words", false}
	methodWordScores = method[scored, []byte]{"word_scores", false}
	methodWordTerms  = method[scored, [][]termScore]{"word_terms", false}
	methodAnalyze    = method[analyzed, []token]{"analyze", false}
	methodExpand     = method[scored, []expansion]{"expand", false}
	methodNear       = method[near, nearAnswer]{"near", false}
	methodBeginning  = method[near, nearAnswer]{"beginning", false}
	methodLacking    = method[lacking, lackingAnswer]{"lacking", false}
	methodStatistics = method[scored, backend.Statistics]{"statistics", false}

	methodFacets  = method[facets, []facetCounts]{"facets", false}
	methodFirsts  = method[ofField, []*value]{"firsts", false}
	methodPassing = method[passing, []bool]{"passing", false}
	methodNumbers = method[ofField, []byte]{"numbers", false}
	methodOrder   = method[order, []ordered]{"order", false}

	methodPosition = method[named, backend.Position]{"position", false}
	methodChanged  = method[changed, changedAnswer]{"changed", false}
	methodHold     = method[hold, none]{"hold", true} // another holder's would be lost
	methodRelease  = method[held, none]{"release", false}

	methodEncoded        = method[encoded, encodedAnswer]{"encoded", false}
	methodDamagedVectors = method[none, damagedVectors]{"damaged_vectors", false}

	methodStoreSize  = method[none, int64]{"store_size", false}
	methodReadOnly   = method[none, state]{"read_only", false}
	methodRebuilds   = method[none, []rebuild]{"rebuilds", false}
	methodIndexStats = method[named, backend.IndexStats]{"index_stats", false}

	methodCheck    = method[checked, []backend.Problem]{"check", false}
	methodIdentity = method[none, backend.Identity]{"identity", false}
	methodClaim    = method[backend.Identity, none]{"claim", true}
)
