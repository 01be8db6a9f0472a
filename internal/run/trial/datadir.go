package trial

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// dataDir times fdatasync in the data folder of a running cluster, if the scenario specifies this
// folder. If the measurement fails, dataDir returns a note with the reason.
func (t *Trial) dataDir(ctx context.Context) (*record.DataDir, []string) {
	attach := t.Spec.Cluster.RunningCluster
	if attach == nil || attach.DataDir == "" || ctx.Err() != nil {
		return nil, nil
	}
	t.report(Progress{Stage: "timing fdatasync"})
	all, err := t.Host.Fsync(ctx, []string{attach.DataDir}, probe.FsyncWrites)
	switch {
	case ctx.Err() != nil:
		return nil, nil // the record already says that the trial was interrupted
	case err != nil:
		return nil, []string{err.Error()}
	}
	f := all[0] // one folder is on one device, so exactly one result exists
	d := &record.DataDir{Path: attach.DataDir, Durability: record.Durability{
		FdatasyncP50NS: int64(f.P50.NS), Fdatasyncs: f.Count, FileSystem: f.FileSystem, Volatile: !f.Durable,
	}}
	if f.P99.Known {
		ns := int64(f.P99.NS)
		d.FdatasyncP99NS = &ns
	}
	return d, nil
}
