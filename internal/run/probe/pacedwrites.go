package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// PacedWrites describes synced writes at a constant rate, like those of a store with a steady load.
type PacedWrites struct {
	Sizes    []int         `json:"sizes"` // sizes of the writes in bytes; successive writes use these sizes in turn
	Interval time.Duration `json:"interval_ns"`
	Duration time.Duration `json:"duration_ns"`
	// Neighbor is the size in bytes of a file that is written at the same time. It simulates
	// another program that pulls an image: the file is written sequentially, with one sync at the
	// end. The file is first written after NeighborFirst, and then once every NeighborInterval. It
	// is removed each time. 0 means no neighbor.
	Neighbor int64 `json:"neighbor"`
}

// The times at which the neighbor's file is written.
const (
	NeighborFirst    = 5 * time.Second
	NeighborInterval = time.Minute
)

// LogFile is the size of the file to which PacedWrites writes. When a write does not fit at the end
// of the file, the writes continue at the beginning. etcd allocates files of this size.
const LogFile = 64 << 20

// maxTogether is the maximum number of bytes that are written together. It limits the memory that
// is needed. At 1,000 writes per second of the usual sizes, fewer bytes become due during a sync
// that takes one second. Therefore, only the disk delays these writes.
const maxTogether = 16 << 20

// Bytes returns the maximum number of bytes that are written in total, and the maximum number of
// bytes that the files contain at the same time.
func (w *PacedWrites) Bytes() (total, atOnce int64) {
	sum := int64(0)
	for _, size := range w.Sizes {
		sum += int64(size)
	}
	total = (int64(w.Duration/w.Interval) + 1) * sum / int64(len(w.Sizes))
	if w.Neighbor > 0 && w.Duration > NeighborFirst {
		total += w.Neighbor * (1 + int64((w.Duration-NeighborFirst-1)/NeighborInterval))
	}
	return total, LogFile + w.Neighbor
}

// Check returns an error if the writes are implausible.
func (w *PacedWrites) Check() error {
	switch {
	case len(w.Sizes) == 0 || len(w.Sizes) > 8:
		return errors.New("the writes must have from 1 to 8 sizes")
	case w.Interval < time.Millisecond || w.Interval > time.Second:
		return errors.New("the interval between two writes must be from 1ms to 1s")
	case w.Duration < time.Second || w.Duration > 24*time.Hour:
		return errors.New("the duration of the writes must be from 1s to 24h")
	case w.Neighbor < 0 || w.Neighbor > 1<<40:
		return errors.New("the neighbor's file must not be larger than 1 TiB")
	}
	for _, size := range w.Sizes {
		if size < 1 || size > 1<<20 {
			return errors.New("the size of a write must be from 1 byte to 1 MiB")
		}
	}
	return nil
}

// Run makes the writes in a folder, in which it creates files and removes them again. It calls the
// function `second` with the writes of each second as soon as all of these writes are durable. It
// ends after the duration, when ctx is canceled, or when `second` returns an error.
func (w *PacedWrites) Run(ctx context.Context, dir *os.Root, second func(measure.WrittenSecond) error) (err error) {
	if err := w.Check(); err != nil {
		return err
	}
	const name = "log"
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fsyncError(dir, err)
	}
	defer func() {
		if closing := errors.Join(f.Close(), dir.Remove(name)); err == nil && closing != nil {
			err = fsyncError(dir, closing)
		}
	}()
	preallocate(f, LogFile)
	if err := f.Sync(); err != nil {
		return fsyncError(dir, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := &neighbor{size: w.Neighbor, ended: make(chan struct{})}
	go n.run(ctx, dir, cancel)
	log := newLogWriter(f)
	began := time.Now()
	p := Pacer{
		PacedWrites: *w, Second: second, NeighborWritten: n.written.Load,
		Now:   func() time.Duration { return time.Since(began) },
		Sleep: func(d time.Duration) bool { return measure.Pause(ctx, d) },
		Write: log.append,
	}
	err = p.Run()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	<-n.ended
	var path *os.PathError
	if errors.As(err, &path) {
		return fsyncError(dir, err)
	}
	return err
}

// logWriter appends records to a file. At the end of the file, it continues at the beginning. The
// records are random, so that no file system or disk can deduplicate or compress them.
type logWriter struct {
	f      *os.File
	random []byte
	buffer []byte
	at     int64
	laps   int // how often the end of the file was reached
}

func newLogWriter(f *os.File) *logWriter {
	w := &logWriter{f: f, random: make([]byte, 1<<20)}
	_, _ = rand.Read(w.random) // never fails
	return w
}

// append writes records of the given sizes and syncs them.
func (w *logWriter) append(sizes []int) error {
	w.buffer = w.buffer[:0]
	for _, size := range sizes {
		from := (int(w.at) + len(w.buffer) + 7919*w.laps) % (len(w.random) - size + 1)
		w.buffer = append(w.buffer, w.random[from:from+size]...)
	}
	if w.at+int64(len(w.buffer)) > LogFile {
		w.at, w.laps = 0, w.laps+1
	}
	if _, err := w.f.WriteAt(w.buffer, w.at); err != nil {
		return err
	}
	w.at += int64(len(w.buffer))
	if err := fdatasync(w.f); err != nil {
		return &os.PathError{Op: "fdatasync", Path: w.f.Name(), Err: err}
	}
	return nil
}

// Pacer makes writes at a constant rate, on any clock and disk. The clock starts at 0.
type Pacer struct {
	PacedWrites
	Now   func() time.Duration
	Sleep func(time.Duration) bool // returns false if the measurement was canceled
	Write func(sizes []int) error  // makes writes durable together
	// Second receives the writes of each second as soon as all of these writes are durable.
	Second func(measure.WrittenSecond) error
	// NeighborWritten returns the number of bytes that the neighbor has written. It may be nil.
	NeighborWritten func() int64
}

// Run makes the writes until the duration has passed, Sleep returns false, or Second returns an
// error.
func (p *Pacer) Run() error {
	var now measure.WrittenSecond
	total := int(p.Duration / p.Interval)
	perSecond := int(time.Second / p.Interval)
	var sizes []int
	busy := false // set if the previous sync ended after the next write was due
	for next := 0; next < total; {
		due := time.Duration(next) * p.Interval
		start := p.Now()
		if start < due {
			busy = false
			if !p.Sleep(due - start) {
				return nil
			}
			start = p.Now()
		}
		from := due
		if !busy {
			now.LateNS = max(now.LateNS, int64(start-due))
			from = start // the delay was not caused by the disk
		}
		last := min(max(next, int(start/p.Interval)), total-1)
		sizes = sizes[:0]
		for i, together := next, 0; i <= last; i++ {
			size := p.Sizes[i%len(p.Sizes)]
			if together += size; together > maxTogether {
				last = i - 1
				break
			}
			sizes = append(sizes, size)
		}
		begin := p.Now()
		if err := p.Write(sizes); err != nil {
			return err
		}
		done := p.Now()
		for i := next; i <= last; i++ {
			waited := done - max(from, time.Duration(i)*p.Interval)
			if now.WaitNS = append(now.WaitNS, int64(waited)); i == next {
				now.SyncNS = append(now.SyncNS, int64(done-begin))
			}
			if (i+1)%perSecond == 0 || i+1 == total {
				if now.First = i + 1 - len(now.WaitNS); p.NeighborWritten != nil {
					now.NeighborBytes = p.NeighborWritten()
				}
				if err := p.Second(now); err != nil {
					return err
				}
				now = measure.WrittenSecond{}
			}
		}
		next = last + 1
		busy = done > time.Duration(next)*p.Interval
		if !p.Sleep(0) {
			return nil
		}
	}
	return nil
}

// neighbor writes a file sequentially, like a program that pulls an image.
type neighbor struct {
	size    int64
	written atomic.Int64
	ended   chan struct{}
}

// run writes the file repeatedly until ctx is canceled. If a write fails, it cancels the
// measurement with the error.
func (n *neighbor) run(ctx context.Context, dir *os.Root, cancel context.CancelCauseFunc) {
	defer close(n.ended)
	if n.size == 0 {
		return
	}
	for at := time.Now().Add(NeighborFirst); ; at = at.Add(NeighborInterval) {
		select {
		case <-time.After(time.Until(at)):
		case <-ctx.Done():
			return
		}
		if err := n.writeFile(ctx, dir); err != nil {
			cancel(fmt.Errorf("cannot write the neighbor's file: %w", fsyncError(dir, err)))
			return
		}
	}
}

// writeFile writes, syncs and removes the file once. It stops early if ctx is canceled.
func (n *neighbor) writeFile(ctx context.Context, dir *os.Root) (err error) {
	const name = "neighbor"
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), dir.Remove(name)) }()
	block := make([]byte, 1<<20)
	for left := n.size; left > 0 && ctx.Err() == nil; {
		_, _ = rand.Read(block) // never fails
		size, err := f.Write(block[:min(left, int64(len(block)))])
		n.written.Add(int64(size))
		left -= int64(size)
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return f.Sync()
}
