package record

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// ByMember is one member's part of the load in the window.
type ByMember struct {
	Name     string `json:"name"` // empty: what no member is known to have had
	Endpoint string `json:"endpoint,omitempty"`
	ID       ID     `json:"id"`
	// Of those due in the window: completed and failed, and the part that both
	// are of all.
	Operations uint64  `json:"operations"`
	Errors     uint64  `json:"errors"`
	Share      float64 `json:"share"`
	// Links is its connections; null where the load had none to it.
	Links *Links `json:"connections"`
	// Alarms are those that it raised when the load had ended, such as NOSPACE.
	Alarms []string `json:"alarms,omitempty"`
}

// Links is what happened to the connections to a member in the window.
type Links struct {
	Opened int `json:"at_opening"` // when the window opened
	Fewest int `json:"fewest"`     // at any time in it
	Lost   int `json:"lost"`       // how often one was lost
	// When there were fewer than at the opening for the first time, and when as
	// many again, for good: in seconds of the window; null for never.
	LostAt *float64 `json:"lost_at_seconds"`
	BackAt *float64 `json:"back_at_seconds"`
	// Meanwhile is where the load was between the two; null if that was no
	// whole second.
	Meanwhile *Meanwhile `json:"meanwhile"`
}

// Meanwhile is what the cluster did in the whole seconds in which a member had
// fewer connections.
type Meanwhile struct {
	Seconds int `json:"seconds"`
	// PerSecond is operations done a second by all members then, Otherwise in
	// the other whole seconds of the window; null where there are none.
	PerSecond float64  `json:"operations_per_second"`
	Otherwise *float64 `json:"operations_per_second_otherwise"`
	// Shares is each member's part, by name, of what was due then and is known
	// to have been answered by one.
	Shares map[string]float64 `json:"shares"`
}

// Answered is how many operations were done in each second of the window, and
// by member how many of those due in it succeeded. A member may have fewer
// seconds than there were: it had nothing in the rest.
type Answered struct {
	Done []uint64
	By   map[uint64][]uint64
}

// add takes a second of the window.
func (a *Answered) add(s *measure.Second) {
	a.Done = counted(a.Done, s.Index, s.Done)
	for _, c := range s.Cells {
		if n := count(c.Response); n > 0 {
			if a.By == nil {
				a.By = map[uint64][]uint64{}
			}
			a.By[c.Member] = counted(a.By[c.Member], s.Index, n)
		}
	}
}

func counted(to []uint64, index int, n uint64) []uint64 {
	for len(to) <= index {
		to = append(to, 0)
	}
	to[index] += n
	return to
}

// byMember is every member's part, in the members' order, and at the end what
// belongs to none that is known.
func byMember(m *measure.Totals, members []Member, answered *Answered) []ByMember {
	all := make([]ByMember, 0, len(members)+1)
	for _, e := range members {
		all = append(all, ByMember{Name: e.Name, Endpoint: e.Endpoint, ID: e.ID, Alarms: e.Alarms})
	}
	for i := range m.Links {
		at := slices.IndexFunc(all, func(b ByMember) bool { return b.Endpoint == m.Links[i].Endpoint })
		if at < 0 {
			at = len(all)
			all = append(all, ByMember{Name: m.Links[i].Endpoint, Endpoint: m.Links[i].Endpoint})
		}
		all[at].Links = linksOf(&m.Links[i])
	}
	nobody, total := ByMember{}, uint64(0)
	for _, c := range m.Cells {
		into := &nobody
		if at := slices.IndexFunc(all, func(b ByMember) bool { return c.Member != 0 && uint64(b.ID) == c.Member }); at >= 0 {
			into = &all[at]
		}
		s := &sums{}
		s.add(c)
		into.Operations += count(s.response)
		into.Errors += s.failed()
		total += count(s.response) + s.failed()
	}
	if nobody.Operations+nobody.Errors > 0 {
		all = append(all, nobody)
	}
	for i := range all {
		if total > 0 {
			all[i].Share = float64(all[i].Operations+all[i].Errors) / float64(total)
		}
		if l := all[i].Links; l != nil && l.LostAt != nil && answered != nil {
			l.Meanwhile = meanwhile(l, m.Seconds, all, answered)
		}
	}
	return all
}

func linksOf(l *measure.Link) *Links {
	at := func(seconds float64) *float64 {
		if seconds < 0 {
			return nil
		}
		return &seconds
	}
	return &Links{Opened: l.Connections, Fewest: l.Fewest, Lost: l.Lost, LostAt: at(l.LostAt), BackAt: at(l.BackAt)}
}

// meanwhile sums the whole seconds between the loss and the return, or the
// window's end.
func meanwhile(l *Links, seconds float64, members []ByMember, a *Answered) *Meanwhile {
	whole := min(int(math.Floor(seconds)), len(a.Done))
	from, to := int(math.Ceil(*l.LostAt)), whole
	if l.BackAt != nil {
		to = min(to, int(math.Floor(*l.BackAt)))
	}
	if from >= to {
		return nil
	}
	out := &Meanwhile{Seconds: to - from, Shares: map[string]float64{}}
	out.PerSecond = float64(sum(a.Done, from, to)) / float64(to-from)
	// The seconds of the loss and of the return are neither.
	if before, behind := int(math.Floor(*l.LostAt)), to+1; before+max(whole-behind, 0) > 0 {
		done := sum(a.Done, 0, before) + sum(a.Done, behind, whole)
		rate := float64(done) / float64(before+max(whole-behind, 0))
		out.Otherwise = &rate
	}
	total := uint64(0)
	for _, b := range members {
		total += sum(a.By[uint64(b.ID)], from, to)
	}
	for _, b := range members {
		if total > 0 && b.ID != 0 {
			out.Shares[b.Name] = float64(sum(a.By[uint64(b.ID)], from, to)) / float64(total)
		}
	}
	return out
}

// sum is the sum of counts from one second to before another.
func sum(counts []uint64, from, to int) (n uint64) {
	for i := max(from, 0); i < min(to, len(counts)); i++ {
		n += counts[i]
	}
	return n
}
