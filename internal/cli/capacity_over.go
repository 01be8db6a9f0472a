package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// over is a parameter and the values that are gone through; without values, its largest
// value is searched. The zero value is none.
type over struct {
	key    string
	values []string
}

// overStore is the key that stands for the store with its version.
const overStore = "store"

// mostOver is how many values are gone through at most.
const mostOver = 100

// overSentence tells the two apart.
const overSentence = `--over KEY=VALUE,... searches the highest rate for each value, and --over KEY the largest
value of a parameter that an application's load grows with, such as nodes`

// overTold is the same in one line, for errors.
func overTold() string { return strings.ReplaceAll(overSentence, "\n", " ") }

// searched reports whether the parameter's largest value is searched.
func (o *over) searched() bool { return o.key != "" && len(o.values) == 0 }

// fits refuses a trial whose load has no rate, or no parameter, to be searched.
func (o *over) fits(t *scenario.Trial) error {
	app := application.Find(registry.All(), t.Load.Application.Name)
	if app == nil {
		if o.searched() {
			return command.Usage("--over %s: the load of the trial %s is no application's, and %s", o.key, t.Name, overTold())
		}
		return nil
	}
	d := app.Definition()
	switch {
	case len(d.Scales) == 0:
		return command.Usage("the trial %s is what %s sends, of which no capacity is searched, because %s; use run with several values, such as a matrix", t.Name, d.Name, d.Unsearched)
	case !o.searched():
		return command.Usage("the trial %s is what an application sends, whose rate follows from its parameters (%s); search one of these: %s", t.Name, strings.Join(d.Scales, ", "), overTold())
	case d.Scaling(o.key) == nil:
		return command.Usage("--over %s: the load of %s does not grow with it, but with %s; search one of these", o.key, d.Name, strings.Join(d.Scales, ", "))
	}
	return nil
}

// parseOver reads KEY=VALUE,VALUE,..., or KEY. Commas within brackets and braces are a value's
// own, as in mix={put: 20, get: 80}.
func parseOver(text string) (o over, err error) {
	key, list, ok := strings.Cut(text, "=")
	if o.key = strings.TrimSpace(key); o.key == "" {
		return o, fmt.Errorf("%q names no parameter; write KEY=VALUE,VALUE, as in value-size=128,1KiB, or KEY, as in nodes", text)
	}
	if !ok {
		return o, nil
	}
	depth, from := 0, 0
	add := func(value string) {
		if value = strings.TrimSpace(value); value != "" {
			o.values = append(o.values, value)
		}
	}
	for i, c := range list {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				add(list[from:i])
				from = i + 1
			}
		}
	}
	add(list[from:])
	for i, v := range o.values {
		if slices.Contains(o.values[:i], v) {
			return o, fmt.Errorf("%q has %s twice", text, v)
		}
	}
	if n := len(o.values); n == 0 || n > mostOver {
		return o, fmt.Errorf("%q has %d values, and 1 to %d can be gone through", text, n, mostOver)
	}
	return o, nil
}

// String writes it as parseOver reads it.
func (o over) String() string {
	if o.key == "" || o.searched() {
		return o.key
	}
	return o.key + "=" + strings.Join(o.values, ",")
}

// bySearch are the parameters that the search itself chooses.
var bySearch = []string{"rate", "duration", "warmup", "total", "repeats"}

// check refuses what cannot be gone through.
func (o over) check(f *capacityFlags) error {
	switch {
	case o.key == "":
		return nil
	case slices.Contains(bySearch, o.key):
		return command.Usage("--over %s: the search itself chooses it; go through another parameter", o.key)
	case o.searched() && !ofApplication(o.key):
		return command.Usage("--over %s names no values; write KEY=VALUE,VALUE, as in value-size=128,1KiB: %s", o.key, overTold())
	case o.key == overStore && (f.given("store") || f.given("exec") || f.given("endpoints")):
		return command.Usage("--over store starts each store, and --store, --exec and --endpoints name one; give one of them")
	case o.key == overStore && slices.ContainsFunc(f.set, scenario.Assignment.OfRunning):
		of := f.set[slices.IndexFunc(f.set, scenario.Assignment.OfRunning)]
		return command.Usage("--over store starts each store, and --set %s names a cluster that runs already; give one of them", of.Key)
	case o.key == "version" || o.key == "exec":
		return command.Usage("--over %s: go through stores with their versions, as in --over store=NAME@VERSION,NAME@VERSION", o.key)
	case f.sets(o.key):
		return command.Usage("--set and --over both give %s; give one of them", o.key)
	}
	return nil
}

// sets reports whether --set gives the parameter.
func (f *capacityFlags) sets(key string) bool {
	return slices.ContainsFunc(f.set, func(a scenario.Assignment) bool { return a.Key == key })
}

// ofApplication reports whether some application has a parameter. Whether its load grows
// with it is asked of the load's own.
func ofApplication(key string) bool {
	return slices.ContainsFunc(registry.All(), func(a application.Application) bool {
		return slices.ContainsFunc(a.Definition().Parameters, func(p application.Parameter) bool { return p.Key == key })
	})
}

// searches has the runner do one search after the other.
type searches struct {
	flags       *capacityFlags
	loads       []scenario.Trial // by value; one without a parameter to go through
	now         func() time.Time
	display     *command.Display
	slowAtFirst func(store string) string
	parameter   *searchedParameter // nil: rates are searched

	at      int // the search under way
	current *seeker
	began   time.Time // when the first trial of all did; zero: none has
	trials  int       // that were planned
	found   record.CapacityOver
}

func newSearches(f *capacityFlags, loads []scenario.Trial, now func() time.Time, d *command.Display, slowAtFirst func(string) string) *searches {
	return &searches{flags: f, loads: loads, now: now, display: d, slowAtFirst: slowAtFirst, at: -1,
		found: record.CapacityOver{Parameter: f.over.key, UntilNS: f.until.Nanoseconds()}}
}

// next is runner.Next.
func (s *searches) next(before *record.Trial) (runner.Named, error) {
	if before != nil && s.began.IsZero() {
		s.began = before.Started
	}
	for {
		if s.current != nil {
			t, err := s.current.next(before, s.trials+1)
			if s.keep(); err != nil {
				return runner.Named{}, err
			}
			if t != nil {
				s.trials++
				named := runner.Named{Trial: t, Fresh: s.current.planned == 1, Found: s.recorded()}
				if s.parameter != nil {
					named.Fresh, named.Unprepared = true, s.unprepared
				}
				return named, nil
			}
		}
		if s.at++; s.at == len(s.loads) {
			return runner.Named{Found: s.recorded()}, nil
		}
		s.begin()
		before = nil
	}
}

// unprepared is seeker.unprepared; the trial that did not begin is none of the run.
func (s *searches) unprepared(why error) bool {
	if !s.current.unprepared(why) {
		return false
	}
	s.trials--
	return true
}

// begin begins the next search, with its share of the time that is left.
func (s *searches) begin() {
	left := s.flags.until
	if !s.began.IsZero() {
		left -= s.now().Sub(s.began)
	}
	share := left / time.Duration(len(s.loads)-s.at)
	s.current = newSeeker(s.flags, s.loads[s.at], share, s.now, s.display, s.parameter)
	s.current.reason = s.slowAtFirst(s.loads[s.at].Cluster.Store)
	if len(s.flags.over.values) == 0 {
		return
	}
	value := s.flags.over.values[s.at]
	s.current.name = scenario.NameOf(s.flags.over.key+"="+value, s.at+1) + "-"
	s.found.Searches = append(s.found.Searches, record.CapacitySearch{Value: value})
	if s.at > 0 { // the time in which its cluster starts counts
		s.current.began = s.now()
	}
	s.display.Line(fmt.Sprintf("%s=%s, search %d of %d, in %s", s.flags.over.key, value, s.at+1, len(s.loads), share.Round(time.Second)))
	if s.at > 0 && share < leastSearch {
		s.current.ended(capacity.NotKnown, "the time was over before its first trial")
	}
}

// leastSearch is how much time a search wants to be begun.
const leastSearch = 5 * time.Second

// keep takes how far the search has come.
func (s *searches) keep() {
	if n := len(s.found.Searches); n > 0 {
		s.found.Searches[n-1].Capacity = s.current.found
	}
}

// recorded is how far all have come.
func (s *searches) recorded() record.Searches {
	if len(s.flags.over.values) == 0 {
		return record.Searches{Capacity: &s.current.found}
	}
	return record.Searches{Over: &s.found}
}

func (s *searches) show(p runner.Progress) { s.current.show(p) }
