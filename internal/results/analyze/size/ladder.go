package size

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Ladder is a series of trials that differ only in their number of clients or only in their rate.
// The trials are the steps of the ladder, in ascending order of load.
type Ladder struct {
	Name  string // the part that the trials' names have in common
	Open  bool   // set if the steps differ in their rate
	Steps []LadderStep

	// Knee is the index in Steps of the step with the highest power (throughput divided by mean
	// time), or -1 if there is no knee. NearKnee holds the indices of the adjacent steps whose
	// power differs from the power of the knee by less than the practical margin. If there is no
	// knee, NoKneeReason is a sentence that explains why.
	Knee         int
	NearKnee     []int
	NoKneeReason string
	// Scaling is the Universal Scalability Law, fitted to the valid steps. It is nil if it cannot
	// be fitted; then NoScalingReason gives the reason. Doubts lists reasons not to trust the law,
	// or not to trust it over its whole range.
	Scaling         *stats.Scaling
	NoScalingReason string
	Doubts          []string
	// MaxConcurrency is the highest concurrency among the valid steps. Above it, the law
	// extrapolates.
	MaxConcurrency float64
}

// LadderStep is one step of a ladder, with the figures in its row of the table.
type LadderStep struct {
	Row  *analyze.Row
	Load string // the load in words, such as "64 clients" or "2,000/s due"
	// Concurrency is the number of clients in a closed loop. In an open loop, it is the mean number
	// of operations that are due but not yet done.
	Concurrency float64
	Throughput  figures.Value
	Mean        figures.Value // mean of the times that the tables show first
	P50, P99    figures.Value
	// Power is the throughput divided by the mean time, or 0 if either is unknown.
	Power float64
	// ExclusionReason is the reason why the knee and the law ignore this step. It is empty if they
	// use the step.
	ExclusionReason string
}

// minLadderSteps is the minimum number of steps in a ladder. minKneeSteps is the minimum number of
// valid steps for a knee: the knee itself and one step on each side.
const (
	minLadderSteps = 3
	minKneeSteps   = 3
)

// Ladders returns the ladders in a run, in the order of the run's rows.
func Ladders(rows []*analyze.Row) []Ladder {
	var order []string
	groups := map[string][]*analyze.Row{}
	for _, r := range rows {
		key := stepKey(r.First())
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	var all []Ladder
	for _, key := range order {
		for _, g := range byConnections(groups[key]) {
			if l, ok := newLadder(g); ok {
				all = append(all, l)
			}
		}
	}
	return all
}

// stepKey returns a key that is the same for all steps of a ladder. It contains the trial's run and
// all its conditions except the clients, rate and connections.
func stepKey(t *record.Trial) string {
	parts := []string{t.Dir, t.Store, t.Version, t.Label, t.Exec, t.Environment(), fmt.Sprint(t.Members, t.TLS, t.Authenticated, t.Open())}
	for _, p := range scenario.ParametersOf(&t.Load) {
		switch p.Key {
		case "clients", "rate", "connections":
		default:
			if p.DifferenceName != "" {
				parts = append(parts, p.Text(&t.Load))
			}
		}
	}
	return strings.Join(parts, "\x00")
}

// byConnections splits rows into groups that use their connections in the same way. If a scenario
// asks for more connections than a trial has clients, the trial uses one connection per client. So
// steps with few clients may have fewer connections than the other steps in their group.
func byConnections(rows []*analyze.Row) (out [][]*analyze.Row) {
	for len(rows) > 0 {
		most := rows[0].First().Connections // a record from another program may contain any number
		for _, r := range rows {
			most = max(most, r.First().Connections)
		}
		var these, rest []*analyze.Row
		for _, r := range rows {
			if t := r.First(); t.Connections == most || !t.Open() && t.Connections == t.Clients {
				these = append(these, r)
			} else {
				rest = append(rest, r)
			}
		}
		out, rows = append(out, these), rest
	}
	return out
}

// newLadder creates a ladder from rows. It returns false if there are too few different steps with
// figures.
func newLadder(rows []*analyze.Row) (Ladder, bool) {
	l := Ladder{Open: rows[0].First().Open(), Knee: -1}
	var names []string
	for _, r := range rows {
		if len(r.Done) > 0 {
			l.Steps = append(l.Steps, newStep(r))
			names = append(names, r.First().Name)
		}
	}
	load := func(s *LadderStep) float64 {
		if t := s.Row.First(); !l.Open {
			return float64(t.Clients)
		} else if t.Rate != nil {
			return *t.Rate
		}
		return 0
	}
	slices.SortStableFunc(l.Steps, func(a, b LadderStep) int { return cmp.Compare(load(&a), load(&b)) })
	different := len(l.Steps)
	for i := 1; i < len(l.Steps); i++ {
		if load(&l.Steps[i]) == load(&l.Steps[i-1]) {
			different--
		}
	}
	if different < minLadderSteps {
		return l, false
	}
	l.Name = cmp.Or(common(names), analyze.Headline(rows[0].First())+" on "+analyze.Store(rows[0].First()))
	l.findKnee()
	l.fit()
	return l, true
}

func newStep(r *analyze.Row) LadderStep {
	t := r.First()
	s := LadderStep{Row: r, Load: text.Plural(uint64(max(t.Clients, 0)), "client"), Concurrency: float64(t.Clients)}
	figure := func(name string) figures.Value {
		f := figures.Registered(name)
		v, _ := r.Figure(&f)
		return v
	}
	if t.Open() {
		s.Load, s.Concurrency = analyze.DueRate(t), figure("in-flight").Number
	}
	s.Throughput, s.Mean, s.P50, s.P99 = figure("ops"), figure("mean"), figure("p50"), figure("p99")
	if s.Throughput.Known && s.Mean.Known && !s.Mean.Failed && s.Mean.Number > 0 {
		s.Power = s.Throughput.Number / s.Mean.Number
	}
	s.ExclusionReason = exclusionReason(r)
	return s
}

// exclusionReason returns the reason why a row is not a valid step, or "" if it is valid.
func exclusionReason(r *analyze.Row) string {
	for _, t := range r.Done {
		switch {
		case t.State == record.Interrupted:
			return "it was interrupted"
		case t.Verdict.State == verdict.Invalid:
			return "its verdict is invalid"
		case missedRate(t):
			return "the trial did not reach its rate, so the number of operations in flight depends on the trial's duration"
		}
	}
	return ""
}

// missedRate reports whether an open loop missed its rate by more than the practical margin and by
// more than three standard deviations of the count in a Poisson process.
func missedRate(t *record.Trial) bool {
	if !t.Open() || t.Rate == nil || *t.Rate <= 0 || t.Seconds <= 0 {
		return false
	}
	missed := 1 - t.PerSecond / *t.Rate
	return missed > math.Max(stats.Margin, 3/math.Sqrt(*t.Rate*t.Seconds))
}

// common returns the common start and end of the names, without the digits in which the steps
// differ. It returns an empty string if the names have no common part.
func common(names []string) string {
	prefix, suffix := names[0], names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
		for !strings.HasSuffix(n, suffix) {
			suffix = suffix[1:]
		}
	}
	const digits = "0123456789"
	prefix = strings.TrimRight(strings.TrimRight(prefix, digits), " -_./")
	suffix = strings.TrimLeft(strings.TrimLeft(suffix, digits), " -_./")
	if len(prefix)+len(suffix) >= len(names[0]) || !strings.ContainsFunc(suffix, unicode.IsLetter) {
		suffix = ""
	}
	return strings.ToValidUTF8(strings.Trim(prefix+" "+suffix, " "), "")
}

// validSteps returns the indices of the valid steps.
func (l *Ladder) validSteps() (places []int) {
	for i := range l.Steps {
		if l.Steps[i].ExclusionReason == "" {
			places = append(places, i)
		}
	}
	return places
}

// findKnee finds the step with the highest power, which is throughput divided by mean time
// (Kleinrock, "Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer
// Communications", ICC 1979). Below the knee, throughput grows relatively faster than time; above
// the knee, time grows faster than throughput. Another method (Kneedle) defines the knee as the
// point with the largest distance from a chord. Unlike the power, that distance depends on the
// units of the axes and on the range of the steps.
func (l *Ladder) findKnee() {
	var places []int
	for _, i := range l.validSteps() {
		if l.Steps[i].Power > 0 {
			places = append(places, i)
		}
	}
	if len(places) < minKneeSteps {
		l.NoKneeReason = fmt.Sprintf("No knee: only %s can be used, and a knee needs a usable step on each side.", text.Plural(uint64(len(places)), "step"))
		return
	}
	best := 0
	for k, i := range places {
		if l.Steps[i].Power > l.Steps[places[best]].Power {
			best = k
		}
	}
	first, last := best, best
	near := func(k int) bool { return l.Steps[places[k]].Power >= (1-stats.Margin)*l.Steps[places[best]].Power }
	for first > 0 && near(first-1) {
		first--
	}
	for last+1 < len(places) && near(last+1) {
		last++
	}
	switch {
	case last == len(places)-1:
		l.NoKneeReason = fmt.Sprintf("No knee: at the last step, %s, the ratio of throughput to mean time is within %s of its highest value. The knee is at or above this step; try higher loads.", l.Steps[places[last]].Load, text.Percent(stats.Margin, 0))
		return
	case first == 0:
		l.NoKneeReason = fmt.Sprintf("No knee: above the first step, %s, the mean time grows faster than the throughput. The knee is at or below this step; try lower loads.", l.Steps[places[0]].Load)
		return
	}
	l.Knee = places[best]
	for k := first; k <= last; k++ {
		if k != best {
			l.NearKnee = append(l.NearKnee, places[k])
		}
	}
}

// Limits for a credible fit of the law.
const (
	// maxDeviation is the largest deviation of the steps from the curve for which the parameters
	// of the curve still describe the store.
	maxDeviation = 0.10
	// minConcurrencyRatio is the minimum ratio of the largest to the smallest concurrency.
	minConcurrencyRatio = 8
)

// fit fits the law to the valid steps.
func (l *Ladder) fit() {
	var steps []stats.Step
	least := math.Inf(1)
	different := map[float64]bool{}
	for _, i := range l.validSteps() {
		s := &l.Steps[i]
		if s.Concurrency > 0 && s.Throughput.Number > 0 {
			steps = append(steps, stats.Step{Concurrency: s.Concurrency, Throughput: s.Throughput.Number})
			least, l.MaxConcurrency = math.Min(least, s.Concurrency), math.Max(l.MaxConcurrency, s.Concurrency)
			different[s.Concurrency] = true
		}
	}
	if len(different) < stats.MinSteps {
		l.NoScalingReason = fmt.Sprintf("No scalability law: the fit needs %d usable steps with different loads, but the ladder has only %d.", stats.MinSteps, len(different))
		return
	}
	s, ok := stats.FitScaling(steps, stats.Level)
	if !ok {
		l.NoScalingReason = "No scalability law: the law cannot be fitted to these steps."
		return
	}
	if s.Deviation > maxDeviation {
		l.NoScalingReason = fmt.Sprintf("No scalability law: the steps deviate by %s from the best curve (standard deviation, limit %s).", text.Percent(s.Deviation, 0), text.Percent(maxDeviation, 0))
		return
	}
	l.Scaling = &s
	doubt := func(format string, args ...any) { l.Doubts = append(l.Doubts, fmt.Sprintf(format, args...)) }
	if l.MaxConcurrency < minConcurrencyRatio*least {
		doubt("the largest concurrency is only %.1f times the smallest, too little for a curve", l.MaxConcurrency/least)
	}
	if s.Sigma.Low == 0 {
		doubt("contention may be zero")
	}
	if l.Open {
		doubt("in an open loop, the number of operations in flight is not set but measured, and measurement errors flatten the curve")
	}
	suspect := 0
	for _, i := range l.validSteps() {
		if analyze.WorstVerdict(l.Steps[i].Row.Done) == verdict.Suspect {
			suspect++
		}
	}
	if suspect > 0 {
		doubt("steps with a suspect verdict: %s", text.Count(uint64(suspect)))
	}
}

// curvePoints is the number of points with which a curve is drawn.
const curvePoints = 60

// Curve returns points on the law's curve from the smallest to the largest concurrency. It returns
// nil if the ladder has no law.
func (l *Ladder) Curve() (all []stats.Step) {
	if l.Scaling == nil {
		return nil
	}
	least := l.MaxConcurrency
	for _, i := range l.validSteps() {
		if c := l.Steps[i].Concurrency; c > 0 {
			least = math.Min(least, c)
		}
	}
	for i := range curvePoints {
		n := least * math.Pow(l.MaxConcurrency/least, float64(i)/(curvePoints-1))
		all = append(all, stats.Step{Concurrency: n, Throughput: l.Scaling.Throughput(n)})
	}
	return all
}
