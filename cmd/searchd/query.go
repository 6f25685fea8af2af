package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"searchd/cmd/internal/command"
	"searchd/internal/settings"
	"searchd/search"
)

func newQueryCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use: "query TEXT...", Short: "Search a data folder or a running server",
		Long: `Search a data folder or a running server. In TEXT, "two words" is a phrase that must occur, and -word or -"two words"
leaves out the documents that have it; quote TEXT for the shell: searchd query '"emergency fund" -mortgage'. Where TEXT begins with a
minus, put -- in front of it.`,
		Args: func(_ *cobra.Command, words []string) error {
			if len(words) == 0 {
				return errors.New("name what to look for: searchd query --data DIR|--server URL TEXT")
			}
			return nil
		}, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := f.query(cmd, strings.Join(args, " "))
		if err != nil {
			return err
		}
		ask := f.askFolder
		if f.server != "" {
			ask = f.askServer
		}
		r, err := ask(cmd, q)
		if err != nil {
			return err
		}
		if f.asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetEscapeHTML(false)
			return enc.Encode(r)
		}
		printHits(cmd.OutOrStdout(), r, command.IsTerminal(cmd.OutOrStdout()))
		return nil
	}
	return cmd
}

// queryFlags are a query and where to send it.
type queryFlags struct {
	engineFlags
	server, key, collection                      string
	mode, filter, operator, fields, facets, sort string
	spelling                                     string
	limit                                        int
	alpha, diversity                             float64
	boosts                                       []string
	asJSON, explain, sentences                   bool
}

func (f *queryFlags) add(cmd *cobra.Command) {
	f.engineFlags.add(cmd)
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&f.key, "key", "", "API key of the server")
	cmd.Flags().StringVar(&f.collection, "collection", "", "collection (default: the only one, or docs)")
	cmd.Flags().StringVar(&f.mode, "mode", "hybrid", "hybrid, semantic or keyword")
	settings.Choices(cmd, "mode", "hybrid", "semantic", "keyword")
	cmd.Flags().StringVar(&f.filter, "filter", "", "e.g. \"lang = 'en' AND year >= 2020\"")
	cmd.Flags().StringVar(&f.operator, "operator", "or", "or, and: whether keyword search requires all the words")
	settings.Choices(cmd, "operator", "or", "and")
	cmd.Flags().StringVar(&f.spelling, "spelling", "corrected", "corrected, exact: whether misspelled words are corrected")
	settings.Choices(cmd, "spelling", "corrected", "exact")
	cmd.Flags().StringVar(&f.fields, "fields", "", "text fields of keyword search, e.g. title^3,body (default: all)")
	cmd.Flags().StringVar(&f.facets, "facets", "", "fields whose values are counted, e.g. lang,year")
	cmd.Flags().StringVar(&f.sort, "sort", "", "sort by fields instead of by score, e.g. year:desc,_score")
	cmd.Flags().StringArrayVar(&f.boosts, "boost", nil, `raises or lowers hits, as JSON: '{"field": "published", "origin": "now", "scale": "30d", "weight": 0.5}'; can be given again`)
	cmd.Flags().IntVar(&f.limit, "limit", search.DefaultLimit, "hits")
	cmd.Flags().Float64Var(&f.alpha, "alpha", 0, "weight of vector search, 0 to 1 (default: chosen for the query)")
	cmd.Flags().Float64Var(&f.diversity, "diversity", 0, "0 to 1: how far hits similar to earlier ones are moved down")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the answer as JSON")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "explain each score")
	cmd.Flags().BoolVar(&f.sentences, "sentences", false, "show the sentence of each hit that is nearest to the query")
}

// query returns what the flags of cmd ask for.
func (f *queryFlags) query(cmd *cobra.Command, text string) (search.Query, error) {
	q := search.Query{Q: text, Mode: search.Mode(f.mode), Filter: f.filter, Limit: &f.limit, Explain: f.explain, Sentences: f.sentences}
	q.Spelling, q.Operator, q.Fields, q.Diversity = search.Spelling(f.spelling), f.operator, list(f.fields), f.diversity
	for _, name := range list(f.facets) {
		q.Facets = append(q.Facets, search.Facet{Field: name})
	}
	for _, key := range list(f.sort) {
		k, err := search.ParseSortKey(key)
		if err != nil {
			return q, err
		}
		q.Sort = append(q.Sort, k)
	}
	for _, text := range f.boosts {
		var b search.Boost
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&b); err != nil || dec.More() {
			return q, fmt.Errorf(`--boost: got %q, allowed: an object such as {"filter": "kind = 'faq'", "weight": 0.3}, with filter or field, origin, scale and weight`, text)
		}
		q.Boosts = append(q.Boosts, b)
	}
	if cmd.Flags().Changed("alpha") {
		q.Alpha = &f.alpha
	}
	return q, nil
}

// list splits the value of a flag at commas.
func list(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func (f *queryFlags) askFolder(cmd *cobra.Command, q search.Query) (*search.Response, error) {
	e, err := f.openToRead(cmd)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	collection, err := folderCollection(cmd.Context(), e, f.collection)
	if err != nil {
		return nil, err
	}
	return e.Search(cmd.Context(), collection, q)
}

func (f *queryFlags) askServer(cmd *cobra.Command, q search.Query) (*search.Response, error) {
	c, err := openServer(f.server, f.key)
	if err != nil {
		return nil, err
	}
	find := func(name string) error { _, err := c.Collection(cmd.Context(), name); return err }
	collection, err := onlyCollection(f.collection, "the server", find, func() (names []string, err error) {
		list, err := c.Collections(cmd.Context())
		for _, x := range list {
			names = append(names, x.Name)
		}
		return names, err
	})
	if err != nil {
		return nil, err
	}
	return remoteEngine{c}.Search(cmd.Context(), collection, q)
}

// convert turns a value into another of the same JSON shape.
func convert(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // large integers stay exact
	return dec.Decode(to)
}

var markTag = regexp.MustCompile(`</?mark>`)

// printHits writes an answer for a person; on a terminal the query's words are bold.
func printHits(w io.Writer, r *search.Response, color bool) {
	bold, plain := "", ""
	if color {
		bold, plain = "\x1b[1m", "\x1b[0m"
	}
	if r.Degraded {
		fmt.Fprintf(w, "(%s)\n\n", oneLine(r.Reason))
	}
	if r.Query != nil {
		for _, x := range r.Query.Respelled {
			fmt.Fprintf(w, "(no document has %q: read as %q)\n\n", x.Word, x.As)
		}
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "(%s)\n\n", oneLine(warning))
	}
	for i, h := range r.Hits {
		head, id := heading(h), ""
		if head != oneLine(h.ID) {
			id = "  " + h.ID
		}
		fmt.Fprintf(w, "%s%2d  %s%s  %.3f%s\n", bold, i+1, head, plain, h.Score, id)
		for _, p := range h.Passages {
			text := shorten(printable(p.Text))
			if p.Marked != "" {
				text = marks(shorten(p.Marked), bold, plain)
			}
			fmt.Fprintf(w, "    %s\n", text)
			if s := p.Sentence; s != nil && p.Start <= s.Start && s.Start <= s.End && s.End-p.Start <= len(p.Text) { // the server is not trusted
				fmt.Fprintf(w, "    > %s\n", oneLine(p.Text[s.Start-p.Start:s.End-p.Start]))
			}
		}
		printFields(w, h, bold, plain)
		if len(h.Passages)+len(h.Highlights) == 0 && len(h.Document) > len("{}") {
			text := printable(string(h.Document[:min(len(h.Document), shownFields)]))
			if len(h.Document) > shownFields {
				text = strings.ToValidUTF8(text, "") + " …"
			}
			fmt.Fprintf(w, "    %s\n", text)
		}
		if h.Explain != nil {
			printExplain(w, h.Explain)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Facets)) {
		printFacet(w, name, r.Facets[name])
	}
	fmt.Fprintf(w, "\n%d of %s%d (%s), %.1f ms\n", len(r.Hits), map[string]string{"gte": "at least "}[r.Total.Relation], r.Total.Value, r.Total.Of, r.TookMS)
}

// printFields writes where the query's words were found in fields of which no passage is shown: a
// title, tags.
func printFields(w io.Writer, h search.Hit, bold, plain string) {
	for _, name := range slices.Sorted(maps.Keys(h.Highlights)) {
		shown := func(p search.PassageHit) bool { return p.Field == name }
		snippets := h.Highlights[name]
		if len(snippets) == 0 || slices.ContainsFunc(h.Passages, shown) || marks(snippets[0], "", "") == h.ID {
			continue
		}
		fmt.Fprintf(w, "    %s: %s\n", oneLine(name), marks(shorten(snippets[0]), bold, plain))
	}
}

// marks returns a marked text, or a part of one that may end within a mark, as it is shown.
func marks(marked, bold, plain string) string {
	return unescape.Replace(markTag.ReplaceAllStringFunc(printable(marked), func(tag string) string {
		if tag == "<mark>" {
			return bold
		}
		return plain
	})) + plain
}

// printable leaves out what a terminal would take for commands.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// oneLine is printable on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// printFacet writes the values of a field with their counts.
func printFacet(w io.Writer, name string, f search.FacetCounts) {
	fmt.Fprintf(w, "\n%s:", oneLine(name))
	if len(f.Values) == 0 {
		fmt.Fprint(w, "  no values")
	}
	for _, v := range f.Values {
		text, isText := v.Value.(string)
		if !isText {
			b, _ := json.Marshal(v.Value) // 1500000, where fmt has 1.5e+06
			text = string(b)
		}
		fmt.Fprintf(w, "  %s (%d)", oneLine(text), v.Count)
	}
	if more := f.Distinct - len(f.Values); more > 0 {
		fmt.Fprintf(w, "  and %d more", more)
	}
	fmt.Fprintf(w, "; %d without\n", f.Missing)
}

// shownWords is how many words of a passage are shown, from a little before its first mark.
const shownWords = 50

// shownFields is how many bytes of the fields of a hit are shown that has neither a passage nor a
// mark.
const shownFields = 200

// shorten returns the words of a text around its first mark.
func shorten(marked string) string {
	words := strings.Fields(marked)
	from := 0
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "<mark>") }); i > 0 {
		from = max(0, min(i-shownWords/4, len(words)-shownWords))
	}
	to := min(from+shownWords, len(words))
	out := strings.Join(words[from:to], " ")
	if from > 0 {
		out = "… " + out
	}
	if to < len(words) {
		out += " …"
	}
	return out
}

// unescape undoes html.EscapeString for the terminal.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

func printExplain(w io.Writer, e *search.Explain) {
	if v := e.Vector; v != nil {
		fmt.Fprintf(w, "    vector: cosine %.3f", v.Cosine)
		for _, part := range []struct {
			name  string
			value *float64
		}{{"match", v.Match}, {"similarity", v.Similarity}} {
			if part.value != nil {
				fmt.Fprintf(w, ", %s %.3f", part.name, *part.value)
			}
		}
		fmt.Fprintf(w, ", normed %.3f, rank %d\n", v.Norm, v.Rank)
	}
	if k := e.Keyword; k != nil {
		fmt.Fprintf(w, "    keyword: BM25 %.3f, normed %.3f, rank %d", k.Score, k.Norm, k.Rank)
		for _, t := range k.Terms {
			term := t.Term
			if t.For != "" {
				term += " (for " + t.For + ")"
			}
			fmt.Fprintf(w, "  %s %.2f", oneLine(term), t.Score)
		}
		fmt.Fprintln(w)
	}
	if b := e.Boost; b != nil {
		fmt.Fprintf(w, "    boost: relevance %.3f, factor %.3f, rank %d", b.Relevance, b.Factor, b.RankBefore)
		for _, v := range b.Values {
			fmt.Fprintf(w, "  %s %.2f of %g", oneLine(v.Of), v.Value, v.Weight)
		}
		fmt.Fprintln(w)
	}
}
