package serve

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// perPage is the number of runs on a page of the list.
const perPage = 100

// query describes which runs to select. An empty field excludes no runs.
type query struct {
	SearchWords                 string // each word must occur in the run's summary
	Name, Store, Version, Label string
	Verdict, State, Machine     string
	From, To                    string // days in UTC, inclusive, as in 2026-11-29
	Page                        int    // from 1
	from, until                 time.Time
	fields                      []string
}

// queryParameter is a query parameter that selects the runs with a given value, for example the
// runs of a given store.
type queryParameter struct {
	key, title string
	field      func(*query) *string
	values     func(*Summary) []string
}

var queryParameters = []queryParameter{
	{"name", "scenario", func(q *query) *string { return &q.Name }, func(s *Summary) []string { return []string{s.Name} }},
	{"store", "store", func(q *query) *string { return &q.Store }, func(s *Summary) []string { return s.Stores }},
	{"version", "version", func(q *query) *string { return &q.Version }, func(s *Summary) []string { return s.Versions }},
	{"label", "label", func(q *query) *string { return &q.Label }, func(s *Summary) []string { return s.Labels }},
	{"machine", "machine", func(q *query) *string { return &q.Machine }, func(s *Summary) []string { return s.Machines }},
	{"verdict", "verdict", func(q *query) *string { return &q.Verdict }, func(s *Summary) []string { return []string{s.Verdict} }},
	{"state", "state", func(q *query) *string { return &q.State }, func(s *Summary) []string { return []string{s.State} }},
}

// parseQuery parses the parameters of a URL. It ignores unknown parameters.
func parseQuery(values url.Values) (q query, err error) {
	q.SearchWords, q.Page = strings.TrimSpace(values.Get("q")), 1
	q.fields = strings.Fields(strings.ToLower(q.SearchWords))
	for _, c := range queryParameters {
		*c.field(&q) = values.Get(c.key)
	}
	if page := values.Get("page"); page != "" {
		if q.Page, err = strconv.Atoi(page); err != nil || q.Page < 1 {
			return q, fmt.Errorf("page must be a positive number, not %q", page)
		}
	}
	q.From, q.To = values.Get("from"), values.Get("to")
	if q.from, err = day("from", q.From); err != nil {
		return q, err
	}
	if q.until, err = day("to", q.To); err == nil && q.To != "" {
		q.until = q.until.AddDate(0, 0, 1)
	}
	return q, err
}

func day(key, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return t, fmt.Errorf("%s must be a day such as 2026-11-29, not %q", key, value)
	}
	return t, nil
}

// selects reports whether the query selects a run.
func (q *query) selects(s *Summary) bool {
	for _, c := range queryParameters {
		if want := *c.field(q); want != "" && !slices.Contains(c.values(s), want) {
			return false
		}
	}
	if s.Started.Before(q.from) || !q.until.IsZero() && !s.Started.Before(q.until) {
		return false
	}
	return !slices.ContainsFunc(q.fields, func(word string) bool { return !s.matches(word) })
}

// filter returns the runs that the query selects, in the same order.
func (q *query) filter(runs []*Summary) []*Summary {
	selected := make([]*Summary, 0, len(runs))
	for _, s := range runs {
		if q.selects(s) {
			selected = append(selected, s)
		}
	}
	return selected
}

// encode returns the query as the parameters of a URL, with the given page.
func (q *query) encode(page int) string {
	values := url.Values{}
	set := func(key, value string) {
		if value != "" {
			values.Set(key, value)
		}
	}
	set("q", q.SearchWords)
	for _, c := range queryParameters {
		set(c.key, *c.field(q))
	}
	set("from", q.From)
	set("to", q.To)
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	return values.Encode()
}

// maxOptions is the maximum number of values that a form offers for one parameter.
const maxOptions = 200

// formField is a form field for a query parameter. The field offers the values that occur in the
// runs.
type formField struct {
	Key, Title, Chosen string
	Values             []string
}

// options returns a form field for each query parameter. It omits a parameter that has fewer than
// two values in the runs, unless the query sets this parameter.
func (q *query) options(runs []*Summary) (all []formField) {
	for _, c := range queryParameters {
		seen := map[string]bool{}
		for _, s := range runs {
			for _, v := range c.values(s) {
				if v != "" {
					seen[v] = true
				}
			}
		}
		o := formField{Key: c.key, Title: c.title, Chosen: *c.field(q), Values: slices.Sorted(maps.Keys(seen))}
		if o.Chosen != "" && !slices.Contains(o.Values, o.Chosen) {
			o.Values = slices.Insert(o.Values, 0, o.Chosen)
		}
		o.Values = o.Values[:min(len(o.Values), maxOptions)]
		if len(o.Values) > 1 || o.Chosen != "" {
			all = append(all, o)
		}
	}
	return all
}
