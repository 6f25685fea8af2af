package search

import (
	"context"
	"fmt"
	"testing"
	"time"

	"searchd/index/lsi"
)

// TestLessonsAreBounded: what was asked for last is kept, by number and by bytes.
func TestLessonsAreBounded(t *testing.T) {
	var s lessons
	key := func(i int) lessonKey { return lessonKey{collection: fmt.Sprint(i)} }
	first := s.of(key(0))
	for i := range 2 * maxLessons {
		if s.of(key(0)) != first {
			t.Fatalf("the lesson that is asked for again and again was gone after %d others", i)
		}
		s.of(key(1 + i))
	}
	if n := len(s.mu.byKey); n != maxLessons {
		t.Errorf("%d lessons are kept, want %d", n, maxLessons)
	}

	model, err := lsi.Learn(context.Background(), lsi.NewTerms(1<<16, func(id int) string { return fmt.Sprint(id) }), [][]int32{{1, 2}, {2, 3}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	fit := lessonsBudget / model.Bytes()
	for i := range 2 * fit {
		s.of(key(1000+i)).taught(model, nil, 1, time.Second)
	}
	if n := len(s.mu.byKey); n > fit+1 {
		t.Errorf("%d lessons of %d bytes are kept, the budget is %d bytes", n, model.Bytes(), lessonsBudget)
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
