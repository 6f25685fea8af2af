package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a conversation over streams.
const (
	maxLine  = 4 << 20 // bytes of a message
	maxCalls = 32      // at once; the next line is read when one of them is answered
)

// closeTimeout bounds closing a conversation whose context has ended, since nobody may read the
// last answer.
const closeTimeout = time.Second

// Serve serves one assistant, one JSON-RPC message per line, until in ends and all calls are
// answered, or ctx ends. An invalid line is answered with an error.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	session, err := s.sdk.Connect(with(ctx, &request{}), &lineTransport{in: in, out: out}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(closeTimeout):
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// lineTransport is used in place of the SDK's, which ends at the first invalid line and drops open
// calls at the end of its input.
type lineTransport struct {
	in  io.Reader
	out io.Writer
}

// Connect implements the SDK's Transport.
func (t *lineTransport) Connect(context.Context) (sdk.Connection, error) {
	l := &lines{out: t.out, open: map[jsonrpc.ID]bool{}, read: make(chan line), slots: make(chan struct{}, maxCalls), closed: make(chan struct{})}
	go l.scan(bufio.NewReaderSize(t.in, 64<<10))
	return l, nil
}

// lines is an open conversation.
type lines struct {
	out    io.Writer
	write  sync.Mutex
	mu     sync.Mutex
	open   map[jsonrpc.ID]bool // the calls that are not answered yet; guarded by mu
	read   chan line
	slots  chan struct{} // one per call that is not answered yet
	once   sync.Once
	closed chan struct{}
}

type line struct {
	text []byte
	long bool // and therefore without its text
	err  error
}

// scan reads the lines in its own goroutine, since reading from standard input cannot be cancelled.
func (l *lines) scan(r *bufio.Reader) {
	for {
		next := readLine(r)
		select {
		case l.read <- next:
		case <-l.closed:
			return
		}
		if next.err != nil {
			return
		}
	}
}

// readLine reads a line and keeps at most maxLine bytes of it.
func readLine(r *bufio.Reader) (out line) {
	for {
		b, err := r.ReadSlice('\n')
		if out.long = out.long || len(out.text)+len(b) > maxLine; out.long {
			out.text = nil
		} else {
			out.text = append(out.text, b...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(out.text) > 0 || out.long):
			return out // the last line, without its end; the next read tells
		}
		out.err = err
		return out
	}
}

// Read returns the next message.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var next line
		select {
		case next = <-l.read:
		case <-l.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if next.err != nil {
			l.drain(ctx)
			return nil, next.err
		}
		m, refused := message(next)
		if refused != nil {
			if err := l.put(refusal(0, nil, refused.Code, refused.Message).JSON); err != nil {
				return nil, err
			}
		}
		if m == nil {
			continue
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			if !l.begin(r.ID) { // the SDK would never answer it
				if err := l.put(refusal(0, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("id: got %v, which is that of a call that is not answered yet", r.ID.Raw())).JSON); err != nil {
					return nil, err
				}
				continue
			}
			select {
			case l.slots <- struct{}{}:
			case <-l.closed:
				return nil, io.EOF
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return m, nil
	}
}

// begin registers a call unless its id is in use.
func (l *lines) begin(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[id] {
		return false
	}
	l.open[id] = true
	return true
}

// message parses a line; nil for a blank one.
func message(l line) (jsonrpc.Message, *jsonrpc.Error) {
	if l.long {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("line: longer than the %d bytes that are allowed", maxLine)}
	}
	var value json.RawMessage
	switch err := json.Unmarshal(l.text, &value); {
	case len(bytes.TrimSpace(l.text)) == 0:
		return nil, nil
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "line: not JSON: " + err.Error()}
	case value[0] == '[':
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "line: got an array, allowed: one JSON-RPC message; batches are not taken"}
	}
	m, err := jsonrpc.DecodeMessage(value)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "line: no JSON-RPC message: " + err.Error()}
	}
	return m, nil
}

// drain waits until all calls are answered.
func (l *lines) drain(ctx context.Context) {
	for range maxCalls {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write sends a message.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	r, answer := m.(*jsonrpc.Response)
	if answer { // before they have it, and may use the id again
		l.mu.Lock()
		delete(l.open, r.ID)
		l.mu.Unlock()
	}
	err = l.put(b)
	if answer {
		select {
		case <-l.slots:
		default:
		}
	}
	return err
}

func (l *lines) put(b []byte) error {
	l.write.Lock()
	defer l.write.Unlock()
	_, err := l.out.Write(append(b, '\n'))
	return err
}

// Close ends the conversation.
func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// SessionID implements the SDK's Connection.
func (l *lines) SessionID() string { return "" }
