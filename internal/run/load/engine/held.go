package engine

import (
	"fmt"
	"runtime"

	"github.com/quorumbench/quorumbench/internal/store"
)

// An answer that does not come in one piece is kept until it is whole. A server
// can begin one for every operation and end none, so what all connections of a
// loop keep has a limit.

// DefaultMaxHeld is Config.MaxHeld for answers that are short, in bytes.
const DefaultMaxHeld = 8 << 20

// heavyHeld is how many bytes of a connection that was lost are collected before
// the next one is made: a server that makes us keep so much again and again would
// else be faster than the collector.
const heavyHeld = 1 << 20

// holds begins to count what a connection's new codec keeps.
func (l *Loop) holds(c *conn) {
	l.letGo(c)
	if l.heavy {
		l.heavy = false
		runtime.GC()
	}
	c.holder, _ = c.codec.(store.Holder)
}

// letGoLost is letGo for a connection that was lost. One that ends in good order
// is left to the collector's own time: its buffers may be as large, and ends of
// that kind can be as many as operations.
func (l *Loop) letGoLost(c *conn) {
	l.heavy = l.heavy || c.held >= heavyHeld
	l.letGo(c)
}

// letGo forgets what a connection that has ended kept.
func (l *Loop) letGo(c *conn) {
	l.kept -= c.held
	c.held = 0
}

// count takes up what a connection keeps now. An error is its end.
func (l *Loop) count(c *conn) error {
	n := c.holder.Holding()
	if n == c.held {
		return nil
	}
	l.kept += n - c.held
	c.held = n
	if l.kept <= l.cfg.MaxHeld {
		return nil
	}
	for _, other := range l.conns { // what holds nothing goes first
		if other.holder != nil {
			other.holder.Release()
			n := other.holder.Holding()
			l.kept += n - other.held
			other.held = n
		}
	}
	if l.kept <= l.cfg.MaxHeld || c.held == 0 {
		return nil
	}
	return fmt.Errorf("the servers have begun more answers than are kept: %d MiB that are not whole", l.cfg.MaxHeld>>20)
}
