package check

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// What is too slow, or wrong.
const (
	CauseAlarm    = "alarm"
	CauseElection = "leader change"
	CauseDisk     = "disk"
	CauseCPU      = "cpu of a member"
	CauseTester   = "cpu of the tester"
	CauseNetwork  = "network"
	CauseMember   = "member"
)

// The rules' limits. docs/check.md says where each comes from.
const (
	LimitFsyncP99   = 0.010 // seconds
	LimitCommitP99  = 0.025
	LimitLongSync   = MostSlow / 2 // of one sync or commit, where the slowest write is at stake
	LimitPeerP99    = 0.150
	LimitRoundTrip  = 0.100 // median of TCP connects
	LimitConnect    = 1.0   // the longest: a lost packet is sent again after 1 s
	LimitBusy       = 0.85  // share of the processors
	LimitRunDelay   = 0.10  // share of the window
	LimitPause      = MostStddev
	LimitSlowAnswer = MostSlow / 2 // of a member's metrics
)

// Cause is one thing that is too slow, with the figure that it rests on.
type Cause struct {
	What   string // one of the constants
	Member string // where it is one's
	Text   string // a sentence
	Figure float64
	Unit   string // of the figure: s, or a share of 1, or empty for a count
	Limit  float64
}

// Diagnose says what is too slow, by figures alone: a pure function. It also
// tells what was looked at.
func Diagnose(f Figures) (causes []Cause, looked []string) {
	for i := range f.Members {
		m := &f.Members[i]
		causes = append(causes, alarms(m)...)
		causes = append(causes, leaders(m)...)
		causes = append(causes, disks(m)...)
		causes = append(causes, processors(m, &f)...)
		causes = append(causes, roundTrips(m, &f)...)
		causes = append(causes, peers(m)...)
		causes = append(causes, silence(m)...)
	}
	if len(ofKind(causes, CauseElection)) == 0 && f.Elections > 0 {
		causes = append(causes, Cause{What: CauseElection, Figure: float64(f.Elections),
			Text: fmt.Sprintf("the leader changed: the cluster's term rose by %d", f.Elections)})
	}
	causes = append(causes, folder(f.Probe)...)
	causes = append(causes, ourselves(&f)...)
	return causes, lookedAt(&f)
}

func ofKind(causes []Cause, what string) (out []Cause) {
	for _, c := range causes {
		if c.What == what {
			out = append(out, c)
		}
	}
	return out
}

func seconds(s float64) string { return measure.Duration(s * 1e9) }

func alarms(m *MemberFigures) (out []Cause) {
	for _, a := range m.Alarms {
		out = append(out, Cause{What: CauseAlarm, Member: m.Name, Text: fmt.Sprintf("member %s raises the alarm %s", m.Name, a)})
	}
	return out
}

func leaders(m *MemberFigures) []Cause {
	n := m.Metrics[store.LeaderChanges].Value
	if n <= 0 {
		return nil
	}
	return []Cause{{What: CauseElection, Member: m.Name, Figure: n,
		Text: fmt.Sprintf("the leader changed: member %s counted %.0f changes in the window", m.Name, n)}}
}

// disks judges the member's own times of its log's sync and its database's
// commit.
func disks(m *MemberFigures) (out []Cause) {
	for _, what := range []struct {
		metric store.Metric
		name   string
		limit  float64
	}{{store.FsyncSeconds, "fsync of its log", LimitFsyncP99}, {store.CommitSeconds, "commit of its database", LimitCommitP99}} {
		r := m.Metrics[what.metric]
		how, took, ok := slowness(r)
		switch lower, upper, long := r.Longest(); {
		case ok && took > what.limit:
			out = append(out, Cause{What: CauseDisk, Member: m.Name, Figure: took, Unit: "s", Limit: what.limit,
				Text: fmt.Sprintf("member %s's %s had %s of %s over %.0f of them (limit %s)", m.Name, what.name, how, seconds(took), r.Count, seconds(what.limit))})
		case long && lower >= LimitLongSync:
			out = append(out, Cause{What: CauseDisk, Member: m.Name, Figure: lower, Unit: "s", Limit: LimitLongSync,
				Text: fmt.Sprintf("member %s's longest %s took from %s to %s (limit %s)", m.Name, what.name, seconds(lower), seconds(upper), seconds(LimitLongSync))})
		}
	}
	return out
}

// slowness is a timer's p99, or its mean where there are no buckets.
func slowness(r store.Reading) (how string, took float64, ok bool) {
	if p99, ok := r.Quantile(0.99); ok {
		return "a p99", p99, true
	}
	mean, ok := r.Mean()
	return "a mean", mean, ok
}

// processors judges a member's own processor time, where it tells how many
// processors it may use.
func processors(m *MemberFigures, f *Figures) []Cause {
	used, cores := m.Metrics[store.CPUSeconds].Value, m.Metrics[store.Processors].Value
	if cores <= 0 || f.Seconds <= 0 {
		return nil
	}
	share := used / (f.Seconds * cores)
	if share <= LimitBusy {
		return nil
	}
	return []Cause{{What: CauseCPU, Member: m.Name, Figure: share, Limit: LimitBusy,
		Text: fmt.Sprintf("member %s used %s of its %.0f processors (%.1f s in %.1f s; limit %s)",
			m.Name, measure.Percent(min(share, 1)), cores, used, f.Seconds, measure.Percent(LimitBusy))}}
}

// roundTrips judges the network between us and a member: a TCP connection is
// accepted by its system, in which its program has no part.
func roundTrips(m *MemberFigures, f *Figures) []Cause {
	cause := Cause{What: CauseNetwork, Member: m.Name, Unit: "s"}
	budget := float64(f.Clients) / f.Rate
	switch {
	case m.Refused > 0:
		cause.Figure, cause.Unit = float64(m.Refused), ""
		cause.Text = fmt.Sprintf("%d of %d TCP connections to member %s did not come to be", m.Refused, m.Connects, m.Name)
	case m.Round.Median > LimitRoundTrip:
		cause.Figure, cause.Limit = m.Round.Median, LimitRoundTrip
		cause.Text = fmt.Sprintf("the round trip between this program and member %s has a median of %s over %d TCP connections (limit %s)",
			m.Name, seconds(m.Round.Median), m.Connects, seconds(LimitRoundTrip))
	case f.Rate > 0 && m.Round.Min > budget/2:
		cause.Figure, cause.Limit = m.Round.Min, budget/2
		cause.Text = fmt.Sprintf("the round trip between this program and member %s takes at least %s, and %d clients that write %.0f times a second have %s for each write",
			m.Name, seconds(m.Round.Min), f.Clients, f.Rate, seconds(budget))
	case m.Round.Max >= LimitConnect:
		cause.Figure, cause.Limit = m.Round.Max, LimitConnect
		cause.Text = fmt.Sprintf("packets between this program and member %s are lost: one of %d TCP connections took %s, and their median is %s",
			m.Name, m.Connects, seconds(m.Round.Max), seconds(m.Round.Median))
	default:
		return nil
	}
	return []Cause{cause}
}

func peers(m *MemberFigures) []Cause {
	how, took, ok := slowness(m.Metrics[store.PeerRoundTripSeconds])
	if !ok || took <= LimitPeerP99 {
		return nil
	}
	return []Cause{{What: CauseNetwork, Member: m.Name, Figure: took, Unit: "s", Limit: LimitPeerP99,
		Text: fmt.Sprintf("the round trip between member %s and the other members had %s of %s (limit %s)", m.Name, how, seconds(took), seconds(LimitPeerP99))}}
}

// silence finds a member that stood still: it did not answer for long, and a
// new TCP connection to its machine was quick.
func silence(m *MemberFigures) []Cause {
	network := "; its machine accepted no TCP connection meanwhile"
	if m.Connects > m.Refused {
		network = fmt.Sprintf("; its machine accepts TCP connections in %s (median)", seconds(m.Round.Median))
	}
	switch {
	case m.Unanswered > 0 && m.Metrics != nil:
		return []Cause{{What: CauseMember, Member: m.Name, Figure: float64(m.Unanswered),
			Text: fmt.Sprintf("member %s did not answer %d of %d questions about itself%s", m.Name, m.Unanswered, m.Asked, network)}}
	case m.Slowest > LimitSlowAnswer:
		return []Cause{{What: CauseMember, Member: m.Name, Figure: m.Slowest, Unit: "s", Limit: LimitSlowAnswer,
			Text: fmt.Sprintf("member %s took %s to answer a question about itself (limit %s)%s", m.Name, seconds(m.Slowest), seconds(LimitSlowAnswer), network)}}
	}
	return nil
}

// folder judges a measurement in a member's data folder.
func folder(p *ProbeFigures) []Cause {
	if p == nil {
		return nil
	}
	what, figure := p.slowness()
	if figure <= LimitFsyncP99 {
		return nil
	}
	return []Cause{{What: CauseDisk, Figure: figure, Unit: "s", Limit: LimitFsyncP99,
		Text: fmt.Sprintf("fdatasync in %s (%s) has %s of %s over %d of them, after the load (limit %s)", p.Dir, p.FileSystem, what, seconds(figure), p.Count, seconds(LimitFsyncP99))}}
}

// slowness is the p99, or the median where so few were made that the p99 is not
// known: it is at least as slow.
func (p *ProbeFigures) slowness() (what string, figure float64) {
	if p.P99 == 0 {
		return "a median", p.P50
	}
	return "a p99", p.P99
}

// ourselves judges this program and the machine that it shares.
func ourselves(f *Figures) (out []Cause) {
	t := &f.Tester
	if t.MachineBusy > LimitBusy {
		c := Cause{What: CauseTester, Figure: t.MachineBusy, Limit: LimitBusy,
			Text: fmt.Sprintf("the %d processors of this machine were in use %s of the time (limit %s)", t.Processors, measure.Percent(t.MachineBusy), measure.Percent(LimitBusy))}
		if len(t.Shared) > 0 {
			c.What, c.Member = CauseCPU, strings.Join(t.Shared, ", ")
			c.Text += fmt.Sprintf(", which this program shares with %s", c.Member)
		}
		out = append(out, c)
	}
	if t.Loops == 0 || f.Seconds <= 0 {
		return out
	}
	window := f.Seconds * float64(t.Loops)
	add := func(figure, limit float64, unit, format string, args ...any) {
		if figure > limit {
			out = append(out, Cause{What: CauseTester, Figure: figure, Limit: limit, Unit: unit, Text: fmt.Sprintf(format, args...)})
		}
	}
	add(t.LoopCPU/window, LimitBusy, "", "this program's event loops were busy %s of the time (limit %s): give it more of them with --threads",
		measure.Percent(min(t.LoopCPU/window, 1)), measure.Percent(LimitBusy))
	add(t.RunDelay/window, LimitRunDelay, "", "this program waited for a processor %s of the time (limit %s)",
		measure.Percent(t.RunDelay/window), measure.Percent(LimitRunDelay))
	add(t.LongestPause, LimitPause, "s", "this program stood still for %s (limit %s)", seconds(t.LongestPause), seconds(LimitPause))
	add(t.Throttled, LimitPause, "s", "a CPU limit on this program held it back for %s", seconds(t.Throttled))
	return out
}

// lookedAt lists what the rules had to go by, and what they had not.
func lookedAt(f *Figures) (out []string) {
	for i := range f.Members {
		m := &f.Members[i]
		parts := []string{}
		for _, w := range []struct {
			metric store.Metric
			name   string
		}{{store.FsyncSeconds, "fsync"}, {store.CommitSeconds, "commit"}, {store.PeerRoundTripSeconds, "round trip to the other members"}} {
			if how, took, ok := slowness(m.Metrics[w.metric]); ok {
				parts = append(parts, fmt.Sprintf("%s with %s of %s", w.name, how, seconds(took)))
			}
		}
		if r, ok := m.Metrics[store.CPUSeconds]; ok && f.Seconds > 0 {
			part := fmt.Sprintf("%.2f processors used", r.Value/f.Seconds)
			if n := m.Metrics[store.Processors].Value; n > 0 {
				part += fmt.Sprintf(" of %.0f", n)
			}
			parts = append(parts, part)
		}
		if m.Connects > m.Refused {
			parts = append(parts, "round trip from here with a median of "+seconds(m.Round.Median))
		}
		if m.Metrics == nil {
			parts = append(parts, "no metrics of its own ("+m.Unread+")")
		} else if _, ok := m.Metrics[store.LeaderChanges]; ok {
			parts = append(parts, fmt.Sprintf("%.0f leader changes", m.Metrics[store.LeaderChanges].Value))
		}
		parts = append(parts, fmt.Sprintf("%d alarms", len(m.Alarms)))
		out = append(out, "member "+m.Name+": "+strings.Join(parts, ", "))
	}
	if p := f.Probe; p != nil {
		kept := ""
		if !p.Durable {
			kept = ", which keeps nothing at power loss"
		}
		what, figure := p.slowness()
		out = append(out, fmt.Sprintf("%s (%s%s): fdatasync with %s of %s", p.Dir, p.FileSystem, kept, what, seconds(figure)))
	}
	out = append(out, fmt.Sprintf("the load: at most %s without an answer, %d writes due and not sent", seconds(f.LongestGap), f.NotSent))
	t := &f.Tester
	ours := fmt.Sprintf("this program: longest pause %s", seconds(t.LongestPause))
	if f.Seconds > 0 && t.Loops > 0 {
		ours += fmt.Sprintf(", event loops busy %s", measure.Percent(min(t.LoopCPU/f.Seconds/float64(t.Loops), 1)))
	}
	if t.MachineBusy >= 0 {
		ours += fmt.Sprintf(", its machine busy %s", measure.Percent(t.MachineBusy))
	}
	return append(out, ours)
}
