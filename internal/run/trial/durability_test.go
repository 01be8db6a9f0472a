package trial

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

func knownFigure(ns float64) measure.Figure { return measure.Figure{NS: ns, Known: true} }

// The result is that of the slowest disk. If any disk has too few samples for a p99, the p99 is
// unknown.
func TestTheSlowestDiskDecides(t *testing.T) {
	quick := probe.FsyncResult{P50: knownFigure(1e6), P99: knownFigure(3e6), Count: 1000, FileSystem: "ext4", Durable: true}
	slow := probe.FsyncResult{P50: knownFigure(20e6), Count: 150, FileSystem: "ext4", Durable: true}
	var one, both measure.Durability
	RecordSlowest(&one, []probe.FsyncResult{quick})
	if one.FdatasyncP50NS != 1e6 || one.FdatasyncP99NS == nil || *one.FdatasyncP99NS != 3e6 || one.Fdatasyncs != 1000 || one.Volatile {
		t.Errorf("one disk: %+v", one)
	}
	RecordSlowest(&both, []probe.FsyncResult{quick, slow})
	if both.FdatasyncP50NS != 20e6 || both.FdatasyncP99NS != nil || both.Fdatasyncs != 150 {
		t.Errorf("two disks: %+v", both)
	}
}
