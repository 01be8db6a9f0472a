package passive

import (
	"sync"
	"time"
)

const (
	// collectTime is how long a queue collects pieces, so that one wake-up serves hundreds of
	// pieces. A wake-up costs more than decoding one call.
	collectTime = 5 * time.Millisecond
	// wakeThreshold is the number of waiting pieces at which the queue wakes before collectTime has
	// passed.
	wakeThreshold = 4096
)

// queue decodes pieces in a separate goroutine.
type queue struct {
	mu         sync.Mutex
	pieces     []piece // pieces that were added since the goroutine last checked
	isSleeping bool    // set if the goroutine found no pieces and is waiting to be woken
	closed     bool    // set if no more pieces will be added

	woken chan struct{}
	done  chan struct{}
}

func newQueue() *queue {
	return &queue{woken: make(chan struct{}, 1), done: make(chan struct{})}
}

func (q *queue) add(p piece) {
	q.mu.Lock()
	q.pieces = append(q.pieces, p)
	wake := q.isSleeping || len(q.pieces) >= wakeThreshold
	q.isSleeping = false
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
	timer := time.NewTimer(collectTime)
	defer timer.Stop()
	var pieces []piece
	for {
		q.mu.Lock()
		pieces, q.pieces = q.pieces, pieces[:0]
		closed := q.closed
		q.isSleeping = len(pieces) == 0
		q.mu.Unlock()
		if len(pieces) == 0 {
			if closed {
				return
			}
			<-q.woken
		}
		for i := range pieces {
			p := &pieces[i]
			p.backlog.decodePiece(*p)
			*p = piece{} // lets the garbage collector free the bytes
		}
		if cap(pieces) > 4*wakeThreshold {
			pieces = nil
		}
		if closed {
			continue
		}
		timer.Reset(collectTime)
		select {
		case <-timer.C:
		case <-q.woken:
		}
	}
}
