package extract

import (
	"encoding/json"
	"fmt"
	"strings"
)

// repeated refuses a repeated member of an object anywhere in s, which is valid JSON and was
// decoded to v: of the two values one is lost.
//
// Each member has one colon outside of strings, so that none is lost where v has as many members as
// s has of these. Only else s is read again.
func repeated(s string, v any) error {
	if colons(s) == members(v) {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return repeatedIn(d, "")
}

// colons counts those outside of strings.
func colons(s string) (n int) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			n++
		}
	}
	return n
}

// members counts those of all objects in v.
func members(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, e := range v {
			n += members(e)
		}
	case []any:
		for _, e := range v {
			n += members(e)
		}
	}
	return n
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// repeatedIn reads the next value of d, which is at a JSON pointer, up to a repeated member.
func repeatedIn(d *json.Decoder, at string) error {
	t, err := d.Token()
	if err != nil || t != json.Delim('{') && t != json.Delim('[') {
		return err
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		step := fmt.Sprint(i)
		if t == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return err
			}
			step = name.(string)
			switch {
			case seen[step] && at == "":
				return fmt.Errorf("member %.100q: given more than once", step)
			case seen[step]:
				return fmt.Errorf("member %.100q in %.100s: given more than once", step, at)
			}
			seen[step] = true
		}
		if err := repeatedIn(d, at+"/"+pointerEscape.Replace(step)); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
