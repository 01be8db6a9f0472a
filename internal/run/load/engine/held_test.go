package engine

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// holding is a codec that keeps more with every answer.
type holding struct {
	*simCodec
	each, held, idle int
}

func (c *holding) Holding() int { c.held += c.each; return c.held + c.idle }
func (c *holding) Release()     { c.idle = 0 }

// A connection whose answers never become whole ends when all connections hold
// more than is kept.
func TestUnfinishedAnswersAreBounded(t *testing.T) {
	l := New(Config{Endpoints: []string{"a:1", "b:1"}, Stride: 1, MaxHeld: 1 << 20}, &sim{})
	for i, each := range []int{100 << 10, 0} {
		l.conns[i].codec = &holding{simCodec: newSimCodec(1), each: each, idle: 300 << 10}
		l.holds(l.conns[i])
		if err := l.count(l.conns[i]); err != nil {
			t.Fatal(err)
		}
	}
	n, err := 0, error(nil)
	for ; err == nil && n < 100; n++ {
		err = l.count(l.conns[0])
	}
	if err == nil || !strings.Contains(err.Error(), "1 MiB that are not whole") || n > 12 {
		t.Errorf("after %d answers: %v", n, err)
	}
	if l.conns[0].codec.(*holding).idle+l.conns[1].codec.(*holding).idle != 0 {
		t.Error("buffers that hold nothing were not given back first")
	}
	if l.letGo(l.conns[0]); l.kept > 0 {
		t.Errorf("%d bytes are counted after the end", l.kept)
	}
}

// Only what a lost connection kept is collected at once, and once.
func TestLostAnswersAreCollected(t *testing.T) {
	l := New(Config{Endpoints: []string{"a:1"}, Stride: 1, MaxHeld: 64 << 20}, &sim{})
	c := l.conns[0]
	for _, tc := range []struct {
		what  string
		held  int
		end   func(*conn)
		heavy bool
	}{
		{"much, lost", heavyHeld, l.letGoLost, true},
		{"little, lost", heavyHeld - 1, l.letGoLost, false},
		{"much, ended in good order", heavyHeld, l.letGo, false},
	} {
		c.codec = &holding{simCodec: newSimCodec(1), held: tc.held}
		l.holds(c)
		if err := l.count(c); err != nil {
			t.Fatal(err)
		}
		if tc.end(c); l.heavy != tc.heavy {
			t.Errorf("%s: to be collected is %v", tc.what, l.heavy)
		}
		if l.holds(c); l.heavy {
			t.Errorf("%s: it is collected again and again", tc.what)
		}
	}
}

// A server that ends every connection before it answers is not asked as fast as
// it can end them.
func TestConnectionsThatEndAtOnceAreNotMadeAtOnce(t *testing.T) {
	b := newBench(1, 4, closed(3*secondNS))
	b.cfg.Timeout = secondNS
	from := int64(2_500_000_000)
	dials := 0
	b.dial = func(s *sim, _ int, _ string) error {
		if s.now > from {
			dials++
		}
		return nil
	}
	b.serve = func(s *sim, conn int, request []byte) {
		if s.now <= from {
			s.reply(conn, s.wire+millisecond, reply(request, kv.OK))
			return
		}
		s.reply(conn, s.wire, reply(request, kv.NotSent)) // as GOAWAY says of what it did not take
	}
	b.setup = func(c *simCodec) { c.left = 4 }
	b.run(t)
	if dials == 0 || dials > 60 {
		t.Errorf("%d connections were made in 2.5 s to a server that answers nothing", dials)
	}
	if b.totals.Outcomes[kv.NotSent] == 0 {
		t.Error("nothing was left unsent")
	}
}
