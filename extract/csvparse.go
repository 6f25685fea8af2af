package extract

import "bytes"

type csvStatus uint8

const (
	csvOK       csvStatus = iota
	csvMore               // the record goes on beyond data
	csvUnclosed           // the input ends inside a quoted field
	csvAfter              // a quoted field is followed by something other than a delimiter or a line end
)

// csvParser parses records after RFC 4180. Quotes inside unquoted fields are literal; lines end
// with LF, CRLF or CR.
type csvParser struct {
	comma   byte
	literal bool // quotes have no meaning

	text []byte // all fields of the last record, one after another, without quotes
	ends []int  // where each field ends in text
}

// parse parses the record at the front of data and returns its size. atEOF means that nothing
// follows data.
func (p *csvParser) parse(data []byte, atEOF bool) (n int, status csvStatus) {
	p.text, p.ends = p.text[:0], p.ends[:0]
	i := 0
	for {
		if i < len(data) && data[i] == '"' && !p.literal {
			i, status = p.quoted(data, i+1, atEOF)
		} else {
			i = p.bare(data, i)
		}
		if status != csvOK {
			return i, status
		}
		if i == len(data) && !atEOF {
			return i, csvMore
		}
		p.ends = append(p.ends, len(p.text))
		switch {
		case i == len(data):
			return i, csvOK
		case data[i] == p.comma:
			i++
		case data[i] == '\n':
			return i + 1, csvOK
		case i+1 == len(data) && !atEOF: // CR: whether LF follows is not known yet
			return i, csvMore
		case i+1 < len(data) && data[i+1] == '\n':
			return i + 2, csvOK
		default:
			return i + 1, csvOK
		}
	}
}

// bare parses an unquoted field and returns its end.
func (p *csvParser) bare(data []byte, i int) int {
	start := i
	for i < len(data) && data[i] != p.comma && data[i] != '\n' && data[i] != '\r' {
		i++
	}
	p.text = append(p.text, data[start:i]...)
	return i
}

// quoted parses a quoted field from behind its first quote.
func (p *csvParser) quoted(data []byte, i int, atEOF bool) (int, csvStatus) {
	for {
		j := bytes.IndexByte(data[i:], '"')
		if j < 0 {
			if atEOF {
				return len(data), csvUnclosed
			}
			return len(data), csvMore
		}
		p.text = append(p.text, data[i:i+j]...)
		i += j + 1
		switch {
		case i == len(data):
			if atEOF {
				return i, csvOK
			}
			return i, csvMore
		case data[i] == '"':
			p.text = append(p.text, '"')
			i++
		case data[i] == p.comma, data[i] == '\n', data[i] == '\r':
			return i, csvOK
		default:
			return i, csvAfter
		}
	}
}

// field returns field k of the last record, valid until the next parse.
func (p *csvParser) field(k int) []byte {
	start := 0
	if k > 0 {
		start = p.ends[k-1]
	}
	return p.text[start:p.ends[k]]
}

func (p *csvParser) blank() bool { return len(bytes.TrimSpace(p.text)) == 0 }

// sniffDelimiter returns the delimiter with which most of the first records have as many fields as
// the first one; among equals, the one with more fields.
func sniffDelimiter(data []byte, atEOF bool) byte {
	best, bestFields, bestShare := byte(','), 1, -1.0
	for _, comma := range []byte{',', ';', '\t', '|'} {
		p := csvParser{comma: comma}
		fields, same, records := 0, 0, 0
		for rest := data; len(rest) > 0 && records < 20; {
			n, status := p.parse(rest, atEOF)
			if status != csvOK {
				break
			}
			rest = rest[n:]
			if p.blank() {
				continue
			}
			if records == 0 {
				fields = len(p.ends)
			}
			records++
			if len(p.ends) == fields {
				same++
			}
		}
		if fields < 2 {
			continue
		}
		if share := float64(same) / float64(records); share > bestShare || share == bestShare && fields > bestFields {
			best, bestFields, bestShare = comma, fields, share
		}
	}
	return best
}
