package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CheckFiles verifies the history in the given files and returns the result for the record. The
// check reads the history several times. CheckFiles calls progress with the number of the current
// pass over the history and the number of operations read in this pass. If ctx is canceled,
// CheckFiles returns the cause.
func CheckFiles(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Verification, error) {
	began := time.Now()
	set, err := history.Open(paths...)
	if err != nil {
		return nil, err
	}
	out, err := Check(&progressReader{Set: set, ctx: ctx, progress: progress}, Options{Canceled: func() error { return context.Cause(ctx) }})
	if err != nil {
		return nil, err
	}
	out.Undecided = append(out.Undecided, set.Problems...)
	if e := set.ClockError(); e > 0 {
		out.Undecided = append(out.Undecided, fmt.Sprintf("the clocks of other machines may be off by %s, so the order of operations whose times differ by less than twice this error is unknown", text.Duration(float64(e))))
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// progressReader is a history that reports its progress each time it is read. Its context can
// cancel the read.
type progressReader struct {
	*history.Set
	ctx      context.Context
	progress func(reading int, operations uint64)
	reading  int
}

// progressEvery is the number of operations after which Read reports its progress and checks
// whether the context is canceled.
const progressEvery = 1 << 16

// Read implements Input.
func (f *progressReader) Read(do func([]history.Op) error) error {
	f.reading++
	n, next := uint64(0), uint64(0)
	return f.Set.Read(func(ops []history.Op) error {
		if n >= next {
			next = n + progressEvery
			if err := context.Cause(f.ctx); err != nil {
				return err
			}
			if f.progress != nil && n > 0 {
				f.progress(f.reading, n)
			}
		}
		n += uint64(len(ops))
		return do(ops)
	})
}
