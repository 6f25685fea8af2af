package encoder

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/searchd/pooling"
)

// poolConfig is how the token states of a text become one vector.
type poolConfig struct {
	modes         []pooling.Mode
	includePrompt bool // false: the prompt's tokens do not count
}

// poolFlags are the fields of the old layout, in the order of concatenation.
var poolFlags = []string{
	pooling.CLSMode:          "pooling_mode_cls_token",
	pooling.MaxMode:          "pooling_mode_max_tokens",
	pooling.MeanMode:         "pooling_mode_mean_tokens",
	pooling.MeanSqrtLenMode:  "pooling_mode_mean_sqrt_len_tokens",
	pooling.WeightedMeanMode: "pooling_mode_weightedmean_tokens",
	pooling.LastTokenMode:    "pooling_mode_lasttoken",
}

// readPooling reads the config of a Pooling module over states of width hidden: flags in the old
// layout, a name or a list of names under pooling_mode in the new one. Without either it is the
// mean.
func readPooling(fsys fs.FS, dir string, hidden int) (poolConfig, error) {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return poolConfig{}, err
	}
	width := f.first("word_embedding_dimension", "embedding_dimension")
	if n := f.int(width, hidden, 1, maxHidden); n != hidden {
		f.fail(width, "is %d, but the transformer gives %d", n, hidden)
	}
	p := poolConfig{includePrompt: f.bool("include_prompt", true)}
	var flagged []pooling.Mode
	for mode, flag := range poolFlags {
		if f.bool(flag, false) {
			flagged = append(flagged, pooling.Mode(mode))
		}
	}
	for name := range f.raw {
		if strings.HasPrefix(name, "pooling_mode_") && !slices.Contains(poolFlags, name) && string(f.raw[name]) != "false" {
			f.fail(name, "is %s, want one of %s", f.text(name), strings.Join(poolFlags, ", "))
		}
	}
	p.modes = f.poolingModes("pooling_mode")
	switch {
	case p.modes == nil && flagged == nil:
		p.modes = []pooling.Mode{pooling.MeanMode}
	case p.modes == nil:
		p.modes = flagged
	case flagged != nil && !slices.Equal(slices.Sorted(slices.Values(p.modes)), flagged):
		f.fail("pooling_mode", "is %s, but the flags pooling_mode_* say %v", f.text("pooling_mode"), flagged)
	}
	return p, f.err()
}

// poolingModes reads a mode or a list of modes, which are concatenated in its order; nil if absent.
func (f *fields) poolingModes(name string) []pooling.Mode {
	if !f.has(name) {
		return nil
	}
	var names []string
	if f.raw[name][0] == '"' {
		names = []string{f.string(name, "")}
	} else if json.Unmarshal(f.raw[name], &names) != nil || len(names) == 0 || len(names) > 16 {
		f.fail(name, "is %s, want a name or a list of 1 to 16 names", f.text(name))
		return nil
	}
	modes, err := parseModes(names)
	if err != nil {
		f.fail(name, "is %s: %v", f.text(name), err)
	}
	return modes
}

// parseModes reads names of modes.
func parseModes(names []string) ([]pooling.Mode, error) {
	var modes []pooling.Mode
	for _, s := range names {
		m, err := pooling.ParseMode(s)
		if err != nil {
			return nil, err
		}
		modes = append(modes, m)
	}
	return modes, nil
}
