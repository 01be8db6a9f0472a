// Package nullnet is what the null servers of all protocols share of
// listeners and connections: it accepts, closes and writes as a script says,
// and wakes what is due later. What is read and answered is a Conn's.
package nullnet

import (
	"net"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
)

// Base is what connections need of their server. Its fields do not change while
// the server runs.
type Base struct {
	Script *null.Script // never nil
	Run    *null.Run    // nil: everything is answered at once
	Clock  timer.Clock

	running sync.WaitGroup
	done    chan struct{} // closed when the server stops
}

// NewBase returns the base of a server that follows a script; nil answers
// everything at once.
func NewBase(script *null.Script, clock timer.Clock) *Base {
	b := &Base{Script: script, Clock: clock, done: make(chan struct{})}
	if b.Script == nil {
		b.Script = &null.Script{}
	}
	if !b.Script.AtOnce() {
		b.Run = null.NewRun(b.Script)
	}
	return b
}

// Go runs f in a goroutine that the server waits for when it stops.
func (b *Base) Go(f func()) { b.running.Go(f) }

// Write writes everything, in chunks if the script says so.
func (b *Base) Write(to net.Conn, out []byte) error {
	chunk := b.Script.Chunk
	if chunk == 0 {
		_, err := to.Write(out)
		return err
	}
	for len(out) > 0 {
		n, err := to.Write(out[:min(chunk, len(out))])
		if err != nil {
			return err
		}
		if out = out[n:]; len(out) > 0 && b.Script.Pause > 0 {
			b.pause(b.Script.Pause)
		}
	}
	return nil
}

// pause waits, unless the server stops.
func (b *Base) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.done:
	}
}
