package engine

import (
	"container/heap"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// parkingSim is a simulated poller that supports parking.
type parkingSim struct {
	*sim
	parks  int
	late   int64 // delay of the return of Park, after the requested time
	asleep func(until int64)
}

func (p *parkingSim) Park(until int64) {
	p.parks++
	p.asleep(until)
	for len(p.events) > 0 && p.events[0].at <= until {
		e := heap.Pop(&p.events).(simEvent)
		p.now = max(p.now, e.at)
		e.do()
		for i := range p.conns {
			if c := &p.conns[i]; c.open && (len(c.in) > 0 || c.ended != nil || c.dialed) {
				return
			}
		}
	}
	p.now = max(p.now, until) + p.late
}

// A loop parks while no operation is in flight and none is due soon. It still sends each operation
// in time. A late return of Park counts as a pause only if it makes an operation late.
func TestLoopsPark(t *testing.T) {
	for _, c := range []struct {
		name         string
		every, takes int64 // interval between operations, and the time that an operation takes
		late         int64
		parks, pause bool
	}{
		{"seldom", 100 * millisecond, millisecond, 0, true, false},
		{"seldom, and late within the margin", 100 * millisecond, millisecond, parkMargin, true, false},
		{"seldom, and later", 100 * millisecond, millisecond, parkMargin + 5*millisecond, true, true},
		{"always in flight", 100 * millisecond, 95 * millisecond, 0, false, false},
		{"often", minPark - millisecond, millisecond, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(1, 0, Phase{Kind: measure.Measured, Duration: 3 * secondNS, Pacer: pace.NewConstant(float64(secondNS) / float64(c.every))})
			open, parks := 0, 0
			b.serve = func(s *sim, conn int, request []byte) {
				s.schedule(c.takes, func() { open-- })
				s.reply(conn, c.takes, reply(request, kv.OK))
			}
			b.written = func(*sim, int) { open++ }
			b.poller = func(s *sim) poll.Poller {
				p := &parkingSim{sim: s, late: c.late}
				p.asleep = func(until int64) {
					if open > 0 {
						t.Error("a loop parks with an operation in flight")
					}
					if until-s.now < minPark-parkMargin || until-s.now > maxPark {
						t.Errorf("the loop parks for %d ms", (until-s.now)/millisecond)
					}
					if s.now >= 2*secondNS { // during the load; earlier parks wait for the start
						parks++
					}
				}
				return p
			}
			b.run(t)
			want := uint64(3 * secondNS / c.every)
			if b.totals.Succeeded() < want || b.totals.Succeeded() > want+1 {
				t.Errorf("%d operations succeeded, want %d", b.totals.Succeeded(), want)
			}
			if (parks > 0) != c.parks || (b.res.Paused > 0) != c.pause {
				t.Errorf("the loop parked %d times and paused for %d ns", parks, b.res.Paused)
			}
			most := c.takes + 2*b.wire
			if c.pause {
				most += c.late - parkMargin
			}
			if got := b.totals.MergedCell().Response.Max(); got > most+most/100 {
				t.Errorf("an operation took %d ns, want at most %d", got, most)
			}
		})
	}
}

// A parked loop notices that a connection was closed, and reconnects before the next operation is
// due.
func TestParkedLoopsReconnect(t *testing.T) {
	b := newBench(1, 0, Phase{Kind: measure.Measured, Duration: 2 * secondNS, Pacer: pace.NewConstant(2)})
	b.poller = func(s *sim) poll.Poller {
		s.now, s.wire = 1_000_000_000, 10_000
		s.schedule(1200*millisecond, func() { s.cut(0) }) // 200 ms after an operation, 300 ms before the next
		return &parkingSim{sim: s, asleep: func(int64) {}}
	}
	b.run(t)
	if b.totals.Succeeded() != 4 || b.totals.Failed() != 0 {
		t.Errorf("%v", b.totals.Outcomes)
	}
	if got := b.totals.MergedCell().Response.Max(); got > 2*millisecond {
		t.Errorf("the longest operation took %d ns, so it waited for its connection", got)
	}
}
