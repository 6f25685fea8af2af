package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"

	"searchd/extract/content"
)

// certain is the line in front of each message of a mailbox, with the date as mail programs write
// it.
var certain = regexp.MustCompile(`^From \S+ +[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d(:\d\d)?( .*)? \d{4}\b`)

// likely is such a line, too, where it stands behind a blank one and before a header. Else it is
// text.
var likely = regexp.MustCompile(`^From .*\d\d:\d\d.*\d{4}`)

// maxEnvelope is how many bytes of a line are looked at.
const maxEnvelope = 512

// isEnvelope reports whether a message of a mailbox begins with line. next returns what stands
// behind it.
func isEnvelope(line []byte, behindBlank bool, next func() []byte) bool {
	if !bytes.HasPrefix(line, []byte("From ")) {
		return false
	}
	line = line[:min(len(line), maxEnvelope)]
	return certain.Match(line) || behindBlank && likely.Match(line) && headerLine.Match(next())
}

// isMailbox reports whether a stream that begins with head is messages one after another.
func isMailbox(head []byte) bool {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	return isEnvelope(line, true, func() []byte { return rest })
}

// readMailbox reads a mailbox, one document per message, whose id is its Message-ID, or a hash of
// its bytes.
func (x *source) readMailbox(br *bufio.Reader) error {
	message := kept{x: x}
	defer message.drop()
	size := int64(0)         // of the message; what is beyond the limit is not kept
	line, at := 1, 1         // at is where the message begins
	fresh, gap := true, true // at the front of a line; behind a blank one
	end := func() error {
		err := x.letter(at, &message, size)
		message.b, size, at = message.b[:0], 0, line
		return err
	}
	for {
		part, err := br.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return x.Errorf(line, "cannot be read: %v", err)
		}
		if fresh {
			behind := func() []byte {
				part = bytes.Clone(part) // the buffer moves
				b, _ := br.Peek(maxEnvelope)
				return b
			}
			if isEnvelope(part, gap, behind) && size > 0 {
				if err := end(); err != nil {
					return err
				}
			}
			gap = len(bytes.TrimRight(part, "\r\n")) == 0
			if quoted := bytes.TrimLeft(part, ">"); len(quoted) < len(part) && bytes.HasPrefix(quoted, []byte("From ")) {
				part = part[1:] // as a mailbox has such a line of a message
			}
		}
		if size += int64(len(part)); size <= x.o.MaxFile {
			if err := message.grow(len(part)); err != nil {
				return err
			}
			message.b = append(message.b, part...)
		}
		if fresh = err == nil; fresh {
			line++
		}
		if errors.Is(err, io.EOF) {
			return end()
		}
	}
}

// readLetter reads a file of a Maildir, which is one message: its name changes as the message is
// read and moved, its Message-ID does not.
func (x *source) readLetter(br *bufio.Reader) error {
	message := kept{x: x}
	defer message.drop()
	err, held := message.readAll(br, x.o.MaxFile)
	switch {
	case held != nil:
		return held
	case err != nil:
		return x.Errorf(0, "cannot be read: %v", err)
	}
	return x.letter(1, &message, int64(len(message.b)))
}

// letter emits one message of a mailbox.
func (x *source) letter(line int, message *kept, size int64) error {
	if size > x.o.MaxFile {
		return x.Errorf(line, "message of %d bytes is larger than the limit of %d", size, x.o.MaxFile)
	}
	x.Decoder = content.Decoder{} // each message has a character set of its own
	c, id, why, err := x.message(message.b, line, "")
	if cap(message.b) > keptAnyway {
		message.drop()
	}
	switch {
	case err != nil:
		return err
	case why == deletedMessage:
		return nil
	case why == "" && !content.HasText(c.Text) && !content.HasText(c.Title) && c.Fields["attachments"] == nil:
		why = "no text in a message"
	}
	if why != "" {
		return x.Errorf(line, "%s", why)
	}
	c.Fields["title"], c.Fields["text"] = c.Title, withoutTitle(c.Text, c.Title)
	x.locate(c.Fields, c.Title)
	return x.document(Document{ID: id, Fields: c.Fields, Line: line})
}
