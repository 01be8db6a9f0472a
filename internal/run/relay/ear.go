package relay

import (
	"sync"
	"time"
)

const (
	// gathers is how long an ear lets pieces gather: a wake-up costs more than it takes
	// to understand what one call says, and so hundreds share one.
	gathers = 5 * time.Millisecond
	// enough is how many pieces make it wake before that.
	enough = 4096
)

// ear understands what connections say, behind those who pass it on: it has a goroutine
// of its own.
type ear struct {
	mu     sync.Mutex
	pieces []piece // since it last looked
	sleeps bool    // until it is woken, for there was nothing when it last looked
	closed bool    // nothing more comes

	wake chan struct{}
	done chan struct{}
}

func newEar() *ear {
	return &ear{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// give adds pieces; it does not keep the slice.
func (e *ear) give(pieces ...piece) {
	e.mu.Lock()
	e.pieces = append(e.pieces, pieces...)
	wake := e.sleeps || len(e.pieces) >= enough
	e.sleeps = false
	e.mu.Unlock()
	if wake {
		e.rouse()
	}
}

func (e *ear) rouse() {
	select {
	case e.wake <- struct{}{}:
	default: // it is on its way
	}
}

// close waits until all was understood that was given.
func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.rouse()
	<-e.done
}

func (e *ear) run() {
	defer close(e.done)
	timer := time.NewTimer(gathers)
	defer timer.Stop()
	var pieces []piece
	for {
		e.mu.Lock()
		pieces, e.pieces = e.pieces, pieces[:0]
		closed := e.closed
		e.sleeps = len(pieces) == 0
		e.mu.Unlock()
		if len(pieces) == 0 {
			if closed {
				return
			}
			<-e.wake
		}
		for i := range pieces {
			p := &pieces[i]
			p.of.take(*p)
			*p = piece{} // the memory that it has is another's
		}
		if cap(pieces) > 4*enough {
			pieces = nil
		}
		if closed {
			continue
		}
		timer.Reset(gathers)
		select {
		case <-timer.C:
		case <-e.wake:
		}
	}
}
