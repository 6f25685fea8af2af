package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"

	"example.com/searchd/extract/content"
)

// certain matches the line in front of a message in a mailbox, with the date in its usual form.
var certain = regexp.MustCompile(`^From \S+ +[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d(:\d\d)?( .*)? \d{4}\b`)

// likely matches such a line between a blank one and a header.
var likely = regexp.MustCompile(`^From .*\d\d:\d\d.*\d{4}`)

// maxEnvelope is the length in bytes of a line that is examined.
const maxEnvelope = 512

// isEnvelope reports whether a message of a mailbox begins with line; next returns what follows.
func isEnvelope(line []byte, behindBlank bool, next func() []byte) bool {
	if !bytes.HasPrefix(line, []byte("From ")) {
		return false
	}
	line = line[:min(len(line), maxEnvelope)]
	return certain.Match(line) || behindBlank && likely.Match(line) && headerLine.Match(next())
}

// isMailbox reports whether a stream that begins with head is a mailbox.
func isMailbox(head []byte) bool {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	return isEnvelope(line, true, func() []byte { return rest })
}

// readMailbox reads a mailbox, one document per message. Their ids are Message-IDs or hashes.
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

// readLetter reads a message of a Maildir. Its id is the Message-ID, as the file is renamed when
// the message is read or moved.
func (x *source) readLetter(br *bufio.Reader) error {
	message := kept{x: x}
	defer message.drop()
	if ok, err := message.readFile(br); !ok {
		return err
	}
	return x.letter(1, &message, int64(len(message.b)))
}

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
	return x.entryDocument(line, id, c.Title, c.Text, c.Fields)
}
