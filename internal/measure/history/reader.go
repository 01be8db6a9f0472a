package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

// reader reads one file. What is wrong with it ends it: what came before is as
// good as that of a run that was interrupted there.
type reader struct {
	f       *os.File
	in      *bufio.Reader
	code    *zstd.Decoder
	header  Header
	shift   int64  // how much later its clock stood at 0 than the first one's
	problem string // a sentence: why the file ended before its end
	last    int64  // when the last of the block before ended

	// Frames are read ahead by a goroutine of the reader's own, which owns in until
	// inOrder is closed, and decoded by some more.
	free, inOrder chan *block
	cur           *block
	ops           []Op // of cur
	at            int  // of the next of ops
}

// block is a frame and the operations in it, which are there when decoded has told.
type block struct {
	files.Frame
	raw     []byte
	ops     []Op
	err     error
	decoded chan struct{}
}

// open begins to read a file of a trial's folder. No link leads out of the run directory
// in which that is.
func open(path string) (*reader, error) {
	run, folder := filepath.Split(filepath.Dir(path))
	f, err := files.OpenIn(cmp.Or(run, "."), filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	code, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(files.MaxFrame))
	if err == nil {
		r := &reader{f: f, in: bufio.NewReaderSize(f, 1<<18), code: code}
		if err = r.begin(); err == nil {
			return r, nil
		}
		code.Close()
	}
	_ = f.Close() // it was only read
	return nil, fmt.Errorf("%s is no history of quorumbench: %w", path, err)
}

func (r *reader) close() {
	r.code.Close()
	_ = r.f.Close() // it was only read
}

func (r *reader) begin() error {
	first := make([]byte, len(magic))
	if _, err := io.ReadFull(r.in, first); err != nil || string(first) != magic {
		return errors.New("it begins with other bytes")
	}
	var head block
	switch {
	case r.frame(&head) != nil:
		return errors.New("its header is damaged")
	case json.Unmarshal(head.Packed, &r.header) != nil, r.header.Timeout < 0, r.header.ClockError < 0, r.header.ClockError >= 1<<62, r.header.Base < 0:
		return errors.New("its header cannot be read")
	}
	return nil
}

var (
	errCut     = errors.New("the history ends in the middle: what came before is read")
	errDamaged = errors.New("the history is damaged: what comes before the damage is read")
)

// frame reads the next frame, as it is packed.
func (r *reader) frame(b *block) error {
	switch err := b.Read(r.in); err {
	case nil:
		return nil
	case files.ErrCut:
		return errCut
	default:
		return errDamaged
	}
}

// start begins to read ahead, with so many goroutines that decode.
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

// decode finds a frame's operations.
func (r *reader) decode(b *block) (err error) {
	if b.raw, err = r.code.DecodeAll(b.Packed, b.raw[:0]); err == nil {
		b.ops, err = Decode(b.raw, b.ops)
	}
	if err != nil || len(b.raw) != b.Size || len(b.ops) != b.Count {
		return errDamaged
	}
	return nil
}

// stop ends the reading.
func (r *reader) stop() {
	close(r.free)
	for b := range r.inOrder {
		<-b.decoded
	}
}

// next makes ops the next block's operations; it reports false at the end.
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
	r.cur, r.ops, r.at = b, b.ops, 0
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

// mostShift bounds how far clocks of one load stood apart: a header can say
// anything.
const mostShift = int64(100 * 365 * 24 * time.Hour)

// Set is the files of one load, read together.
type Set struct {
	paths  []string
	header Header
	first  time.Time // when the first of their clocks stood at 0
	// Problems are sentences about files that end before their end, as far as
	// Read came across them.
	Problems []string
	until    int64
	// clockError is the largest of the files.
	clockError int64
}

// Until is the time from which on operations that are missing may have had an
// effect, as far as Read came across files that end before their end; a time
// that no operation has where all are whole.
func (s *Set) Until() int64 { return s.until }

// Open opens the files of one load. They are of one store, or it fails.
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
			s.header, s.first = r.header, r.header.Started
		case r.header.Store != s.header.Store, r.header.Base != s.header.Base:
			return nil, fmt.Errorf("%s and %s are of different loads", paths[0], p)
		}
		if r.header.Started.Before(s.first) {
			s.first = r.header.Started
		}
		s.clockError = max(s.clockError, r.header.ClockError)
	}
	return s, nil
}

// ClockError is how far a time of the load can be from the truth, in nanoseconds.
func (s *Set) ClockError() int64 { return s.clockError }

// Header is that of the first file.
func (s *Set) Header() *Header { return &s.header }

// Read calls do with all operations in the order in which they ended, some at a
// time: each time from the beginning. They are do's until it returns; an error
// of it ends the reading and is returned.
func (s *Set) Read(do func([]Op) error) error {
	s.Problems, s.until = nil, math.MaxInt64
	var files []*reader
	defer func() {
		for _, r := range files {
			r.stop()
			r.close()
			if r.problem != "" {
				until := int64(0) // all of it
				if r.header.Timeout > 0 {
					until = max(r.last-r.header.Timeout, 0)
				}
				s.until = min(s.until, max(until+r.shift-r.header.ClockError, 0))
				s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", r.f.Name(), r.problem))
			}
		}
	}()
	var live []*reader
	for _, p := range s.paths {
		r, err := open(p)
		if err != nil {
			return err
		}
		r.shift = min(int64(r.header.Started.Sub(s.first)), mostShift)
		files = append(files, r)
		r.start(max(1, runtime.GOMAXPROCS(0)/len(s.paths)))
		if r.next() {
			live = append(live, r)
		}
	}
	return merge(live, do)
}

// merge gives the operations of several readers in the order of their ends, those
// of one reader in its own: at equal times the reader that stands first has the
// way, so that a transaction's parts stay together.
func merge(live []*reader, do func([]Op) error) error {
	var inside *reader // whose transaction goes on in its next block
	for len(live) > 0 {
		best, limit := 0, int64(1<<63-1)
		for i, r := range live[1:] {
			if r == inside || live[best] != inside && r.ops[r.at].Done < live[best].ops[live[best].at].Done {
				best = i + 1
			}
		}
		for i, r := range live {
			if i != best {
				limit = min(limit, r.ops[r.at].Done)
			}
		}
		r := live[best]
		end := r.at + 1
		if len(live) == 1 {
			end = len(r.ops)
		}
		for end < len(r.ops) && (r.ops[end].Done <= limit || r.ops[end].Joined) {
			end++
		}
		if err := do(r.ops[r.at:end]); err != nil {
			return err
		}
		inside = nil // a part that goes on is in the next block, if anywhere
		if r.at = end; end < len(r.ops) {
			continue
		}
		if !r.next() {
			live = append(live[:best], live[best+1:]...)
		} else if r.ops[0].Joined {
			inside = r
		}
	}
	return nil
}
