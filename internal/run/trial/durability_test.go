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

// The file system is that of the slowest disk, or that of a volatile disk if one exists. The order
// of the disks is irrelevant.
func TestFileSystemOfTheSlowestDisk(t *testing.T) {
	quick := probe.FsyncResult{P50: knownFigure(1e6), FileSystem: "ext4", Durable: true}
	slow := probe.FsyncResult{P50: knownFigure(20e6), FileSystem: "xfs", Durable: true}
	memory := probe.FsyncResult{P50: knownFigure(1e3), FileSystem: "tmpfs"}
	slowMemory := probe.FsyncResult{P50: knownFigure(2e3), FileSystem: "ramfs"}
	for _, test := range []struct {
		disks    []probe.FsyncResult
		want     string
		volatile bool
	}{
		{[]probe.FsyncResult{quick, slow}, "xfs", false}, {[]probe.FsyncResult{slow, quick}, "xfs", false},
		{[]probe.FsyncResult{slow, memory, quick}, "tmpfs", true}, {[]probe.FsyncResult{memory, slow}, "tmpfs", true},
		{[]probe.FsyncResult{memory, slowMemory, slow}, "ramfs", true}, {[]probe.FsyncResult{slowMemory, memory}, "ramfs", true},
	} {
		var d measure.Durability
		if RecordSlowest(&d, test.disks); d.FileSystem != test.want || d.Volatile != test.volatile {
			t.Errorf("the disks %+v have the file system %s (volatile: %v), want %s", test.disks, d.FileSystem, d.Volatile, test.want)
		}
	}
}
