package search

import (
	"testing"

	"example.com/searchd/search/backend"
)

// TestUnusedCostsNothing: a search without rules and of a sender who may see all documents
// allocates nothing for them, and runs no step of theirs.
func TestUnusedCostsNothing(t *testing.T) {
	s := &search{plan: newPlan(Query{Q: "red lamp"}, false, false)}
	d := &backend.Document{ID: "a"}
	if n := testing.AllocsPerRun(100, func() {
		s.useRules()
		if s.pins() || !s.maySee(d) {
			t.Fatal("a rule, or a document that may not be seen")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, step := range s.ranking() {
		if step.name == "pin" && step.asked {
			t.Error("the step of pinned documents runs")
		}
	}
	if s.plan.filter != nil || s.rules != nil {
		t.Errorf("filter %v, rules %v", s.plan.filter, s.rules)
	}
}
