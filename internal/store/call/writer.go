package call

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

const (
	magic     = "qbrec01\n"
	maxHeader = 1 << 16
	// held is how many full blocks wait for the disk before what comes is left out.
	held = 64
	// every is how often a block is written that is not full: what a crash loses.
	every = time.Second
)

// Writer writes a recording. Its methods may be called by several goroutines, and
// none waits for the disk: what it cannot take is left out, and a Gap says so.
type Writer struct {
	path string
	f    *os.File
	full chan *block
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	cur    *block
	free   []*block
	missed uint64 // calls, since the last Gap
	at     int64  // when the first of them was
	why    string
	counts Counts

	// Those below are of the goroutine that writes until done is closed.
	err   error
	bytes int64
}

// Counts is what a recording has so far.
type Counts struct {
	Calls  uint64 // recorded, with what the server told by itself
	Gaps   uint64
	Missed uint64 // calls that are known to be missing
}

// Create begins a recording in a file that must not be there.
func Create(path string, h *Header) (*Writer, error) {
	head, err := json.Marshal(h)
	if err == nil && len(head) > maxHeader {
		err = fmt.Errorf("its header is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	code, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write the recording: %w", err)
	}
	w := &Writer{path: path, f: f, cur: newBlock(), full: make(chan *block, held), stop: make(chan struct{}), done: make(chan struct{})}
	w.write(files.Append([]byte(magic), head, 0, len(head)))
	go w.run(code)
	return w, nil
}

// Call adds a call.
func (w *Writer) Call(c *Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.room(c.At) {
		return
	}
	if !w.cur.call(c) {
		w.miss(c.At, "calls with more parts than a record holds")
		return
	}
	w.counts.Calls++
	w.pass(blockSize)
}

// Gap adds that something is missing.
func (w *Writer) Gap(g Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Gaps++
	w.counts.Missed += g.Calls
	w.cur.gap(&g)
	w.pass(blockSize)
}

// Counts is what the recording has so far.
func (w *Writer) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts
	c.Missed += w.missed
	return c
}

// room reports whether the block takes another record: only where the disk cannot
// keep up does it not.
func (w *Writer) room(at int64) bool {
	if len(w.cur.buf) >= blockSize {
		w.pass(blockSize)
	}
	if len(w.cur.buf) >= blockSize {
		w.miss(at, "calls came faster than they could be written to disk")
		return false
	}
	if w.missed > 0 {
		w.tell()
	}
	return true
}

func (w *Writer) miss(at int64, why string) {
	if w.missed == 0 {
		w.at, w.why = at, why
	}
	w.missed++
}

// tell writes what was missed.
func (w *Writer) tell() {
	w.cur.gap(&Gap{At: w.at, Calls: w.missed, Why: w.why})
	w.counts.Gaps++
	w.counts.Missed += w.missed
	w.missed = 0
}

// pass hands the block on, if it has so many bytes and there is room.
func (w *Writer) pass(least int) {
	if len(w.cur.buf) < least || w.cur.count == 0 {
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

// Close makes the recording last, when nothing is added any more, and returns the
// first error of the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.missed > 0 {
		w.tell()
	}
	w.mu.Unlock()
	close(w.stop)
	<-w.done
	for _, err := range []error{w.f.Sync(), w.f.Close()} {
		w.note(err)
	}
	return w.err
}

// Bytes is the file's size, after Close.
func (w *Writer) Bytes() int64 { return w.bytes }

func (w *Writer) run(code *zstd.Encoder) {
	defer close(w.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var packed, frame []byte
	put := func(b *block) {
		packed = code.EncodeAll(b.buf, packed[:0])
		frame = files.Append(frame[:0], packed, b.count, len(b.buf))
		w.write(frame)
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
			w.pass(1)
			w.mu.Unlock()
		case <-w.stop:
			for len(w.full) > 0 {
				put(<-w.full)
			}
			if w.cur.count > 0 {
				put(w.cur)
			}
			w.write(files.Append(nil, nil, 0, 0))
			return
		}
	}
}

// write appends to the file, until the first error.
func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.f.Write(b)
	w.bytes += int64(n)
	w.note(err)
}

func (w *Writer) note(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("cannot write the recording: %w", err)
	}
}
