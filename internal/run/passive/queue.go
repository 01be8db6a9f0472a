package passive

import (
	"sync"
	"time"
)

const (
	// queueGathers is how long a queue collects pieces, so that one wake-up serves hundreds of
	// pieces. A wake-up costs more than decoding one call.
	queueGathers = 5 * time.Millisecond
	// enough is the number of waiting pieces at which the queue wakes before queueGathers has
	// passed.
	enough = 4096
)

// queue decodes pieces in a separate goroutine.
type queue struct {
	mu     sync.Mutex
	pieces []piece // pieces that were added since the goroutine last checked
	sleeps bool    // set if the goroutine found no pieces and is waiting to be woken
	closed bool    // set if no more pieces will be added

	woken chan struct{}
	done  chan struct{}
}

func newQueue() *queue {
	return &queue{woken: make(chan struct{}, 1), done: make(chan struct{})}
}

func (q *queue) add(p piece) {
	q.mu.Lock()
	q.pieces = append(q.pieces, p)
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
	default: // already woken
	}
}

// close returns after all pieces are decoded and the queue's goroutine has ended.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *queue) run() {
	defer close(q.done)
	timer := time.NewTimer(queueGathers)
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
			p.of.decodePiece(*p)
			*p = piece{} // lets the garbage collector free the bytes
		}
		if cap(pieces) > 4*enough {
			pieces = nil
		}
		if closed {
			continue
		}
		timer.Reset(queueGathers)
		select {
		case <-timer.C:
		case <-q.woken:
		}
	}
}
