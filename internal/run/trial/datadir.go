package trial

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/measure"
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
	d := &record.DataDir{Path: attach.DataDir}
	RecordSlowest(&d.Durability, all)
	return d, nil
}

// RecordSlowest combines several measurements in d: the highest p50 and p99, the lowest number of
// samples, and whether any file system is volatile. If any measurement has too few samples for the
// p99, the recorded p99 is unknown. The recorded file system is that with the highest p50. If any
// file system is volatile, only volatile file systems are considered.
func RecordSlowest(d *measure.Durability, all []probe.FsyncResult) {
	p99, known, fileSystemP50 := 0.0, len(all) > 0, -1.0
	for i, f := range all {
		if firstVolatile := !f.Durable && !d.Volatile; firstVolatile || f.Durable != d.Volatile && f.P50.NS > fileSystemP50 {
			d.FileSystem, d.Volatile, fileSystemP50 = f.FileSystem, !f.Durable, f.P50.NS
		}
		if i == 0 || f.Count < d.Fdatasyncs {
			d.Fdatasyncs = f.Count
		}
		d.FdatasyncP50NS = max(d.FdatasyncP50NS, int64(f.P50.NS))
		p99, known = max(p99, f.P99.NS), known && f.P99.Known
	}
	if known {
		ns := int64(p99)
		d.FdatasyncP99NS = &ns
	}
}
