package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Recording is a Recorder whose recorded operations a test can read back.
type Recording struct {
	history.Recorder
	ops []history.Op
}

// NewRecording returns an empty recording.
func NewRecording(t *testing.T) *Recording {
	r := &Recording{}
	r.Recorder = history.Recorder{Take: history.NewBlock, Deliver: func(b *history.Block) {
		var err error
		if r.ops, err = history.Decode(b.Bytes(), r.ops); err != nil {
			t.Error(err)
		}
	}}
	return r
}

// Since returns the operations that were recorded since the previous call.
func (r *Recording) Since() []history.Op {
	r.ops = nil
	r.Flush()
	return r.ops
}

// CheckOps compares recorded operations with expected operations. An expected operation without
// times stands for an operation that was invoked at 100 and done at 200.
func CheckOps(t *testing.T, name string, got []history.Op, want ...history.Op) {
	t.Helper()
	for i := range want {
		if w := &want[i]; w.Done == 0 {
			w.Invoked, w.Done = 100, 200
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got): %s", name, d)
	}
}
