package fault

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// action is how a kind of fault is done. Its functions act on all of the fault's
// members (one.members), and are called with a context that does not end.
type action struct {
	// ahead is done as long before the fault as its by says, if it says it, and before it
	// is known whom it is done to; nil for nothing.
	ahead func(ctx context.Context, i *Injector) error
	begin func(ctx context.Context, o *one) error // nil for nothing
	// ends says that the members' processes end, which is awaited.
	ends bool
	// then is what is done once it has begun, and they have ended; nil for nothing.
	then func(ctx context.Context, o *one) error
	// heal undoes the fault, also one of which only a part was begun. healed is what
	// the members were then, such as "started again".
	heal   func(ctx context.Context, o *one) error
	healed string
}

// actions are those of all kinds.
var actions = map[scenario.FaultKind]*action{
	scenario.Kill:        ending(host.Kill),
	scenario.Terminate:   ending(host.Terminate),
	scenario.Restart:     ending(host.Terminate),
	scenario.Pause:       {begin: signal(host.Pause), heal: signal(host.Resume), healed: "resumed"},
	scenario.PowerLoss:   powerLoss(),
	scenario.SlowDisk:    badDisk(func(h *scenario.Happening) disk.Faults { return disk.Faults{SyncDelay: h.By} }),
	scenario.FullDisk:    badDisk(func(*scenario.Happening) disk.Faults { return disk.Faults{Full: true} }),
	scenario.FailingDisk: badDisk(func(*scenario.Happening) disk.Faults { return disk.Faults{Failing: true} }),
	scenario.LyingDisk:   lyingDisk(),

	scenario.Isolate:   badLinks(around, cut),
	scenario.Split:     badLinks(halves, cut),
	scenario.Bridge:    badLinks(othersHalves, cut),
	scenario.Blackhole: badLinks(around, cut),
	scenario.Delay:     badLinks(around, func(h *scenario.Happening) network.Link { return network.Link{Delay: h.By} }),
	scenario.Loss:      badLinks(around, func(h *scenario.Happening) network.Link { return network.Link{Loss: h.Share} }),
	scenario.Reorder:   badLinks(around, func(h *scenario.Happening) network.Link { return network.Link{Reorder: h.Share} }),
	scenario.SlowLink:  badLinks(around, func(h *scenario.Happening) network.Link { return network.Link{Rate: int64(h.To)} }),

	scenario.MoveLeader: moveLeader(),
	scenario.Compact:    asked(compact, "compacted"),
	scenario.Defragment: asked(defragment, "defragmented"),
	scenario.Snapshot:   asked(snapshot, "read as a snapshot"),
	scenario.Alarm:      worked(kv.Alarms, "relieved of the alarm"),
	scenario.FillQuota:  worked(kv.SpaceQuota, "given room again"),
	scenario.EnableAuth: worked(kv.AuthSwitch, "open without a user again"),

	scenario.NewCertificate: newCertificate(),
	scenario.AddLearner:     addLearner(),

	scenario.Replace:        replace(),
	scenario.RollingRestart: rolling((*one).startAgain),
	scenario.RollingUpgrade: rolling((*one).upgrade),
}
