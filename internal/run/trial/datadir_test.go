package trial

import (
	"context"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// interrupting is a host on which the trial is interrupted while fdatasync is being timed.
type interrupting struct {
	host.Host
	interrupt func()
}

func (h interrupting) Fsync(ctx context.Context, _ []string, _ int) ([]probe.FsyncResult, error) {
	h.interrupt()
	return nil, ctx.Err()
}

// If timing the data folder is interrupted, this does not count as a failure and causes no note.
func TestInterruptedDataDirLeavesNoNote(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	of := &Trial{Host: interrupting{interrupt: cancel}}
	of.Spec.Cluster.RunningCluster = &scenario.RunningCluster{DataDir: t.TempDir()}
	if d, notes := of.dataDir(ctx); d != nil || notes != nil {
		t.Errorf("%+v, %q", d, notes)
	}
}
