package passive

import (
	"sync"
	"time"
)

const (
	// relayGathers is how long a queue lets pieces gather: a wake-up costs more than it takes
	// to understand what one call says, and so hundreds share one.
	relayGathers = 5 * time.Millisecond
	// enough is how many pieces make it wake before that.
	enough = 4096
)

// queue has what is to be understood, behind those who pass bytes on: it has a goroutine
// of its own.
type queue struct {
	mu     sync.Mutex
	pieces []piece // since it last looked
	sleeps bool    // until it is woken, for there was nothing when it last looked
	closed bool    // nothing more comes

	woken chan struct{}
	done  chan struct{}
}

func newQueue() *queue {
	return &queue{woken: make(chan struct{}, 1), done: make(chan struct{})}
}

// give adds pieces; it does not keep the slice.
func (q *queue) give(pieces ...piece) {
	q.mu.Lock()
	q.pieces = append(q.pieces, pieces...)
	wake := q.sleeps || len(q.pieces) >= enough
	q.sleeps = false
	q.mu.Unlock()
	if wake {
		q.wake()
	}
}

func (q *queue) wake() {
	select {
	case q.woken <- struct{}{}:
	default: // it is on its way
	}
}

// close waits until all was understood that was given.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *queue) run() {
	defer close(q.done)
	timer := time.NewTimer(relayGathers)
	defer timer.Stop()
	var pieces []piece
	for {
		q.mu.Lock()
		pieces, q.pieces = q.pieces, pieces[:0]
		closed := q.closed
		q.sleeps = len(pieces) == 0
		q.mu.Unlock()
		if len(pieces) == 0 {
			if closed {
				return
			}
			<-q.woken
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
		timer.Reset(relayGathers)
		select {
		case <-timer.C:
		case <-q.woken:
		}
	}
}
