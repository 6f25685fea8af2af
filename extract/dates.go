package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/searchd/extract/content"
)

// dateName matches the names of fields that hold dates.
var dateName = regexp.MustCompile(`(?i:(^|[ _-])(date|datum|timestamp)$|^(created|modified|updated|published|deleted|expires?|due)([ _-]?(at|on|date|time))?$)|[a-z]Date$`)

const (
	maxDateFields = 1000 // of one file
	maxDateValue  = 64   // bytes; longer values are texts
)

// DateWarning names the first field of a document, a JSON object, that holds dates by its name and
// has a text that filters do not read as one; "" if there is none. Fields in known, which may be
// nil, are passed over; the one that is named is added.
func DateWarning(document []byte, known map[string]bool) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(document), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return ""
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return ""
		}
		if v.Kind() != '"' || len(v) > 6*maxDateValue || !dateName.MatchString(name) || known[name] {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) == nil && s != "" && len(s) <= maxDateValue && !content.IsDate(s) {
			if known != nil && len(known) < maxDateFields {
				known[name] = true
			}
			return fmt.Sprintf("field %q: %q is not read as a date; %s", name, s, dateAdvice)
		}
	}
	return ""
}

const dateAdvice = "filters and sorting by date leave such values out; write 2024-03-15 or 2024-03-15T14:30:00Z"

// dateField counts the values of a field in a file.
type dateField struct {
	named     bool // as a date
	good, bad int
	sample    string // the first bad value
	line      int    // of its record
}

// noteDates counts the values of the fields that hold dates by their name or their values.
func (x *source) noteDates(d Document) {
	for name, v := range d.Fields {
		s, ok := v.(string)
		if !ok || s == "" || len(s) > maxDateValue {
			continue
		}
		isDate := content.IsDate(s)
		f := x.dates[name]
		switch {
		case f == nil && len(x.dates) >= maxDateFields:
			continue
		case f == nil:
			if x.dates == nil {
				x.dates = map[string]*dateField{}
			}
			f = &dateField{named: dateName.MatchString(name)}
			x.dates[name] = f
		}
		if isDate {
			f.good++
		} else if f.bad++; f.bad == 1 {
			f.sample, f.line = s, d.Line
		}
	}
}

// reportDates warns of values that are no dates in fields that hold dates: by their name, or
// because most values are.
func (x *source) reportDates() error {
	for _, name := range slices.Sorted(maps.Keys(x.dates)) {
		f := x.dates[name]
		if f.bad == 0 || !f.named && f.good < 4*f.bad {
			continue
		}
		values := fmt.Sprintf("%d of %d values are", f.bad, f.bad+f.good)
		if f.bad+f.good == 1 {
			values = "the value is"
		}
		if err := x.Warnf(f.line, "field %q: %s not read as dates, such as %q; %s", name, values, f.sample, dateAdvice); err != nil {
			return err
		}
	}
	return nil
}
