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
	fault.Kill:        exitAction(host.Kill),
	fault.Terminate:   exitAction(host.Terminate),
	fault.Restart:     exitAction(host.Terminate),
	fault.Pause:       {begin: signalMembers(host.Pause), heal: signalMembers(host.Resume), healed: "resumed"},
	fault.PowerLoss:   powerLoss(),
	fault.SlowDisk:    diskAction(func(h *fault.Injection) disk.Faults { return disk.Faults{SyncDelay: h.Amount} }),
	fault.FullDisk:    diskAction(func(*fault.Injection) disk.Faults { return disk.Faults{Full: true} }),
	fault.FailingDisk: diskAction(func(*fault.Injection) disk.Faults { return disk.Faults{Failing: true} }),
	fault.LyingDisk:   lyingDisk(),

	fault.Isolate:   linkAction(linksOfMembers, cut),
	fault.Split:     linkAction(linksBetweenHalves, cut),
	fault.Bridge:    linkAction(linksBetweenOtherHalves, cut),
	fault.Blackhole: linkAction(linksOfMembers, cut),
	fault.Delay:     linkAction(linksOfMembers, func(h *fault.Injection) network.Link { return network.Link{Delay: h.Amount} }),
	fault.Loss:      linkAction(linksOfMembers, func(h *fault.Injection) network.Link { return network.Link{Loss: h.Share} }),
	fault.Reorder:   linkAction(linksOfMembers, func(h *fault.Injection) network.Link { return network.Link{Reorder: h.Share} }),
	fault.SlowLink:  linkAction(linksOfMembers, func(h *fault.Injection) network.Link { return network.Link{Rate: int64(h.Throughput)} }),

	fault.MoveLeader: moveLeader(),
	fault.Compact:    requestAction(compact, "compacted"),
	fault.Defragment: requestAction(defragment, "defragmented"),
	fault.Snapshot:   requestAction(snapshot, "asked for a snapshot"),
	fault.Alarm:      maintenanceAction(kv.Alarms, "released from the alarm"),
	fault.FillQuota:  maintenanceAction(kv.SpaceQuota, "freed of the data that filled the quota"),
	fault.EnableAuth: maintenanceAction(kv.AuthSwitch, "made accessible without authentication again"),

	fault.NewCertificate: newCertificate(),
	fault.AddLearner:     addLearner(),

	fault.Replace:        replace(),
	fault.RollingRestart: rollingAction((*injection).restartMember),
	fault.RollingUpgrade: rollingAction((*injection).upgrade),
}
