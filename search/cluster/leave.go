package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// Changes of a node.
const (
	DrainNode   = "drain"
	UndrainNode = "undrain"
	RemoveNode  = "remove"
)

// ChangeNode drains a node, lets it have partitions again, or removes it for good.
func (n *Backend) ChangeNode(ctx context.Context, node, change string) error {
	if change == RemoveNode {
		return n.Remove(ctx, node)
	}
	return n.Drain(ctx, node, change == UndrainNode)
}

// Remove takes a node out of the cluster for good: one that was drained, or is gone. It returns
// when that is decided; [Backend.Status] lists the node as removing while its copies of the logs
// move.
func (n *Backend) Remove(ctx context.Context, node string) error {
	if n.closed() {
		return backend.ErrClosed
	}
	nodes := n.nodes()
	r, ok := nodes[node]
	if !ok {
		return n.unknownNode(node)
	}
	left := 0
	for name, other := range nodes {
		switch {
		case name == node:
		case name != n.name && n.silent(name):
			return fmt.Errorf("%w: node %s does not answer either: one node is removed at a time, while all others run", backend.ErrUnavailable, name)
		case !other.Away && !other.Drained:
			left++
		}
	}
	gone := node != n.name && n.gone(node)
	switch {
	case left < 2:
		return fmt.Errorf("%w: node %q: %d node would be left, and a cluster of several needs two: add a node first", backend.ErrInvalid, node, left)
	case gone:
	case node != n.name && n.silent(node):
		return fmt.Errorf("%w: node %q does not answer, and not all others agree yet: try again", backend.ErrUnavailable, node)
	case !r.Drained || n.servingOn(node) > 0:
		return fmt.Errorf("%w: node %q is up and has %d partitions: drain it first", backend.ErrInvalid, node, n.servingOn(node))
	}
	return n.changeRecord(ctx, node, func(r *nodeRecord) { r.Removed = true })
}

// unknownNode returns the error for a node that is not in the cluster.
func (n *Backend) unknownNode(node string) error {
	var names []string
	for name := range n.nodes() {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("%w: node %q: allowed: %s", backend.ErrInvalid, node, strings.Join(names, ", "))
}

// changeRecord changes the record of a node, while others may, too, and waits until this node
// follows that.
func (n *Backend) changeRecord(ctx context.Context, node string, change func(*nodeRecord)) error {
	for range maxTries {
		err := n.changeNode(ctx, node, change)
		if err == nil {
			return n.refresh(ctx)
		}
		if !isConflict(err) || ctx.Err() != nil {
			return cmpContext(ctx, unavailable(err))
		}
	}
	return fmt.Errorf("%w: the record of node %q is changed by others all the time", backend.ErrUnavailable, node)
}

// silent reports whether another node has not answered this one for leaseTime.
func (n *Backend) silent(name string) bool {
	m := &n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.peer(name).answered) > leaseTime
}

// servingOn returns how many replicas of a node serve, as far as this one knows.
func (n *Backend) servingOn(name string) (serving int) {
	if name != n.name {
		m := &n.members
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.peer(name).serving)
	}
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	for _, r := range n.catalogue.mu.replicas {
		if _, _, ok, _ := r.state(); ok {
			serving++
		}
	}
	return serving
}

// removedValue is the value of the embedded backend of a node that was removed.
const removedValue = "cluster/removed"

var errRemoved = fmt.Errorf("%w: this node was removed from the cluster: start it with an empty data folder to add it as a new one", backend.ErrInvalid)

// checkRemoved refuses the folder of a node that was removed.
func (n *Backend) checkRemoved(ctx context.Context) error {
	values, err := n.local.Values(ctx, removedValue)
	if err == nil && values[removedValue] != nil {
		err = errRemoved
	}
	return err
}

// leave ends the part of a node that was removed: it serves nothing any more.
func (n *Backend) leave(ctx context.Context) {
	if n.removed.Swap(true) {
		return
	}
	n.alarm(errRemoved.Error())
	if err := n.local.SetValues(ctx, map[string][]byte{removedValue: []byte("1")}); err != nil {
		n.notice(fmt.Sprintf("noting that this node was removed: %v", err))
	}
}

// Times of keepLogs.
const (
	logsInterval = 2 * time.Second
	logsAnyway   = time.Minute // after which the logs are looked at though nothing has changed
)

// keepLogs keeps the logs where they should be until the node is closed: on as many nodes as there
// are, up to logReplicas, and on none that was removed. One node does it for all.
func (n *Backend) keepLogs() {
	ctx, cancel := n.untilClosed()
	defer cancel()
	var seen, reported string
	for at := time.Now(); ctx.Err() == nil; pause(ctx, logsInterval) {
		if n.oldLog != "" && n.rebuilt() {
			if err := os.RemoveAll(n.oldLog); err == nil {
				n.oldLog = ""
			}
		}
		state := n.logsState()
		if !n.leads() || state == seen && time.Since(at) < logsAnyway {
			continue
		}
		err := n.moveLogs(ctx)
		if err == nil {
			seen, at, reported = state, time.Now(), ""
		} else if ctx.Err() == nil && err.Error() != reported {
			reported = err.Error()
			n.notice("moving logs, which is tried again: " + reported)
		}
	}
}

// leads reports whether this node looks after the logs: it has the first name of those that are
// not gone.
func (n *Backend) leads() bool {
	if !n.inContact() {
		return false
	}
	for name := range n.nodes() {
		if name < n.name && !n.gone(name) {
			return false
		}
	}
	return true
}

// rebuilt reports whether no log is lost.
func (n *Backend) rebuilt() bool {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	for _, l := range n.catalogue.mu.logs {
		if l.Lost != "" {
			return false
		}
	}
	return len(n.catalogue.mu.logs) > 0 || n.catalogue.mu.complete
}

// logsState describes what the places of logs depend on.
func (n *Backend) logsState() string {
	return fmt.Sprint(n.logReplicas(), len(n.removing()))
}

// logReplicas returns on how many nodes a log should be: those that the node was started with, and
// those of the catalogue, but for those that were removed.
func (n *Backend) logReplicas() int {
	if n.server == nil {
		return logReplicas
	}
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	addrs := map[string]bool{}
	for _, p := range n.o.Peers {
		addrs[p] = true
	}
	for _, removed := range []bool{true, false} { // an address may be that of a new node by now
		for _, r := range n.catalogue.mu.nodes {
			if r.Removed && removed {
				delete(addrs, r.Addr)
			} else if !r.Removed && !removed && r.Addr != "" {
				addrs[r.Addr] = true
			}
		}
	}
	return min(logReplicas, max(1, len(addrs)))
}

// moveLogs gives each log the number of copies that it should have, and takes away the copies of
// nodes that were removed.
func (n *Backend) moveLogs(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	want := n.logReplicas()
	var errs []error
	on := map[string]bool{} // nodes with a copy of a log
	streams := n.js.ListStreams(within, jetstream.WithStreamListSubject(">"))
	var few []jetstream.StreamConfig
	for info := range streams.Info() {
		if !strings.HasPrefix(info.Config.Name, n.bucket+"-") && info.Config.Name != "KV_"+n.bucket {
			continue
		}
		if info.Cluster != nil {
			on[info.Cluster.Leader] = true
			for _, r := range info.Cluster.Replicas {
				on[r.Name] = true
			}
		}
		if info.Config.Replicas < want {
			few = append(few, info.Config)
		}
	}
	errs = append(errs, streams.Err())
	for _, config := range few {
		config.Replicas = want
		if _, err := n.js.UpdateStream(within, config); err != nil {
			errs = append(errs, fmt.Errorf("%d copies of %s: %w", want, config.Name, err))
		}
	}
	for _, r := range n.removing() {
		if err := n.removeServer(within, r, on[r.Name]); err != nil {
			errs = append(errs, fmt.Errorf("removing node %s: %w", r.Name, err))
		}
	}
	return errors.Join(errs...)
}

// removeServer takes a server out of those of JetStream. One that is up keeps its copies of logs
// until others have them.
func (n *Backend) removeServer(ctx context.Context, r nodeRecord, has bool) error {
	if n.server != nil {
		if has && !n.silent(r.Name) {
			request := server.JSApiMetaServerEvacuateRequest{Peer: r.Server}
			if err := n.asSystem(ctx, server.JSApiEvacuateServer, request); err != nil {
				return err
			}
			return errors.New("its copies of logs move")
		}
		err := n.asSystem(ctx, server.JSApiRemoveServer, server.JSApiMetaServerRemoveRequest{Server: r.Name, Peer: r.Server})
		var api *server.ApiError
		if err != nil && !(errors.As(err, &api) && api.ErrCode == uint16(server.JSClusterServerNotMemberErr)) {
			return err
		}
	}
	n.notice(fmt.Sprintf("node %s was removed", r.Name))
	return n.changeNode(ctx, r.Name, func(r *nodeRecord) {
		if r.Removed { // it has not come back
			r.Server = ""
		}
	})
}

// asSystem sends a request of an administrator to the servers.
func (n *Backend) asSystem(ctx context.Context, subject string, request any) error {
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	nc, err := nats.Connect("", nats.InProcessServer(n.server), nats.UserInfo(systemUser, n.token))
	if err != nil {
		return err
	}
	defer nc.Close()
	m, err := nc.RequestWithContext(ctx, subject, b)
	if err != nil {
		return err
	}
	var answer struct {
		Error *server.ApiError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return answer.Error
	}
	return nil
}
