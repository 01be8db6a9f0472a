package call

import (
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
)

const (
	signature = "qbrec01\n" // the start of a recording
	// maxQueued is the maximum number of full blocks that wait for the disk. While the queue is
	// full, calls that do not fit into the current block are omitted.
	maxQueued = 64
	// flushInterval is the interval at which the current block is written even if it is not full.
	// So a crash loses at most the calls that arrived within this interval.
	flushInterval = time.Second
)

// RecordingWriter writes a recording. Its methods may be called concurrently. Only Close waits
// for the disk. Calls that do not fit into the queue are omitted and counted in a Gap.
type RecordingWriter struct {
	file *files.BlockWriter // used only by the writing goroutine until the channel `done` is closed
	full chan *block
	stop chan struct{}
	done chan struct{}

	mu            sync.Mutex
	cur           *block
	free          []*block
	missed        uint64 // number of calls that were omitted since the last Gap
	firstMissedAt int64  // time of the first omitted call
	reason        string
	counts        Counts
}

// Counts holds the numbers of records that have been added to a recording.
type Counts struct {
	Calls  uint64 // recorded calls, including messages that a server sent without a request
	Gaps   uint64
	Missed uint64 // calls that are known to be missing
}

// CreateRecording creates a new file for a recording. It fails if the file already exists.
func CreateRecording(path string, h *Header) (*RecordingWriter, error) {
	file, err := files.CreateBlocks(path, signature, "the recording", h, blockSize)
	if err != nil {
		return nil, err
	}
	w := &RecordingWriter{file: file, cur: newBlock(), full: make(chan *block, maxQueued), stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

// Call adds a call to the recording, or counts it in a Gap if it cannot be recorded.
func (w *RecordingWriter) Call(c *Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ensureRoom(c.At) {
		return
	}
	if !w.cur.call(c) {
		w.countMissed(c.At, "calls were larger than a record can hold")
		return
	}
	w.counts.Calls++
	w.queueBlock(blockSize)
}

// Gap adds a gap to the recording.
func (w *RecordingWriter) Gap(g Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Gaps++
	w.counts.Missed += g.MissingCalls
	w.cur.gap(&g)
	w.queueBlock(blockSize)
}

// Counts returns the numbers of records that have been added so far.
func (w *RecordingWriter) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts
	c.Missed += w.missed
	return c
}

// ensureRoom reports whether the block can take another record. It returns false if the disk
// cannot keep up.
func (w *RecordingWriter) ensureRoom(at int64) bool {
	if len(w.cur.buf) >= blockSize {
		w.queueBlock(blockSize)
	}
	if len(w.cur.buf) >= blockSize {
		w.countMissed(at, "calls arrived faster than they could be written to disk")
		return false
	}
	if w.missed > 0 {
		w.writeGap()
	}
	return true
}

func (w *RecordingWriter) countMissed(at int64, reason string) {
	if w.missed == 0 {
		w.firstMissedAt, w.reason = at, reason
	}
	w.missed++
}

// writeGap adds a Gap that counts the omitted calls.
func (w *RecordingWriter) writeGap() {
	w.cur.gap(&Gap{At: w.firstMissedAt, MissingCalls: w.missed, Reason: w.reason})
	w.counts.Gaps++
	w.counts.Missed += w.missed
	w.missed = 0
}

// queueBlock queues the block for writing, if the block has the given minimum size in bytes and the
// queue is not full.
func (w *RecordingWriter) queueBlock(minSize int) {
	if len(w.cur.buf) < minSize || w.cur.count == 0 {
		return
	}
	select {
	case w.full <- w.cur:
	default:
		return
	}
	if n := len(w.free); n > 0 {
		w.cur, w.free = w.free[n-1], w.free[:n-1]
	} else {
		w.cur = newBlock()
	}
}

// Close ends the recording and waits until it is on disk. It returns the first error that
// occurred while the file was written. No record may be added after Close.
func (w *RecordingWriter) Close() error {
	w.mu.Lock()
	if w.missed > 0 {
		w.writeGap()
	}
	w.mu.Unlock()
	close(w.stop)
	<-w.done
	return w.file.Close(true)
}

// Bytes returns the size of the file. It may only be called after Close.
func (w *RecordingWriter) Bytes() int64 { return w.file.Bytes() }

func (w *RecordingWriter) run() {
	defer close(w.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	put := func(b *block) {
		w.file.WriteBlock(b.buf, b.count)
		b.reset()
		w.mu.Lock()
		w.free = append(w.free, b)
		w.mu.Unlock()
	}
	for {
		select {
		case b := <-w.full:
			put(b)
		case <-tick.C:
			w.mu.Lock()
			w.queueBlock(1)
			w.mu.Unlock()
		case <-w.stop:
			for len(w.full) > 0 {
				put(<-w.full)
			}
			if w.cur.count > 0 {
				put(w.cur)
			}
			return
		}
	}
}
