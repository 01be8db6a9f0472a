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

// Result is the result of a load that has ended. Measured and Warmup are nil if Reports.SecondsOnly
// was set.
type Result struct {
	Ending
	Measured, Warmup *measure.Totals
}

// Ending is the part of a result that the one-second records do not contain. It describes the end
// of one loop, of one worker, or of several workers together.
type Ending struct {
	Loops int // number of event loops
	// Opened is the time on the worker's clock at which the window opened, or zero if it never
	// opened. Length is the length of the window, and OpenedLate is the delay with which the last
	// loop opened the window. Both are in nanoseconds.
	Opened     time.Time
	Length     int64
	OpenedLate int64
	// ClockBound is the largest possible error of the worker's clock after correction, in
	// nanoseconds. It is 0 for the clock of this machine. The code that corrects the times sets
	// this field.
	ClockBound int64
	// WarmupSeconds and Steady are nil unless the load is a closed loop whose warm-up could be
	// extended until the throughput was steady. WarmupSeconds is the length of this warm-up. Steady
	// is true if the throughput became steady.
	WarmupSeconds *float64
	Steady        *bool
	// Interrupted is set if the window was closed early.
	Interrupted bool

	// The times in LinkChanges are relative to Opened.
	engine.InWindow
	// Watching is nil if the load has no watchers.
	Watching *measure.WatchTotals
	// Calls contains the results of an application's calls, one element for each kind of call. It
	// is empty for any other load.
	Calls []measure.Calls
	// Leases are the names of the leases that an application or a recording requested.
	Leases []string
	// Used lists the resources that each worker used in the window.
	Used []Usage
}

// newEnding returns the ending of a loop. The parameter `base` is the time at which the loop's
// clock was 0, and `mayExtend` is set if the warm-up could be extended until the throughput was
// steady.
func newEnding(r *engine.Result, base time.Time, mayExtend bool) *Ending {
	if r == nil || r.WindowStart == 0 {
		return &Ending{Loops: 1}
	}
	e := &Ending{Loops: 1, Opened: base.Add(time.Duration(r.WindowStart)), Length: r.WindowEnd - r.WindowStart, InWindow: r.InWindow}
	if mayExtend {
		took := float64(r.WindowStart-r.LoadStart) / 1e9
		// Copy the value, because a pointer into the result would keep the whole loop in memory.
		steady := r.WarmupSteady
		e.WarmupSeconds, e.Steady = &took, &steady
	}
	e.LinkChanges = shiftChanges(r.LinkChanges, -time.Duration(r.WindowStart))
	return e
}

// merge adds the ending of another loop or worker.
func (e *Ending) merge(o *Ending) {
	if e.Loops == 0 {
		*e = *o
		e.MemberByEndpoint, e.Links, e.ErrorTexts = maps.Clone(o.MemberByEndpoint), maps.Clone(o.Links), maps.Clone(o.ErrorTexts)
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
	e.LinkChanges = append(shiftChanges(e.LinkChanges, e.Opened.Sub(opened)), shiftChanges(o.LinkChanges, o.Opened.Sub(opened))...)
	e.Opened = opened
	e.OpenedLate, e.ClockBound = max(e.OpenedLate, o.OpenedLate), max(e.ClockBound, o.ClockBound)
	e.Loops += o.Loops
	e.Interrupted = e.Interrupted || o.Interrupted
	window := &e.Window
	window.Merge(&o.Window)
	e.InFlightArea += o.InFlightArea
	e.RestingArea += o.RestingArea
	e.ErrorTexts = addMissing(e.ErrorTexts, o.ErrorTexts)
	e.MemberByEndpoint = addMissing(e.MemberByEndpoint, o.MemberByEndpoint)
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
	// Only one part has calls, because applications are not divided.
	e.Calls = append(e.Calls, o.Calls...)
	e.Leases = append(e.Leases, o.Leases...) // only one part has leases, for the same reason
	e.Used = append(e.Used, o.Used...)
}

// shiftChanges returns a copy of the changes, with `offset` added to their times.
func shiftChanges(changes []engine.LinkChange, offset time.Duration) []engine.LinkChange {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].At += int64(offset)
	}
	return changes
}

// addMissing returns the union of two maps. If both maps contain a key, the result contains the
// value from `preferred`.
func addMissing[K comparable, V any](preferred, fallback map[K]V) map[K]V {
	all := maps.Clone(fallback)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, preferred)
	return all
}

// Merger merges the reports from the parts of a load. The parts are a generator's loops, or
// several workers. The methods may be called concurrently.
type Merger struct {
	assignment      *Assignment
	maxWaitingBytes int // maxWaiting

	mu              sync.Mutex
	collector       *measure.Collector
	ending          Ending
	hasUnopenedPart bool // the window of at least one part did not open
}

// NewMerger returns a Merger for the given number of parts. It calls `each` with every merged
// second, and then `recycle` with the histograms of that second. Both functions may be nil.
func NewMerger(a *Assignment, parts int, each func(*measure.Second), recycle func(*measure.Histogram)) *Merger {
	g := &Merger{assignment: a, maxWaitingBytes: maxWaiting, collector: measure.NewCollector(parts)}
	g.collector.OnSecond, g.collector.Recycle = each, recycle
	return g
}

// SecondsOnly sets whether the result omits the totals. It must be called before any second is
// added.
func (g *Merger) SecondsOnly(only bool) { g.collector.NoTotals = only }

// Add adds a part's next one-second record. The Merger then owns this record.
func (g *Merger) Add(part int, s *measure.Second) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.collector.Add(part, s)
}

// maxWaiting is the maximum total size, in bytes, of the one-second records that cannot be merged
// because one part has not reported the earliest of these seconds yet. For most loads, this is
// enough for half an hour, which is much longer than the delay that slow operations can cause
// before they time out.
const maxWaiting = 64 << 20

// Copy adds a copy of the next second of a part. If too many seconds wait for one part, Copy sets
// the result `late` and returns the index of that part as `straggler`.
func (g *Merger) Copy(part int, s *measure.Second) (straggler int, late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.collector.AddCopy(part, s)
	return g.collector.Straggler(g.maxWaitingBytes)
}

// End must be called when a part will report no more seconds.
func (g *Merger) End(part int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.collector.End(part)
}

// Merge adds a part's ending.
func (g *Merger) Merge(e *Ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hasUnopenedPart = g.hasUnopenedPart || e.Opened.IsZero()
	g.ending.merge(e)
}

// Result returns the merged result. It must be called after all parts have ended.
func (g *Merger) Result() (*Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hasUnopenedPart {
		return nil, ErrNoWindow
	}
	r, a := &Result{Ending: g.ending}, g.assignment
	r.Measured, r.Warmup = g.collector.Close(float64(r.Length) / 1e9)
	t := r.Measured
	if t == nil {
		return r, nil
	}
	t.Window, t.ErrorTexts, t.Watching = r.Window, r.ErrorTexts, r.Watching
	t.Connections, t.Calls = r.Connections, r.Calls
	t.Links = summarizeLinks(r.Links, r.LinkChanges, a.Endpoints)
	if a.Load.Arrival != scenario.Closed {
		// The loops may have reached their maxima at different times, so the sum of the maxima can
		// be too large.
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

// These constants limit the values in a valid ending.
const (
	maxLoops       = 1 << 16
	maxLinkChanges = 1 << 20
	maxTexts       = 1 << 10
	maxCompleted   = 1 << 44 // operations of one client; the sum over all clients cannot overflow
	maxArea        = 1e22    // operations in flight × nanoseconds
	maxLength      = int64(10 * 365 * 24 * time.Hour)
)

// Valid returns an error if the ending contains values that no load can report. It also replaces
// the ending's texts with texts that are safe to display.
func (e *Ending) Valid() error {
	w := &e.Window
	counts := []int64{e.Length, e.OpenedLate, e.ClockBound, w.OldestInFlightAge, int64(w.MaxInFlight), int64(w.Stranded), w.LongestStranded, w.Paused, w.LongestPause}
	for i := range e.Used {
		u := &e.Used[i]
		counts = append(counts, u.MaxRSSBytes, u.LoopCPU, u.RunDelay, u.Slices)
	}
	if err := text.CheckNumbers(e.Used); err != nil {
		return fmt.Errorf("it reports figures that cannot have been measured: %w", err)
	}
	for _, area := range []float64{e.InFlightArea, e.RestingArea} {
		if !(area >= 0 && area <= maxArea) {
			return fmt.Errorf("it reports an impossible total time of operations in flight or of paused clients (%g ns)", area)
		}
	}
	if w := e.WarmupSeconds; w != nil && !(*w >= 0 && *w*1e9 <= float64(maxLength)) {
		return fmt.Errorf("it reports a warm-up of %g s, which is impossible", *w)
	}
	for _, n := range e.Links {
		counts = append(counts, int64(n))
	}
	clients := 0
	for i := range e.Connections {
		completed := e.Connections[i].Completed
		clients += len(completed)
		if len(completed) > 0 && slices.Max(completed) > maxCompleted {
			return errors.New("it reports a client with an impossible number of completed operations")
		}
	}
	switch {
	case clients > scenario.MaxClients || len(e.Connections) > scenario.MaxClients:
		return errors.New("it reports more clients than a load can have")
	case e.Loops < 1 || e.Loops > maxLoops:
		return fmt.Errorf("it reports %d event loops, which is impossible", e.Loops)
	case len(e.LinkChanges) > maxLinkChanges || len(e.Links)+len(e.MemberByEndpoint)+len(e.ErrorTexts) > maxTexts || len(e.Used) > maxLoops:
		return errors.New("it reports more connection changes, members, error texts or processes than a load can have")
	case len(e.Leases) > store.MaxGrants:
		return errors.New("it reports more leases than a load can have")
	case len(e.Calls) > measure.MaxCallKinds:
		return errors.New("it reports more kinds of calls than an application can have")
	case e.Length > maxLength || slices.Min(counts) < 0:
		return errors.New("it reports a negative time or number, or a window longer than 10 years")
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

// summarizeLinks returns, for each endpoint, what happened to the connections of all loops. The
// given endpoints come first. The map `count` contains the number of connections to each endpoint
// when the window opened. The times in `changes` are relative to the opening of the window.
func summarizeLinks(count map[string]int, changes []engine.LinkChange, endpoints []string) []measure.Link {
	slices.SortStableFunc(changes, func(a, b engine.LinkChange) int { return cmp.Compare(a.At, b.At) })
	count = maps.Clone(count)
	if count == nil { // a worker may report null
		count = map[string]int{}
	}
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
		links = append(links, summarizeLink(endpoint, count[endpoint], changes))
	}
	return links
}

// summarizeLink summarizes the changes in the number of connections to one endpoint.
func summarizeLink(endpoint string, connections int, changes []engine.LinkChange) measure.Link {
	link := measure.Link{Endpoint: endpoint, Connections: connections, MinConnections: connections, LostAt: -1, BackAt: -1}
	current := connections
	for _, c := range changes {
		if c.Endpoint != endpoint {
			continue
		}
		previous := current
		current += c.Delta
		if c.Lost {
			link.Lost++
		}
		at := max(float64(c.At)/1e9, 0)
		link.MinConnections = min(link.MinConnections, current)
		switch {
		case current < connections && previous >= connections:
			if link.LostAt < 0 {
				link.LostAt = at
			}
			link.BackAt = -1
		case current >= connections && previous < connections:
			link.BackAt = at
		}
	}
	return link
}
