package fault

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// actions maps each kind of fault to the action that implements it.
var actions = map[fault.Kind]*action{
	fault.Kill:        ending(host.Kill),
	fault.Terminate:   ending(host.Terminate),
	fault.Restart:     ending(host.Terminate),
	fault.Pause:       {begin: signal(host.Pause), heal: signal(host.Resume), healed: "resumed"},
	fault.PowerLoss:   powerLoss(),
	fault.SlowDisk:    badDisk(func(h *fault.Happening) disk.Faults { return disk.Faults{SyncDelay: h.By} }),
	fault.FullDisk:    badDisk(func(*fault.Happening) disk.Faults { return disk.Faults{Full: true} }),
	fault.FailingDisk: badDisk(func(*fault.Happening) disk.Faults { return disk.Faults{Failing: true} }),
	fault.LyingDisk:   lyingDisk(),

	fault.Isolate:   badLinks(around, cut),
	fault.Split:     badLinks(halves, cut),
	fault.Bridge:    badLinks(othersHalves, cut),
	fault.Blackhole: badLinks(around, cut),
	fault.Delay:     badLinks(around, func(h *fault.Happening) network.Link { return network.Link{Delay: h.By} }),
	fault.Loss:      badLinks(around, func(h *fault.Happening) network.Link { return network.Link{Loss: h.Share} }),
	fault.Reorder:   badLinks(around, func(h *fault.Happening) network.Link { return network.Link{Reorder: h.Share} }),
	fault.SlowLink:  badLinks(around, func(h *fault.Happening) network.Link { return network.Link{Rate: int64(h.To)} }),

	fault.MoveLeader: moveLeader(),
	fault.Compact:    requestAction(compact, "compacted"),
	fault.Defragment: requestAction(defragment, "defragmented"),
	fault.Snapshot:   requestAction(snapshot, "asked for a snapshot"),
	fault.Alarm:      worked(kv.Alarms, "released from the alarm"),
	fault.FillQuota:  worked(kv.SpaceQuota, "freed of the data that filled the quota"),
	fault.EnableAuth: worked(kv.AuthSwitch, "made accessible without authentication again"),

	fault.NewCertificate: newCertificate(),
	fault.AddLearner:     addLearner(),

	fault.Replace:        replace(),
	fault.RollingRestart: rolling((*injection).startAgain),
	fault.RollingUpgrade: rolling((*injection).upgrade),
}
