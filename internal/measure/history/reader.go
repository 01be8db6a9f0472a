package history

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

// reader reads one file of a history. If the file is damaged, reading ends at the damage. The
// operations before the damage are valid, as if the run had been interrupted there.
type reader struct {
	f       *os.File
	in      *bufio.Reader
	decoder *zstd.Decoder
	header  Header
	shift   int64  // how much later this file's clock started than the earliest clock
	problem string // a sentence about why the file ended prematurely; empty if it did not
	last    int64  // end of the last operation in the previous block

	// One goroutine reads frames in advance. Until it closes inOrder, no other goroutine uses the
	// field `in`. Other goroutines decode the frames.
	free, inOrder chan *block
	cur           *block
	ops           []Op // the operations in cur
	nextOp        int  // index of the next operation in ops
}

// block is a frame and its operations. The operations are ready when the channel `decoded` delivers
// a value.
type block struct {
	files.Frame
	raw     []byte
	ops     []Op
	err     error
	decoded chan struct{}
}

// open opens a file in a trial's folder and reads its header. It does not follow links that point
// outside the run directory.
func open(path string) (*reader, error) {
	run, folder := filepath.Split(filepath.Dir(path))
	f, err := files.OpenIn(cmp.Or(run, "."), filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	code, err := files.NewBlockDecoder(0)
	if err == nil {
		r := &reader{f: f, in: bufio.NewReaderSize(f, 1<<18), decoder: code}
		if err = r.begin(); err == nil {
			return r, nil
		}
		code.Close()
	}
	_ = f.Close() // the file was only read, so there is nothing to flush
	return nil, fmt.Errorf("%s is not a history file of quorumbench: %w", path, err)
}

func (r *reader) close() {
	r.decoder.Close()
	_ = r.f.Close() // the file was only read, so there is nothing to flush
}

// begin reads and checks the header.
func (r *reader) begin() error {
	err := files.ReadBlockHeader(r.in, signature, errForeign, &r.header)
	if h := &r.header; err == nil && (h.Timeout < 0 || h.ClockError < 0 || h.ClockError >= 1<<62 || h.BaseRevision < 0) {
		err = files.ErrUnreadableHeader
	}
	return err
}

var (
	errForeign    = errors.New("the file does not start with the signature of a history file")
	errIncomplete = errors.New("the end of the history is missing; only the earlier operations are used")
	errDamaged    = errors.New("the history is damaged; only the operations before the damage are used")
)

// frame reads the next frame without decoding it.
func (r *reader) frame(b *block) error {
	switch err := b.Read(r.in); {
	case err == nil:
		return nil
	case errors.Is(err, files.ErrIncomplete):
		return errIncomplete
	case errors.Is(err, files.ErrDamaged):
		return errDamaged
	default:
		return fmt.Errorf("the history cannot be read to its end; only the operations before the error are used (%w)", err)
	}
}

// start starts the goroutine that reads frames in advance, and the given number of goroutines that
// decode them.
func (r *reader) start(decoders int) {
	ahead := decoders + 2
	r.free, r.inOrder = make(chan *block, ahead), make(chan *block, ahead)
	packed := make(chan *block, ahead)
	for range ahead {
		r.free <- &block{decoded: make(chan struct{}, 1)}
	}
	go func() {
		defer close(r.inOrder)
		defer close(packed)
		for b := range r.free {
			b.ops = b.ops[:0]
			b.err = r.frame(b)
			last := b.err != nil || b.Count == 0
			if last {
				b.decoded <- struct{}{}
			} else {
				packed <- b
			}
			r.inOrder <- b
			if last {
				return
			}
		}
	}()
	for range decoders {
		go func() {
			for b := range packed {
				b.err = r.decode(b)
				b.decoded <- struct{}{}
			}
		}()
	}
}

// decode decodes the operations in a frame.
func (r *reader) decode(b *block) (err error) {
	if b.raw, err = b.Unpack(r.decoder, b.raw); err == nil {
		b.ops, err = Decode(b.raw, b.ops)
	}
	if err != nil || len(b.ops) != b.Count {
		return errDamaged
	}
	return nil
}

func (r *reader) stop() {
	close(r.free)
	for b := range r.inOrder {
		<-b.decoded
	}
}

// next moves to the operations in the next block. It returns false at the end of the file.
func (r *reader) next() bool {
	if r.cur != nil {
		r.free <- r.cur
		r.cur = nil
	}
	b, ok := <-r.inOrder
	if !ok {
		return false
	}
	<-b.decoded
	r.cur, r.ops, r.nextOp = b, b.ops, 0
	if b.err == nil && len(b.ops) > 0 && b.ops[0].Done < r.last {
		b.err = errDamaged
	}
	if b.err != nil {
		r.problem = b.err.Error()
	}
	if b.err != nil || len(b.ops) == 0 {
		return false
	}
	r.last = b.ops[len(b.ops)-1].Done
	if r.shift == 0 && r.header.ClockError == 0 {
		return true
	}
	for i := range b.ops {
		o := &b.ops[i]
		o.Invoked += r.shift - min(r.header.ClockError, o.Invoked+r.shift)
		o.Done += r.shift + r.header.ClockError
	}
	return true
}

// maxShift limits the difference between the clocks in one load, because a damaged header may
// contain any time.
const maxShift = int64(100 * 365 * 24 * time.Hour)

// Set holds all history files of a load, which are read together.
type Set struct {
	paths         []string
	header        Header
	earliestStart time.Time // start of the earliest clock
	// Problems describes the files that ended prematurely. Read sets it.
	Problems      []string
	completeUntil int64
	// clockError is the largest clock error of all files.
	clockError int64
}

// CompleteUntil returns the time up to which the history is complete. If a file ended prematurely,
// the history may lack operations after this time that the store executed. If all files are
// complete, the time is later than all operations. The result is valid after Read.
func (s *Set) CompleteUntil() int64 { return s.completeUntil }

// Open opens the files of one load. It returns an error if they come from different loads.
func Open(paths ...string) (*Set, error) {
	s := &Set{paths: paths}
	for i, p := range paths {
		r, err := open(p)
		if err != nil {
			return nil, err
		}
		r.close()
		switch {
		case i == 0:
			s.header, s.earliestStart = r.header, r.header.Started
		case r.header.Store != s.header.Store, r.header.BaseRevision != s.header.BaseRevision:
			return nil, fmt.Errorf("%s and %s are from different loads", paths[0], p)
		}
		if r.header.Started.Before(s.earliestStart) {
			s.earliestStart = r.header.Started
		}
		s.clockError = max(s.clockError, r.header.ClockError)
	}
	return s, nil
}

// ClockError returns the largest possible error of a time in the history, in nanoseconds.
func (s *Set) ClockError() int64 { return s.clockError }

// Header returns the header of the first file.
func (s *Set) Header() *Header { return &s.header }

// Read passes all operations to the function `do`, in the order in which they ended. Each call of
// `do` receives several operations, and may change them until it returns. If `do` returns an error,
// Read stops and returns this error. Each call of Read starts at the first operation.
func (s *Set) Read(do func([]Op) error) error {
	s.Problems, s.completeUntil = nil, math.MaxInt64
	var files []*reader
	defer func() {
		for _, r := range files {
			r.stop()
			r.close()
			if r.problem != "" {
				until := int64(0) // if Timeout is unknown, any part may be incomplete
				if r.header.Timeout > 0 {
					until = max(r.last-r.header.Timeout, 0)
				}
				s.completeUntil = min(s.completeUntil, max(until+r.shift-r.header.ClockError, 0))
				s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", r.f.Name(), r.problem))
			}
		}
	}()
	var active []*reader
	for _, p := range s.paths {
		r, err := open(p)
		if err != nil {
			return err
		}
		r.shift = min(int64(r.header.Started.Sub(s.earliestStart)), maxShift)
		files = append(files, r)
		r.start(max(1, runtime.GOMAXPROCS(0)/len(s.paths)))
		if r.next() {
			active = append(active, r)
		}
	}
	return merge(active, do)
}

// merge merges the operations from several readers by the times at which they ended. It keeps the
// order within each reader, and the records of a transaction stay together. If two operations ended
// at the same time, the operation from the earlier reader comes first.
func merge(active []*reader, do func([]Op) error) error {
	var continuing *reader // set if a transaction of this reader continues in its next block
	for len(active) > 0 {
		best, limit := 0, int64(1<<63-1)
		for i, r := range active[1:] {
			if r == continuing || active[best] != continuing && r.ops[r.nextOp].Done < active[best].ops[active[best].nextOp].Done {
				best = i + 1
			}
		}
		for i, r := range active {
			if i != best {
				limit = min(limit, r.ops[r.nextOp].Done)
			}
		}
		r := active[best]
		end := r.nextOp + 1
		if len(active) == 1 {
			end = len(r.ops)
		}
		for end < len(r.ops) && (r.ops[end].Done <= limit || r.ops[end].ContinuesPrevious) {
			end++
		}
		if err := do(r.ops[r.nextOp:end]); err != nil {
			return err
		}
		// if a transaction continues, its next record is at the start of the next block
		continuing = nil
		if r.nextOp = end; end < len(r.ops) {
			continue
		}
		if !r.next() {
			active = append(active[:best], active[best+1:]...)
		} else if r.ops[0].ContinuesPrevious {
			continuing = r
		}
	}
	return nil
}
