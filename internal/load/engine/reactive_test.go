package engine

import (
	"errors"
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// prompting is a Source in which each reply prompts another operation, up to three for each
// operation in the schedule. The third is due after a delay.
type prompting struct {
	puts
	ReactiveBase
	due  []int64 // due times of the prompted operations that have not started
	of   []uint64
	made uint64
	now  int64
	open int
}

const (
	promptedMark  = 1 << 40
	promptedDelay = 5 * millisecond
)

func (p *prompting) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put}
	p.open++
	return n
}

func (p *prompting) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	p.open--
	if depth := n / promptedMark; depth < 3 {
		at := p.now
		if depth == 2 {
			at += promptedDelay
		}
		p.due, p.of = append(p.due, at), append(p.of, n+promptedMark)
	}
	return ev.Outcome
}

func (p *prompting) OperationFailed(uint64)       { p.open-- }
func (p *prompting) ConnectionIndex(n uint64) int { return int(n/promptedMark) % 2 }
func (p *prompting) ExpectsMore(int64) bool       { return len(p.due) > 0 }

func (p *prompting) Prompt(now int64) (n uint64, due int64, ok bool) {
	p.now = now
	for i, at := range p.due {
		if at > now {
			continue
		}
		n, due = p.of[i], at
		p.due, p.of = append(p.due[:i], p.due[i+1:]...), append(p.of[:i], p.of[i+1:]...)
		p.made++
		return n, due, true
	}
	return 0, 0, false
}

func (p *prompting) NextPrompt() int64 {
	first := int64(math.MaxInt64)
	for _, at := range p.due {
		first = min(first, at)
	}
	return first
}

// Prompted operations are sent at once or at their due time. All of them are counted, even those
// that are prompted after the window by the replies to the last operations in the schedule.
func TestRepliesPromptOperations(t *testing.T) {
	b := newBench(2, 0, open(1000, secondNS))
	src := &prompting{}
	b.cfg.Source = src
	b.run(t)
	if src.made != 3000 || b.totals.Due != 4000 || b.totals.Succeeded() != 4000 {
		t.Errorf("%d operations were prompted, %d due and %d done; want 3000, 4000 and 4000", src.made, b.totals.Due, b.totals.Succeeded())
	}
	if last := b.each[len(b.each)-1]; last.Due < 1000 || len(b.each) != 1 {
		t.Errorf("the last of %d seconds has %d operations", len(b.each), last.Due)
	}
	if whole := b.totals.MergedCell().Response.Max(); whole > 2*millisecond {
		t.Errorf("an operation took %d ns: its delay was counted", whole)
	}
}

// A stopped load does not prompt operations.
func TestNothingIsPromptedWhenStopped(t *testing.T) {
	b := newBench(2, 0, open(1000, 100*secondNS))
	src := &prompting{}
	b.cfg.Source = src
	b.cfg.Deliver = func(*measure.Second) {}
	loop := New(b.cfg, b.sim)
	b.at = func(s *sim) {
		if s.now > 3*secondNS {
			loop.Stop()
		}
	}
	loop.Run(b.now+5*secondNS, func(error) { loop.Start(2 * secondNS) })
	if made := src.made; made < 2000 || made > 4000 || src.open != 0 {
		t.Errorf("%d operations were prompted in a second with 1000 planned operations, and %d are still open", made, src.open)
	}
}

// insisting is a Source that prompts another operation after each failure, without end, like an
// application whose store never recovers. It awaits events only for a limited time.
type insisting struct {
	prompting
	again, till int64
	lost        map[int]int // by place: number of losses
}

func (s *insisting) OperationFailed(n uint64) {
	s.prompting.OperationFailed(n)
	s.due, s.of = append(s.due, s.now+promptedDelay), append(s.of, (n+promptedMark)%(1<<60))
}

func (s *insisting) ExpectsMore(now int64) bool {
	if s.till == 0 {
		s.till = now + s.again
	}
	return now < s.till
}

func (s *insisting) ConnectionLost(place int) { s.lost[place]++ }

// Even if the store never recovers, a load ends when its source awaits nothing more.
func TestDrainEndsWithoutAStore(t *testing.T) {
	b := newBench(2, 0, open(1000, secondNS))
	src := &insisting{again: 3 * secondNS, lost: map[int]int{}}
	b.cfg.Source = src
	b.serve = func(*sim, int, []byte) {}
	b.cfg.Deliver = func(*measure.Second) {}
	loop := New(b.cfg, b.sim)
	b.at = func(s *sim) {
		if s.now > 60*secondNS {
			loop.Stop()
		}
	}
	loop.Run(b.now+secondNS, func(error) { loop.Start(2 * secondNS) })
	if took := b.now - 3*secondNS; took < src.again || took > src.again+2*b.cfg.Timeout {
		t.Errorf("the load ended %d ns after its window", took)
	}
}

// ConnectionLost is called once for each connection that is replaced. It is called after a loss and
// after a move, whether or not operations were open on the connection.
func TestLostConnectionsAreReported(t *testing.T) {
	for name, mute := range map[string]bool{"with nothing open": false, "with something open": true} {
		m := newMovingBench(3, 0, open(30, 4*secondNS))
		src := &insisting{lost: map[int]int{}}
		m.cfg.Source = src
		m.moveAt = 3e9
		if mute {
			m.muteAt = 2.5e9
		}
		m.run(t)
		for place := range 3 {
			if src.lost[place] != 1 {
				t.Errorf("%s: place %d was lost %d times", name, place, src.lost[place])
			}
		}
	}
	b := newBench(2, 0, open(1000, 2*secondNS))
	b.setup = func(c *simCodec) { c.left = 500 }
	src := &insisting{lost: map[int]int{}}
	b.cfg.Source = src
	b.run(t)
	if got := src.lost[0] + src.lost[1]; got == 0 || uint64(got) != uint64(b.res.Reconnects) {
		t.Errorf("%d losses of connections were reported, and there were %d reconnects", got, b.res.Reconnects)
	}
}

// muteCodec is a codec that reports, at and after the time `from`, that its connection is mute.
type muteCodec struct {
	*simCodec
	from, now int64
}

func (c *muteCodec) Tick(now int64) int64 {
	c.now = now
	return now + 100*millisecond
}

func (c *muteCodec) Session() int64 { return 0 }
func (c *muteCodec) Close()         {}

func (c *muteCodec) CheckAlive() error {
	if c.now < c.from {
		return nil
	}
	return errMuted
}

var errMuted = errors.New("nothing has come")

// When a codec reports that its connection is mute, the operations on it fail and the loop
// reconnects.
func TestMuteConnectionIsLost(t *testing.T) {
	b := newBench(2, 0, open(1000, 2*secondNS))
	src := &insisting{lost: map[int]int{}}
	b.cfg.Source = src
	made := b.cfg.Codecs
	muted, since, first := false, int64(0), 0
	b.cfg.Codecs = func(d store.ConnectionInfo) store.Codec {
		c := &muteCodec{simCodec: made(d).(*simCodec), from: math.MaxInt64}
		if !muted {
			muted, c.from, since, first = true, d.Now+2*secondNS, d.Now+secondNS, b.conns[0].gen
		}
		return c
	}
	b.serve = func(s *sim, conn int, in []byte) {
		if conn == 0 && s.conns[0].gen == first && s.now > since {
			return
		}
		s.reply(conn, s.wire+millisecond, reply(in, kv.OK))
	}
	b.run(t)
	if src.lost[0] != 1 || src.lost[1] != 0 || b.res.Reconnects != 1 {
		t.Errorf("the reported losses by place are %v, and there were %d reconnects", src.lost, b.res.Reconnects)
	}
	if lost := b.totals.Outcomes[kv.ConnectionLost]; lost == 0 {
		t.Errorf("the open operations ended in %v", b.totals.Outcomes)
	}
}

// anywhere is a prompting source whose operations may use any connection.
type anywhere struct{ prompting }

func (*anywhere) ConnectionIndex(uint64) int { return -1 }

// Prompted operations that need no particular connection use any connection.
func TestPromptedOperationsUseAnyConnection(t *testing.T) {
	b := newBench(2, 0, open(1000, secondNS))
	b.room = 1 // sometimes no connection accepts an operation
	src := &anywhere{}
	b.cfg.Source = src
	b.run(t)
	if src.made != 3000 || b.totals.Succeeded() != 4000 {
		t.Errorf("%d operations were prompted, and %d succeeded; want 3000 and 4000", src.made, b.totals.Succeeded())
	}
}
