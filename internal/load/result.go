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

// Result is what a finished load reports. Measured and Warmup are nil where the
// seconds were all that was asked for.
type Result struct {
	Ending
	Measured, Warmup *measure.Totals
}

// Ending is the part of it that the seconds do not have: of one loop, of a
// worker, or of several.
type Ending struct {
	Loops int // event loops
	// Opened is when the window opened, on the worker's clock, and Length how long
	// it was, in nanoseconds. Opened is zero if it never opened. OpenedLate is how
	// much later the last of its loops came to it, in nanoseconds.
	Opened     time.Time
	Length     int64
	OpenedLate int64
	// ClockBound is how far that clock may be from what its times were corrected by,
	// in nanoseconds; 0 for a clock that is ours. Who corrects them says it.
	ClockBound int64
	// WarmupSeconds is how long a closed loop's warm-up took that goes on until
	// its throughput is steady, and Steady whether it was; nil without one.
	WarmupSeconds *float64
	Steady        *bool
	// Interrupted says that the window was closed before its time.
	Interrupted bool

	// InWindow has the times of its LinkChanges since the opening.
	engine.InWindow
	// Watching is nil unless the load has watchers.
	Watching *measure.WatchTotals
	// Calls are an application's, by their kinds; empty for any other load.
	Calls []measure.Calls
	// Leases are the names of those that an application, or a recording, was granted.
	Leases []string
	// Used is what each worker used in the window itself.
	Used []Usage
}

// endingOf is what a loop reports, whose clock began at base.
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
	e.LinkChanges = later(r.LinkChanges, -time.Duration(r.Opened))
	return e
}

// merge adds another's.
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
	e.LinkChanges = append(later(e.LinkChanges, e.Opened.Sub(opened)), later(o.LinkChanges, o.Opened.Sub(opened))...)
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
	e.Calls = append(e.Calls, o.Calls...)    // of one part: applications are not divided
	e.Leases = append(e.Leases, o.Leases...) // likewise
	e.Used = append(e.Used, o.Used...)
}

// later is changes whose times are since another moment, earlier by so much.
func later(changes []engine.LinkChange, by time.Duration) []engine.LinkChange {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].At += int64(by)
	}
	return changes
}

// addMissing adds what another map has and this one has not.
func addMissing[K comparable, V any](to, from map[K]V) map[K]V {
	all := maps.Clone(from)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, to)
	return all
}

// Gathering puts what the parts of a load report together: a generator's loops,
// or several workers. Any goroutine may add to it.
type Gathering struct {
	assignment *Assignment
	most       int // mostWaiting

	mu     sync.Mutex
	col    *measure.Collector
	ending Ending
	never  bool // the window did not open in some part
}

// NewGathering is of so many parts. Each takes every second, merged, and recycle
// its histograms afterwards; both may be nil.
func NewGathering(a *Assignment, parts int, each func(*measure.Second), recycle func(*measure.Histogram)) *Gathering {
	g := &Gathering{assignment: a, most: mostWaiting, col: measure.NewCollector(parts)}
	g.col.Each, g.col.Recycle = each, recycle
	return g
}

// SecondsOnly says whether each second is all that is asked for: the result then has
// no totals. It is called before anything is added.
func (g *Gathering) SecondsOnly(only bool) { g.col.NoTotals = only }

// Add takes a part's next second, which is the gathering's from now on.
func (g *Gathering) Add(part int, s *measure.Second) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.Add(part, s)
}

// mostWaiting is how many bytes of seconds wait for a part that has not told the
// earliest of them: half an hour of most loads, which is far more than the timeout
// of operations explains.
const mostWaiting = 64 << 20

// Copy is Add of a second that stays the caller's. late says that a part keeps too
// much of the others' waiting, and straggler which.
func (g *Gathering) Copy(part int, s *measure.Second) (straggler int, late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.Copy(part, s)
	return g.col.Straggler(g.most)
}

// End says that a part has no more seconds.
func (g *Gathering) End(part int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.col.End(part)
}

// Merge takes a part's ending.
func (g *Gathering) Merge(e *Ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.never = g.never || e.Opened.IsZero()
	g.ending.merge(e)
}

// Result is all of it. All parts have ended.
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
		// The loops had their most at different times.
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

// The most that an ending can have, from wherever it comes.
const (
	mostLoops       = 1 << 16
	mostLinkChanges = 1 << 20
	mostTexts       = 1 << 10
	mostCompleted   = 1 << 44 // of one client, far below what overflows when many are added
	mostArea        = 1e22    // of requests in flight, in nanoseconds
	longest         = int64(10 * 365 * 24 * time.Hour)
)

// Valid says in one sentence what an ending has that no load can have reported,
// and makes its texts fit to be shown.
func (e *Ending) Valid() error {
	w := &e.Window
	counts := []int64{e.Length, e.OpenedLate, e.ClockBound, w.CarriedInAge, int64(w.MaxInFlight), int64(w.Held), w.HeldLongest, w.Paused, w.LongestPause}
	for i := range e.Used {
		u := &e.Used[i]
		counts = append(counts, u.MaxRSSBytes, u.LoopCPU, u.RunDelay, u.Slices)
	}
	if err := text.CheckNumbers(e.Used); err != nil {
		return fmt.Errorf("it reports what cannot have been measured: %w", err)
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
			return errors.New("it reports a client that completed more than any can")
		}
	}
	switch {
	case clients > scenario.MaxClients || len(e.Connections) > scenario.MaxClients:
		return errors.New("it reports more clients than a load has")
	case e.Loops < 1 || e.Loops > mostLoops:
		return fmt.Errorf("it had %d event loops", e.Loops)
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
		e.ErrorTexts[o] = text.Line(words, text.OfServer)
	}
	for i := range e.Calls {
		e.Calls[i].Name = text.Line(e.Calls[i].Name, text.OfServer)
	}
	if e.Watching != nil {
		e.Watching.EndedText = text.Line(e.Watching.EndedText, text.OfServer)
	}
	return nil
}

// linksOf says what happened to the connections of all loops, by endpoint: the
// given ones first. count is how many there were when the window opened, and the
// changes' times are since then.
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

// linkOf walks through the changes of one endpoint's connections.
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
