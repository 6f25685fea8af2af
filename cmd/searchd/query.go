package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"searchd/client"
	"searchd/internal/settings"
	"searchd/search"
)

func newQueryCommand() *cobra.Command {
	var f engineFlags
	var server, key, collection, mode, filter, operator, fields, facets, sort string
	var limit int
	var alpha, diversity float64
	var asJSON, explain, sentences bool
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
		}, PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&key, "key", "", "API key of the server")
	cmd.Flags().StringVar(&collection, "collection", "", "collection (default: the only one, or docs)")
	cmd.Flags().StringVar(&mode, "mode", "hybrid", "hybrid, semantic or keyword")
	settings.Choices(cmd, "mode", "hybrid", "semantic", "keyword")
	cmd.Flags().StringVar(&filter, "filter", "", "e.g. \"lang = 'en' AND year >= 2020\"")
	cmd.Flags().StringVar(&operator, "operator", "or", "or, and: whether the keyword leg wants all the words")
	settings.Choices(cmd, "operator", "or", "and")
	cmd.Flags().StringVar(&fields, "fields", "", "text fields of the keyword leg, e.g. title^3,body (default: all)")
	cmd.Flags().StringVar(&facets, "facets", "", "fields whose values are counted, e.g. lang,year")
	cmd.Flags().StringVar(&sort, "sort", "", "instead of by score, e.g. year:desc,_score")
	cmd.Flags().IntVar(&limit, "limit", search.DefaultLimit, "hits")
	cmd.Flags().Float64Var(&alpha, "alpha", 0, "weight of the vector leg, 0 to 1 (default: the checkpoint's)")
	cmd.Flags().Float64Var(&diversity, "diversity", 0, "0 to 1: how much what is like an earlier hit is held back")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "say how each score came about")
	cmd.Flags().BoolVar(&sentences, "sentences", false, "show the sentence of each hit that is nearest to the query")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := search.Query{Q: strings.Join(args, " "), Mode: search.Mode(mode), Filter: filter, Limit: &limit, Explain: explain, Sentences: sentences}
		q.Operator, q.Fields, q.Diversity = operator, list(fields), diversity
		for _, name := range list(facets) {
			q.Facets = append(q.Facets, search.Facet{Field: name})
		}
		for _, key := range list(sort) {
			k, err := search.ParseSortKey(key)
			if err != nil {
				return err
			}
			q.Sort = append(q.Sort, k)
		}
		if cmd.Flags().Changed("alpha") {
			q.Alpha = &alpha
		}
		var r *search.Response
		var err error
		if server != "" {
			r, err = queryServer(cmd, server, key, collection, q)
		} else {
			r, err = queryFolder(cmd, &f, collection, q)
		}
		if err != nil {
			return err
		}
		if asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetEscapeHTML(false)
			return enc.Encode(r)
		}
		printHits(cmd.OutOrStdout(), r, isTerminal(cmd.OutOrStdout()))
		return nil
	}
	return cmd
}

// list splits the value of a flag at commas.
func list(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func queryFolder(cmd *cobra.Command, f *engineFlags, collection string, q search.Query) (*search.Response, error) {
	e, err := f.openToRead(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if collection, err = folderCollection(cmd.Context(), e, collection); err != nil {
		return nil, err
	}
	return e.Search(cmd.Context(), collection, q)
}

// queryServer asks a server. Queries and answers of the client have the JSON shape of the engine's.
func queryServer(cmd *cobra.Command, server, key, collection string, q search.Query) (*search.Response, error) {
	c, err := client.New(server, client.Options{Key: key, Retries: 2}) // somebody waits
	if err != nil {
		return nil, err
	}
	find := func(name string) error { _, err := c.Collection(cmd.Context(), name); return err }
	collection, err = onlyCollection(collection, "the server", find, func() (names []string, err error) {
		list, err := c.Collections(cmd.Context())
		for _, x := range list {
			names = append(names, x.Name)
		}
		return names, err
	})
	if err != nil {
		return nil, err
	}
	var asked client.Query
	if err := convert(q, &asked); err != nil {
		return nil, err
	}
	answer, err := c.Search(cmd.Context(), collection, asked)
	if err != nil {
		return nil, err
	}
	var r search.Response
	return &r, convert(answer, &r)
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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

var markTag = regexp.MustCompile(`</?mark>`)

// printHits writes an answer for a person; on a terminal the query's words are bold.
func printHits(w io.Writer, r *search.Response, color bool) {
	bold, plain := "", ""
	if color {
		bold, plain = "\x1b[1m", "\x1b[0m"
	}
	if r.Degraded {
		fmt.Fprintf(w, "(%s)\n\n", r.Reason)
	}
	if r.Query != nil {
		for _, x := range r.Query.Respelled {
			fmt.Fprintf(w, "(no document has %q: read as %q)\n\n", x.Word, x.As)
		}
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "(%s)\n\n", warning)
	}
	for i, h := range r.Hits {
		fmt.Fprintf(w, "%s%2d  %s%s  %.3f\n", bold, i+1, h.ID, plain, h.Score)
		for _, p := range h.Passages {
			text := printable(p.Text)
			if p.Marked != "" {
				text = marks(p.Marked, bold, plain)
			}
			fmt.Fprintf(w, "    %s\n", shorten(text, bold, plain))
			if s := p.Sentence; s != nil {
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

// printFields writes where the query's words were found in fields of which no passage is shown: a title, tags.
func printFields(w io.Writer, h search.Hit, bold, plain string) {
	for _, name := range slices.Sorted(maps.Keys(h.Highlights)) {
		shown := func(p search.PassageHit) bool { return p.Field == name }
		snippets := h.Highlights[name]
		if len(snippets) == 0 || slices.ContainsFunc(h.Passages, shown) || marks(snippets[0], "", "") == h.ID {
			continue
		}
		fmt.Fprintf(w, "    %s: %s\n", oneLine(name), shorten(marks(snippets[0], bold, plain), bold, plain))
	}
}

// marks returns a marked text as it is shown on the terminal.
func marks(marked, bold, plain string) string {
	return unescape.Replace(markTag.ReplaceAllStringFunc(printable(marked), func(tag string) string {
		if tag == "<mark>" {
			return bold
		}
		return plain
	}))
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
	fmt.Fprintf(w, "\n%s:", name)
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

// shownFields is how many bytes of the fields of a hit are shown that has neither a passage nor a mark.
const shownFields = 200

// shorten returns the words of a passage around its first mark.
func shorten(text, bold, plain string) string {
	words := strings.Fields(text)
	from := 0
	if bold != "" {
		for i, w := range words {
			if strings.Contains(w, bold) {
				from = max(0, min(i-shownWords/4, len(words)-shownWords))
				break
			}
		}
	}
	to := min(from+shownWords, len(words))
	out := strings.Join(words[from:to], " ")
	if from > 0 {
		out = "… " + out
	}
	if to < len(words) {
		out += " …"
	}
	return out + plain
}

// unescape undoes html.EscapeString for the terminal.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

func printExplain(w io.Writer, e *search.Explain) {
	if v := e.Vector; v != nil {
		fmt.Fprintf(w, "    vector: cosine %.3f, normed %.3f, rank %d\n", v.Cosine, v.Norm, v.Rank)
	}
	if k := e.Keyword; k != nil {
		fmt.Fprintf(w, "    keyword: BM25 %.3f, normed %.3f, rank %d", k.Score, k.Norm, k.Rank)
		for _, t := range k.Terms {
			fmt.Fprintf(w, "  %s %.2f", t.Term, t.Score)
		}
		fmt.Fprintln(w)
	}
}
