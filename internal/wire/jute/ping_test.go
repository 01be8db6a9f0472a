package jute

import "testing"

// Replies to pings must be matched to the pings in order. Feed must return a Reply only for pings
// from PingWithReply.
func TestPingsAreAnsweredInOrder(t *testing.T) {
	c := ready(t, Config{})
	c.PingWithReply(Call{Tag: 1})
	c.Ping()
	c.PingWithReply(Call{Tag: 2})
	c.PingWithReply(Call{Tag: 3})
	c.Cancel(2)
	c.Sync(Call{Tag: 9}, Path{Prefix: "/"})
	if c.Open() != 5 {
		t.Fatalf("%d requests are open, want 5", c.Open())
	}
	in := append(reply(XidPing, 4, OK), reply(XidPing, 4, OK)...)
	replies, err := c.Feed(append(in, reply(XidPing, 5, OK)...))
	if err != nil || len(replies) != 2 || replies[0].Tag != 1 || replies[1].Tag != 2 || !replies[1].Canceled || replies[1].Zxid != 5 || replies[0].Op != OpPing {
		t.Fatalf("replies %+v, error %v", replies, err)
	}
	c.Wrote(len(c.Out()))
	lost := c.Lost()
	if len(lost) != 2 || lost[0].Tag != 9 || lost[1].Tag != 3 || lost[1].End != Broken || c.Open() != 0 {
		t.Fatalf("lost %+v", lost)
	}
}

func TestUnsentPings(t *testing.T) {
	c := ready(t, Config{})
	c.Ping()
	c.PingWithReply(Call{Tag: 4})
	if lost := c.Lost(); len(lost) != 1 || lost[0].Tag != 4 || lost[0].End != NotSent {
		t.Fatalf("lost %+v", lost)
	}
}
