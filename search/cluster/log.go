package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// logKey begins the keys of the records of logs: the id of the collection and the partition follow.
const logKey = "log."

// logRecord is what the catalogue has about the log of a partition. There is none before the log
// was lost for the first time.
//
// A log that was lost is rebuilt as another stream, the next generation: the documents of one
// replica, then a mark, then writes. Replicas with the same documents go on behind the mark, others
// are emptied and filled from the first message.
type logRecord struct {
	Generation int    // of the stream
	First      uint64 // place before its first message; all places of earlier generations are before
	Kept       uint64 // place of the last write of the replica that filled it
	Digest     uint64 // of the documents of that replica
	Filled     uint64 // place of the mark

	Lost string `json:",omitempty"` // how the log was lost; empty: it takes writes

	// Complete are nodes whose replica is known to have all that was acknowledged, with the place
	// of its last change.
	Complete map[string]uint64 `json:",omitempty"`

	Attempt  int    `json:",omitempty"` // the last generation that was tried
	Repairer string `json:",omitempty"` // node that rebuilds the log
	Beat     int    `json:",omitempty"` // grows while that node is at work
	Done     int    `json:",omitempty"` // documents in the next generation
	Total    int    `json:",omitempty"` // of so many
	Waiting  string `json:",omitempty"` // what the repair waits for

	revision uint64 // of the bucket
}

// errLogLost is the error of whoever needs a log that was lost.
var errLogLost = errors.New("the log was lost and is being rebuilt")

// fault describes a log that was lost; empty: it was not.
func (l logRecord) fault() string {
	switch {
	case l.Lost == "":
		return ""
	case l.Waiting != "":
		return fmt.Sprintf("%s; rebuilding it waits: %s", l.Lost, l.Waiting)
	case l.Repairer == "":
		return l.Lost + "; no node rebuilds it yet"
	}
	return fmt.Sprintf("%s; node %s rebuilds it: %d of %d documents", l.Lost, l.Repairer, l.Done, l.Total)
}

// err returns the error for a log that was lost, nil for others.
func (l logRecord) err(p int) error {
	if l.Lost == "" {
		return nil
	}
	return fmt.Errorf("%w: partition %d: %w: %s", backend.ErrUnavailable, p, errLogLost, l.fault())
}

func logKeyOf(id string, p int) string { return fmt.Sprintf("%s%s.%d", logKey, id, p) }

// nameOfLogKey returns the local name of the replicas that follow a log.
func nameOfLogKey(key string) (string, bool) {
	id, part, ok := strings.Cut(strings.TrimPrefix(key, logKey), ".")
	p, err := strconv.Atoi(part)
	return localName(id, p), ok && err == nil
}

func readLog(entry jetstream.KeyValueEntry) (l logRecord, err error) {
	if err := json.Unmarshal(entry.Value(), &l); err != nil {
		return l, fmt.Errorf("%w: %s: %w", backend.ErrDamaged, entry.Key(), err)
	}
	l.revision = entry.Revision()
	return l, nil
}

// log returns the record of a log as this node knows it.
func (n *Backend) log(id string, p int) logRecord {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	return n.catalogue.mu.logs[localName(id, p)]
}

// storedLog reads the record of a log.
func (n *Backend) storedLog(ctx context.Context, id string, p int) (logRecord, error) {
	entry, err := n.kv.Get(ctx, logKeyOf(id, p))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return logRecord{}, nil
	}
	if err != nil {
		return logRecord{}, unavailable(err)
	}
	return readLog(entry)
}

// saveLog replaces the record of a log, whose revision is that of l.
func (n *Backend) saveLog(ctx context.Context, id string, p int, l *logRecord) error {
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	l.revision, err = n.updateKey(ctx, fmt.Sprintf("changing the record of the log of partition %d", p), logKeyOf(id, p), value, l.revision)
	return err
}

// streamName returns the name of a generation of the log of a partition.
func (n *Backend) streamName(id string, p, generation int) string {
	return fmt.Sprintf("%s-%s-%s", n.bucket, id, logName(p, generation))
}

// logSubject returns the subjects of a generation of the log of a partition, without the last
// part.
func (n *Backend) logSubject(id string, p, generation int) string {
	return fmt.Sprintf("%s.log.%s.%s.", n.prefix, id, logName(p, generation))
}

func logName(p, generation int) string {
	if generation == 0 {
		return strconv.Itoa(p)
	}
	return fmt.Sprintf("%d-%d", p, generation)
}

// logConfig returns the settings of a generation of the log of a partition whose messages come
// after a place.
func (n *Backend) logConfig(id string, p, generation int, first uint64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.streamName(id, p, generation), Subjects: []string{n.logSubject(id, p, generation) + "*"},
		Storage: jetstream.FileStorage, Replicas: n.logReplicas(), MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
		FirstSeq: first + 1, AllowMsgTTL: true, Duplicates: duplicateTime, DenyPurge: true, DenyDelete: true,
	}
}

// removeGenerations removes the generations of a log up to one, but for another.
func (n *Backend) removeGenerations(ctx context.Context, id string, p, last, but int) error {
	var errs []error
	for g := range last + 1 {
		if g == but {
			continue
		}
		if err := n.js.DeleteStream(ctx, n.streamName(id, p, g)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
