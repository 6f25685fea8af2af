package search

import (
	"context"
	"fmt"
	"testing"
	"time"

	"searchd/index/lsi"
)

// TestLessonsAreBounded: by number and by bytes; those that are asked for stay, and there is none for others until one is idle.
func TestLessonsAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key := func(i int) lessonKey { return lessonKey{collection: fmt.Sprint(i)} }
	model, err := lsi.Learn(context.Background(), lsi.NewTerms(1<<18, func(id int) string { return fmt.Sprint(id) }), [][]int32{{1, 2}, {2, 3}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	fit := (lessonsBudget + model.Bytes() - 1) / model.Bytes()
	if fit >= maxLessons {
		t.Fatalf("%d models of %d bytes fit: too small to try the budget", fit, model.Bytes())
	}
	for _, tc := range []struct {
		model *lsi.Model
		most  int
	}{{nil, maxLessons}, {model, fit}} {
		var s lessons
		for i := range 2 * tc.most {
			l := s.of(key(i), now)
			if (l != nil) != (i < tc.most) {
				t.Fatalf("lesson %d of at most %d: %v", i, tc.most, l)
			}
			if l != nil {
				l.taught(tc.model, nil, 1, time.Second)
			}
		}
		kept := s.of(key(0), now.Add(lessonIdle/2))
		if s.of(key(999), now.Add(lessonIdle/2)) != nil {
			t.Errorf("there was room while all were in use")
		}
		if s.of(key(999), now.Add(lessonIdle)) == nil {
			t.Errorf("there was no room when all but one were idle")
		}
		if s.of(key(0), now.Add(lessonIdle)) != kept || len(s.mu.byKey) != 2 {
			t.Errorf("%d lessons are left, of which the one that was asked for should be one", len(s.mu.byKey))
		}
	}
}

// TestLessonsLearntTogether: of many that are made before one of them has been learnt no more are learnt than there is room for, and those of collections that are
// gone make room.
func TestLessonsLearntTogether(t *testing.T) {
	model, err := lsi.Learn(context.Background(), lsi.NewTerms(1<<18, func(id int) string { return fmt.Sprint(id) }), [][]int32{{1, 2}, {2, 3}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	var s lessons
	now, there := time.Now(), map[string]bool{}
	key := func(i int) lessonKey { return lessonKey{collection: fmt.Sprint(i)} }
	for i := range maxLessons {
		if s.of(key(i), now) == nil {
			t.Fatalf("no room for lesson %d", i)
		}
	}
	learnt := 0
	for i := range maxLessons {
		if s.stays(key(i)) {
			s.of(key(i), now).taught(model, nil, 1, time.Second)
			learnt++
			there[key(i).collection] = i > 0
		}
	}
	if fit := (lessonsBudget + model.Bytes() - 1) / model.Bytes(); learnt != fit || len(s.mu.byKey) != fit {
		t.Errorf("%d of %d were learnt, %d are kept, want %d", learnt, maxLessons, len(s.mu.byKey), fit)
	}
	if !s.stays(key(0)) {
		t.Error("one that has been learnt has no room to be learnt anew")
	}
	if s.of(key(99), now) != nil {
		t.Error("there is room beyond the budget")
	}
	s.keep(there)
	if s.of(key(99), now) == nil || s.mu.byKey[key(0)] != nil {
		t.Error("a collection that has gone left no room")
	}
}

// TestLessonsGrow: one that is learnt anew does not grow where the others take the budget, and no other goes for it but those that are idle.
func TestLessonsGrow(t *testing.T) {
	terms := lsi.NewTerms(1<<18, func(id int) string { return fmt.Sprint(id) })
	small, err := lsi.Learn(context.Background(), terms, [][]int32{{1, 2}, {2, 3}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	large, err := lsi.Learn(context.Background(), terms, [][]int32{{1, 2}, {2, 3}, {3, 4, 5, 6}})
	if err != nil || large.Bytes() <= small.Bytes() {
		t.Fatalf("%d bytes of more terms, %d of fewer, %v", large.Bytes(), small.Bytes(), err)
	}
	SetLessonsBudget(t, 3*small.Bytes())
	var s lessons
	now := time.Now()
	var all []*lesson
	for i := range 4 {
		if l := s.of(lessonKey{collection: fmt.Sprint(i)}, now); l != nil {
			l.taught(small, nil, 1, time.Second)
			all = append(all, l)
		}
	}
	if len(all) != 3 {
		t.Fatalf("there is room for %d", len(all))
	}
	if !s.fits(all[0], large, now) {
		t.Error("there is no room beside two thirds of the budget")
	}
	SetLessonsBudget(t, 2*small.Bytes())
	for name, m := range map[string]*lsi.Model{"as much": small, "nothing": nil} {
		if !s.fits(all[0], m, now) {
			t.Errorf("there is no room for %s", name)
		}
	}
	if s.fits(all[0], large, now) || len(s.mu.byKey) != 3 {
		t.Errorf("there is room beside others that take the budget; %d are left", len(s.mu.byKey))
	}
	if !s.fits(&lesson{}, large, now) {
		t.Error("one that was let in to be learnt for the first time does not stay")
	}
	later := now.Add(lessonIdle)
	s.of(lessonKey{collection: "0"}, later)
	s.of(lessonKey{collection: "1"}, later)
	SetLessonsBudget(t, small.Bytes())
	if s.fits(all[0], large, later) || len(s.mu.byKey) != 2 {
		t.Errorf("there is room beside one that takes the budget when another is idle; %d are left", len(s.mu.byKey))
	}
	SetLessonsBudget(t, 2*small.Bytes())
	if !s.fits(all[0], large, later) || len(s.mu.byKey) != 2 {
		t.Errorf("there is no room beside half of the budget; %d are left", len(s.mu.byKey))
	}
	SetLessonsBudget(t, small.Bytes())
	later = later.Add(lessonIdle)
	s.of(lessonKey{collection: "0"}, later)
	if !s.fits(all[0], large, later) || len(s.mu.byKey) != 1 {
		t.Errorf("there is no room when the others are idle, of which %d are left", len(s.mu.byKey)-1)
	}
}

// TestLessonIsWaitedFor: searches that come later wait no longer than the first.
func TestLessonIsWaitedFor(t *testing.T) {
	var l lesson
	l.mu.learning, l.mu.until = make(chan struct{}), time.Now().Add(20*time.Millisecond)
	for range 2 {
		began := time.Now()
		if l.within(t.Context()) != nil {
			t.Error("nothing has been learnt")
		}
		if took := time.Since(began); took > lessonWait/2 {
			t.Errorf("it was waited for %v", took)
		}
	}
	if time.Now().Before(l.mu.until) {
		t.Error("it was not waited for")
	}
}

// TestLessonRests: a collection that changes is not learnt again before lessonRest times as long as it took has passed, unless that is asked for.
func TestLessonRests(t *testing.T) {
	var l lesson
	l.taught(nil, nil, 7, time.Second)
	if d := time.Until(l.mu.next); d < (lessonRest-1)*time.Second || d > lessonRest*time.Second {
		t.Errorf("after a second of learning it rests for %v", d)
	}
	l.taught(nil, fmt.Errorf("no"), 8, time.Millisecond)
	if d := time.Until(l.mu.next); d < lessonRetry-time.Second || l.mu.sequence == 8 {
		t.Errorf("after a failure it rests for %v, and knows sequence %d", d, l.mu.sequence)
	}
}
