package remote

import "searchd/search/backend"

// method is a method on both sides of the wire: what is asked, and what is answered.
type method[Q, A any] struct {
	name  string
	guard guard
}

// The methods.
var (
	methodCreate      = method[configured, none]{"create", writes}
	methodUpdate      = method[configured, none]{"update", writes}
	methodDrop        = method[named, none]{"drop", writes}
	methodCollections = method[none, []backend.Collection]{"collections", reads}
	methodCollection  = method[named, backend.Collection]{"collection", reads}

	methodApply  = method[applied, []backend.Outcome]{"apply", loads}
	methodLookup = method[lookedUp, []*document]{"lookup", reads}
	methodFetch  = method[ofRefs, []*document]{"fetch", reads}
	methodList   = method[page, pageAnswer]{"list", reads}

	methodValues    = method[text, valuesAnswer]{"values", reads}
	methodSetValues = method[keyed, none]{"set_values", writes}

	methodNearest = method[nearest, []byte]{"nearest", reads}
	methodCosines = method[cosines, [][]byte]{"cosines", reads}
	methodVectors = method[ofPassages, [][]byte]{"vectors", reads}
	methodNames   = method[ofPassages, []byte]{"names", reads}
	methodSample  = method[sample, sampleAnswer]{"sample", reads}

	methodSelect     = method[subset, *chosen]{"select", reads}
	methodWords      = method[found, foundAnswer]{"words", reads}
	methodWordScores = method[scored, []byte]{"word_scores", reads}
	methodWordTerms  = method[scored, [][]termScore]{"word_terms", reads}
	methodAnalyze    = method[analyzed, []token]{"analyze", reads}
	methodExpand     = method[scored, []expansion]{"expand", reads}
	methodNear       = method[near, nearAnswer]{"near", reads}
	methodBeginning  = method[near, nearAnswer]{"beginning", reads}
	methodLacking    = method[lacking, lackingAnswer]{"lacking", reads}
	methodStatistics = method[scored, backend.Statistics]{"statistics", reads}

	methodOpened = method[scored, openedAnswer]{"opened", reads}
	methodLegs   = method[legs, legsAnswer]{"legs", reads}
	methodTexts  = method[ofPassages, []passageText]{"texts", reads}
	methodShown  = method[show, []shown]{"shown", reads}

	methodFacets  = method[facets, []facetCounts]{"facets", reads}
	methodFirsts  = method[ofField, []*value]{"firsts", reads}
	methodPassing = method[passing, []bool]{"passing", reads}
	methodNumbers = method[ofField, []byte]{"numbers", reads}
	methodOrder   = method[order, []ordered]{"order", reads}

	methodPosition = method[named, backend.Position]{"position", reads}
	methodChanged  = method[changed, changedAnswer]{"changed", reads}
	methodHold     = method[hold, none]{"hold", writes} // another holder's would be lost
	methodRelease  = method[held, none]{"release", reads}

	methodEncoded        = method[encoded, encodedAnswer]{"encoded", reads}
	methodHeads          = method[page, headsAnswer]{"heads", reads}
	methodLookupHeads    = method[lookedUp, heads]{"lookup_heads", reads}
	methodDamagedVectors = method[none, damagedVectors]{"damaged_vectors", reads}

	methodStoreSize  = method[none, int64]{"store_size", reads}
	methodReadOnly   = method[none, state]{"read_only", reads}
	methodRebuilds   = method[none, []rebuild]{"rebuilds", reads}
	methodIndexStats = method[named, backend.IndexStats]{"index_stats", reads}

	methodCheck    = method[checked, []backend.Problem]{"check", reads}
	methodVersion  = method[none, string]{"version", reads}
	methodIdentity = method[none, backend.Identity]{"identity", open}
	methodClaim    = method[backend.Identity, none]{"claim", claims}
)
