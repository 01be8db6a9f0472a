package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
)

// counted names what is counted in a line about a trial, in its order. A kind
// that is not here is told only beside a gap or a slow second.
var counted = [...]struct {
	kind      stores.SignalKind
	one, many string
}{
	{stores.Elected, "election", "elections"},
	{stores.QuotaReached, "write beyond the space quota", "writes beyond the space quota"},
	{stores.FullStateReceived, "member brought up with the whole state", "members brought up with the whole state"},
	{stores.SlowFsync, "slow log sync", "slow log syncs"},
	{stores.SlowApply, "slow apply", "slow applies"},
	{stores.SlowRead, "read that waited for the leader", "reads that waited for the leader"},
	{stores.Overloaded, "late heartbeat", "late heartbeats"},
	{stores.GCPause, "garbage collection pause", "garbage collection pauses"},
	{stores.SnapshotDone, "snapshot", "snapshots"},
	{stores.SnapshotSkipped, "skipped snapshot", "skipped snapshots"},
	{stores.Compaction, "compaction", "compactions"},
	{stores.Defragmentation, "defragmentation", "defragmentations"},
}

// mostElections is how many are named with member and time.
const mostElections = 3

// counted is how often what happened, how long it took, and who took longest.
func (s *story) counted() []string {
	var out []string
	for _, c := range counted {
		var all alike
		for i := range s.events {
			if s.events[i].Kind == string(c.kind) {
				all.add(&s.events[i])
			}
		}
		if all.times == 0 {
			continue
		}
		noun := c.many
		if all.times == 1 {
			noun = c.one
		}
		text := readable.Count(all.times) + " " + noun
		if c.kind == stores.Elected {
			text += " (" + all.named() + ")"
		} else if took := all.took(true); took != "" {
			text += " (" + took + ")"
		}
		out = append(out, text)
	}
	return out
}

// alike is several events that are told as one.
type alike struct {
	events  []*record.Event
	times   uint64
	total   time.Duration
	longest *record.Event
}

func (g *alike) add(e *record.Event) {
	g.events = append(g.events, e)
	g.times += e.Times()
	g.total += e.Took()
	if g.longest == nil || e.Duration > g.longest.Duration {
		g.longest = e
	}
}

// took is how long they took in all and the longest; empty if that is not
// known.
func (g *alike) took(who bool) string {
	if g.longest == nil || g.longest.Duration <= 0 {
		return ""
	}
	longest := readable.Duration(float64(g.longest.Duration))
	if who {
		longest += ", " + g.longest.Member
	}
	if g.times == 1 {
		return longest
	}
	return fmt.Sprintf("%s in all, the longest %s", readable.Duration(float64(g.total)), longest)
}

// named lists members and times.
func (g *alike) named() string {
	var out []string
	for i, e := range g.events {
		if i == mostElections {
			out = append(out, fmt.Sprintf("and %d more", len(g.events)-i))
			break
		}
		out = append(out, e.Member+" at "+e.Time.UTC().Format(clock))
	}
	return strings.Join(out, ", ")
}

// mostDuring is how many events, or groups of them, are told of one time.
const mostDuring = 4

// during tells what happened in a span, in the order of time: several of one
// kind and member as one, and of many those that disturb most.
func during(events []record.Event, in span) string {
	groups := map[[3]string]*alike{}
	var order []*alike
	for i := range events {
		e := &events[i]
		if !(span{e.Began(), e.Time}).overlaps(in) {
			continue
		}
		key := [3]string{e.Member, e.Kind, fmt.Sprint(e.Count > 0)} // what was only counted has no time of its own
		if groups[key] == nil {
			groups[key] = &alike{}
			order = append(order, groups[key])
		}
		groups[key].add(e)
	}
	slices.SortStableFunc(order, func(a, b *alike) int {
		return cmp.Or(cmp.Compare(a.calm(), b.calm()), cmp.Compare(b.total, a.total))
	})
	left := len(order) - mostDuring
	order = order[:min(len(order), mostDuring)]
	slices.SortStableFunc(order, func(a, b *alike) int { return a.longest.Time.Compare(b.longest.Time) })
	out := make([]string, 0, len(order)+1)
	for _, g := range order {
		out = append(out, g.sentence())
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(out, "; ")
}

// calm is small for what concerns the whole cluster, and for what no log told,
// such as a member that is lost.
func (g *alike) calm() int {
	if g.longest.Count > 0 {
		return 2 // and may have been at another time
	}
	kinds := stores.SignalKinds()
	i := slices.Index(kinds, stores.SignalKind(g.longest.Kind))
	if i > slices.Index(kinds, stores.LeaderLost) {
		return 1 // by how long they took
	}
	return 0
}

// sentence is a group with its time.
func (g *alike) sentence() string {
	e := g.longest
	text, _, _ := strings.Cut(e.Text, ": ") // the reason is in the file
	if e.Line != "" {
		text = e.Member + " " + stores.SignalKind(e.Kind).Says()
		if g.times > 1 {
			text += fmt.Sprintf(" %s times", readable.Count(g.times))
		}
		if took := g.took(false); took != "" {
			text += " (" + took + ")"
		}
	}
	when := e.Time.UTC().Format(clock)
	if e.Count > 0 {
		when = "at some time from " + e.First.UTC().Format(clock) + " to " + when
	}
	return when + " " + text
}
