package load

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Result is the result of a finished load. Measured and Warmup are nil if Reports.SecondsOnly
// was set.
type Result struct {
	Ending
	Measured, Warmup *measure.Totals
}

// Ending is the part of a result that the seconds do not contain: of one loop, one worker, or
// several.
type Ending struct {
	Loops int // event loops
	// Opened is when the window opened, on the worker's clock; zero if it never opened. Length
	// is the length of the window, and OpenedLate the delay with which the last loop opened
	// it, both in nanoseconds.
	Opened     time.Time
	Length     int64
	OpenedLate int64
	// ClockBound is the largest possible error of the worker's clock after its correction, in
	// nanoseconds; 0 for a clock of this machine. The code that corrects the times sets it.
	ClockBound int64
	// WarmupSeconds is the length of a warm-up that continued until the throughput of a closed
	// loop was steady. Steady reports whether it was. Both are nil without such a warm-up.
	WarmupSeconds *float64
	Steady        *bool
	// Interrupted reports that the window was closed early.
	Interrupted bool

	// In InWindow the times of LinkChanges are relative to Opened.
	engine.InWindow
	// Watching is nil unless the load has watchers.
	Watching *measure.WatchTotals
	// Calls are the calls of an application, by kind; empty for any other load.
	Calls []measure.Calls
	// Leases are the names of the leases that an application or a recording was granted.
	Leases []string
	// Used has the resources that each worker used in the window.
	Used []Usage
}

// endingOf returns the ending of a loop whose clock was 0 at base.
func endingOf(r *engine.Result, base time.Time, settles bool) *Ending {
	if r == nil || r.Opened == 0 {
		return &Ending{Loops: 1}
	}
	e := &Ending{Loops: 1, Opened: base.Add(time.Duration(r.Opened)), Length: r.Closed - r.Opened, InWindow: r.InWindow}
	if settles {
		took := float64(r.Opened-r.Began) / 1e9
		steady := r.Steady // a copy: a pointer into the result would keep a whole loop
		e.WarmupSeconds, e.Steady = &took, &steady
	}
	e.LinkChanges = shifted(r.LinkChanges, -time.Duration(r.Opened))
	return e
}

// merge adds the ending of another part.
func (e *Ending) merge(o *Ending) {
	if e.Loops == 0 {
		*e = *o
		e.MemberOf, e.Links, e.ErrorTexts = maps.Clone(o.MemberOf), maps.Clone(o.Links), maps.Clone(o.ErrorTexts)
		e.Calls = slices.Clone(o.Calls)
		e.LinkChanges, e.Used, e.Connections = slices.Clone(o.LinkChanges), slices.Clone(o.Used), slices.Clone(o.Connections)
		return
	}
	opened := e.Opened
	if o.Opened.Before(opened) {
		opened = o.Opened
	}
	e.Length = max(e.Length+int64(e.Opened.Sub(opened)), o.Length+int64(o.Opened.Sub(opened)))
	e.Connections = append(e.Connections, o.Connections...)
	e.LinkChanges = append(shifted(e.LinkChanges, e.Opened.Sub(opened)), shifted(o.LinkChanges, o.Opened.Sub(opened))...)
	e.Opened = opened
	e.OpenedLate, e.ClockBound = max(e.OpenedLate, o.OpenedLate), max(e.ClockBound, o.ClockBound)
	e.Loops += o.Loops
	e.Interrupted = e.Interrupted || o.Interrupted
	window := &e.Window
	window.Merge(&o.Window)
	e.InFlightArea += o.InFlightArea
	e.RestingArea += o.RestingArea
	e.ErrorTexts = addMissing(e.ErrorTexts, o.ErrorTexts)
	e.MemberOf = addMissing(e.MemberOf, o.MemberOf)
	links := maps.Clone(o.Links)
	for endpoint, n := range e.Links {
		if links == nil {
			links = map[string]int{}
		}
		links[endpoint] += n
	}
	e.Links = links
	if e.Watching == nil {
		e.Watching = o.Watching
	}
	e.Calls = append(e.Calls, o.Calls...)    // from one part: applications are not divided
	e.Leases = append(e.Leases, o.Leases...) // from one part, too
	e.Used = append(e.Used, o.Used...)
}

// shifted returns a copy of the changes with times relative to a moment that is earlier by by.
func shifted(changes []engine.LinkChange, by time.Duration) []engine.LinkChange {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].At += int64(by)
	}
	return changes
}

// addMissing returns the union of both maps. Entries of to take precedence.
func addMissing[K comparable, V any](to, from map[K]V) map[K]V {
	all := maps.Clone(from)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, to)
	return all
}

// Gathering merges the reports of the parts of a load: a generator's loops, or several
// workers. Its methods may be called concurrently.
type Gathering struct {
	assignment *Assignment
	most       int // mostWaiting

	mu     sync.Mutex
	col    *measure.Collector
	ending Ending
	never  bool // the window did not open in some part
}

// NewGathering returns a gathering for the given number of parts. It calls each with every
// merged second, and then recycle with the second's histograms; both may be nil.
func NewGathering(a *Assignment, parts int, each func(*measure.Second), recycle func(*measure.Histogram)) *Gathering {
	g := &Gathering{assignment: a, most: mostWaiting, col: measure.NewCollector(parts)}
	g.col.Each, g.col.Recycle = each, recycle
	return g
}

// SecondsOnly sets whether the result omits the totals. It must be called before anything is
// added.
func (g *Gathering) SecondsOnly(only bool) { g.col.NoTotals = only }

// Add adds the next second of a part. The gathering then owns the second.
func (g *Gathering) Add(part int, s *measure.Second) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.Add(part, s)
}

// mostWaiting is the largest size, in bytes, of the seconds that wait for a part that has not
// yet reported the earliest of them. It is half an hour of most loads, far more than the
// timeout of operations explains.
const mostWaiting = 64 << 20

// Copy adds a copy of a part's next second. late reports that too many seconds wait for one
// part, and straggler is that part.
func (g *Gathering) Copy(part int, s *measure.Second) (straggler int, late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.Copy(part, s)
	return g.col.Straggler(g.most)
}

// End records that a part has no more seconds.
func (g *Gathering) End(part int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.End(part)
}

// Merge adds the ending of a part.
func (g *Gathering) Merge(e *Ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.never = g.never || e.Opened.IsZero()
	g.ending.merge(e)
}

// Result returns the merged result. It must be called after all parts have ended.
func (g *Gathering) Result() (*Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.never {
		return nil, ErrNeverOpened
	}
	r, a := &Result{Ending: g.ending}, g.assignment
	r.Measured, r.Warmup = g.col.Close(float64(r.Length) / 1e9)
	t := r.Measured
	if t == nil {
		return r, nil
	}
	t.Window, t.ErrorTexts, t.Watching = r.Window, r.ErrorTexts, r.Watching
	t.Connections, t.Calls = r.Connections, r.Calls
	t.Links = linksOf(r.Links, r.LinkChanges, a.Endpoints)
	if a.Load.Arrival != scenario.Closed {
		// The loops reached their maxima at different times, so their sum can be too large.
		t.MaxInFlight = min(t.MaxInFlight, a.Load.MaxInFlight)
	}
	if t.Seconds > 0 {
		t.MeanInFlight = r.InFlightArea / float64(r.Length)
		t.MeanResting = r.RestingArea / float64(r.Length)
	}
	for _, u := range r.Used {
		t.LoopCPU, t.RunDelay, t.Slices = t.LoopCPU+u.LoopCPU, t.RunDelay+u.RunDelay, t.Slices+u.Slices
	}
	return r, nil
}

// Limits of a valid ending.
const (
	mostLoops       = 1 << 16
	mostLinkChanges = 1 << 20
	mostTexts       = 1 << 10
	mostCompleted   = 1 << 44 // operations of one client; sums of this do not overflow
	mostArea        = 1e22    // operations in flight × nanoseconds
	longest         = int64(10 * 365 * 24 * time.Hour)
)

// Valid returns an error if the ending has values that no load can report. It also makes its
// texts safe to display.
func (e *Ending) Valid() error {
	w := &e.Window
	counts := []int64{e.Length, e.OpenedLate, e.ClockBound, w.CarriedInAge, int64(w.MaxInFlight), int64(w.Held), w.HeldLongest, w.Paused, w.LongestPause}
	for i := range e.Used {
		u := &e.Used[i]
		counts = append(counts, u.MaxRSSBytes, u.LoopCPU, u.RunDelay, u.Slices)
	}
	if err := text.CheckNumbers(e.Used); err != nil {
		return fmt.Errorf("it reports figures that cannot have been measured: %w", err)
	}
	for _, area := range []float64{e.InFlightArea, e.RestingArea} {
		if !(area >= 0 && area <= mostArea) {
			return fmt.Errorf("it reports %g operations in flight times nanoseconds", area)
		}
	}
	if w := e.WarmupSeconds; w != nil && !(*w >= 0 && *w*1e9 <= float64(longest)) {
		return fmt.Errorf("it reports a warm-up of %g s", *w)
	}
	for _, n := range e.Links {
		counts = append(counts, int64(n))
	}
	clients := 0
	for i := range e.Connections {
		completed := e.Connections[i].Completed
		clients += len(completed)
		if len(completed) > 0 && slices.Max(completed) > mostCompleted {
			return errors.New("it reports a client with an impossible number of completed operations")
		}
	}
	switch {
	case clients > scenario.MaxClients || len(e.Connections) > scenario.MaxClients:
		return errors.New("it reports more clients than a load has")
	case e.Loops < 1 || e.Loops > mostLoops:
		return fmt.Errorf("it reports %d event loops", e.Loops)
	case len(e.LinkChanges) > mostLinkChanges || len(e.Links)+len(e.MemberOf)+len(e.ErrorTexts) > mostTexts || len(e.Used) > mostLoops:
		return errors.New("it reports more connections, members or errors than a load has")
	case len(e.Leases) > store.MostGrants:
		return errors.New("it reports more leases than a load keeps")
	case len(e.Calls) > measure.MostCallKinds:
		return errors.New("it reports more kinds of calls than an application has")
	case e.Length > longest || slices.Min(counts) < 0:
		return errors.New("it reports a time or a number that is below 0, or years")
	}
	for o, words := range e.ErrorTexts {
		e.ErrorTexts[o] = text.Line(words, text.MaxServerText)
	}
	for i := range e.Calls {
		e.Calls[i].Name = text.Line(e.Calls[i].Name, text.MaxServerText)
	}
	if e.Watching != nil {
		e.Watching.EndedText = text.Line(e.Watching.EndedText, text.MaxServerText)
	}
	return nil
}

// linksOf returns what happened to the connections of all loops by endpoint, beginning with
// the given endpoints. count has the connections when the window opened, and the times of
// changes are relative to the opening.
func linksOf(count map[string]int, changes []engine.LinkChange, endpoints []string) []measure.Link {
	slices.SortStableFunc(changes, func(a, b engine.LinkChange) int { return cmp.Compare(a.At, b.At) })
	count = maps.Clone(count)
	for _, c := range changes {
		count[c.Endpoint] += 0
	}
	var order []string
	for _, endpoint := range append(slices.Clone(endpoints), slices.Sorted(maps.Keys(count))...) {
		if _, ok := count[endpoint]; ok && !slices.Contains(order, endpoint) {
			order = append(order, endpoint)
		}
	}
	var links []measure.Link
	for _, endpoint := range order {
		links = append(links, linkOf(endpoint, count[endpoint], changes))
	}
	return links
}

// linkOf evaluates the changes of one endpoint's connections.
func linkOf(endpoint string, connections int, changes []engine.LinkChange) measure.Link {
	link := measure.Link{Endpoint: endpoint, Connections: connections, Fewest: connections, LostAt: -1, BackAt: -1}
	now := connections
	for _, c := range changes {
		if c.Endpoint != endpoint {
			continue
		}
		before := now
		now += c.Delta
		if c.Lost {
			link.Lost++
		}
		at := max(float64(c.At)/1e9, 0)
		link.Fewest = min(link.Fewest, now)
		switch {
		case now < connections && before >= connections:
			if link.LostAt < 0 {
				link.LostAt = at
			}
			link.BackAt = -1
		case now >= connections && before < connections:
			link.BackAt = at
		}
	}
	return link
}
