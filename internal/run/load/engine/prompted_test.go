package engine

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// prompting is a Source each of whose operations prompts another when it is answered, up
// to three behind each of the schedule, the last of them with a delay.
type prompting struct {
	puts
	due  []int64 // of what is prompted and not taken up, ascending
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

func (p *prompting) Ready(uint64) bool  { return true }
func (p *prompting) Failed(uint64)      { p.open-- }
func (p *prompting) Place(n uint64) int { return int(n/promptedMark) % 2 }
func (p *prompting) Told(*store.Event)  {}
func (p *prompting) Awaits(int64) bool  { return len(p.due) > 0 }

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

func (p *prompting) Prompts() int64 {
	first := int64(math.MaxInt64)
	for _, at := range p.due {
		first = min(first, at)
	}
	return first
}

// What answers make due is sent, at once or when it is due, and counted, that of the
// schedule's last operations behind the window, too.
func TestAnswersPromptOperations(t *testing.T) {
	b := newBench(2, 0, open(1000, secondNS))
	src := &prompting{}
	b.cfg.Source = src
	b.run(t)
	if src.made != 3000 || b.totals.Due != 4000 || b.totals.Succeeded() != 4000 {
		t.Errorf("%d operations were prompted, %d due and %d done", src.made, b.totals.Due, b.totals.Succeeded())
	}
	if last := b.each[len(b.each)-1]; last.Due < 1000 || len(b.each) != 1 {
		t.Errorf("the last of %d seconds has %d operations", len(b.each), last.Due)
	}
	if whole := b.totals.Whole().Response.Max(); whole > 2*millisecond {
		t.Errorf("one took %d ns: its delay was counted", whole)
	}
}

// A load that is stopped prompts nothing any more.
func TestNothingIsPromptedWhenStopped(t *testing.T) {
	b := newBench(2, 0, open(1000, 100*secondNS))
	src := &prompting{}
	b.cfg.Source = src
	b.cfg.Hand = func(*measure.Second) {}
	loop := New(b.cfg, b.sim)
	b.at = func(s *sim) {
		if s.now > 3*secondNS {
			loop.Stop()
		}
	}
	loop.Run(b.now+5*secondNS, func(error) { loop.Start(2 * secondNS) })
	if made := src.made; made < 2000 || made > 4000 || src.open != 0 {
		t.Errorf("%d operations were prompted in one second of a thousand, and %d are open", made, src.open)
	}
}
