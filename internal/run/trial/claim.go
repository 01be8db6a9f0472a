package trial

import (
	"context"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/store"
)

// claim claims the load's keys from the running cluster's guard. The guard checks that the load
// changes no other keys.
func (t *Trial) claim(ctx context.Context) error {
	if t.Cluster.Guard == nil || !t.Spec.Load.WritesKeys() {
		return nil
	}
	return t.Cluster.Guard.Claim(ctx, t.newPlan())
}

// checkRights returns an error if the load changes the whole cluster but the given user lacks the
// right to do so. checkRights is called before the load writes anything.
func (t *Trial) checkRights(ctx context.Context, m *members) error {
	if t.Cluster.Guard == nil {
		return nil
	}
	maintainer, ok := m.admin.(store.Operator)
	if !ok {
		return nil
	}
	var missing []string
	for _, what := range t.Spec.Load.MaintenanceFeatures() {
		if err := maintainer.CheckRights(ctx, what); err != nil {
			missing = append(missing, err.Error())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the load %s, but the user lacks the necessary right: %s; nothing was written; grant the right, or remove this part of the load",
		strings.Join(t.Spec.Load.ClusterWideChanges(), " and "), strings.Join(missing, ", and "))
}

// removesSingly reports whether the trial removes its keys one by one. In a running cluster, this
// is necessary in two cases: the keys have no prefix, or the store cannot delete by prefix. In both
// cases, the store has no command that would remove exactly these keys.
func (t *Trial) removesSingly() bool {
	l := &t.Spec.Load
	if t.Cluster.Guard == nil || !l.WritesKeys() || l.Cleanup.KeepKeys || l.Overwrite || t.hasScriptedKeys() {
		return false
	}
	return strings.Trim(l.Prefix, "/") == "" || !t.Cluster.Store.Capabilities().Has(kv.PrefixDelete)
}

// hasScriptedKeys reports whether an application or a recording determines the keys.
func (t *Trial) hasScriptedKeys() bool { return t.Spec.Load.Arrival == scenario.Recorded }

// newPlan describes the changes that the load makes to the cluster.
func (t *Trial) newPlan() guard.Plan {
	l, can := &t.Spec.Load, t.Cluster.Store.Capabilities()
	p := guard.Plan{
		Prefix: l.Prefix, Overwrite: l.Overwrite, Keep: l.Cleanup.KeepKeys, ClusterWide: l.ClusterWideChanges(),
		Keys: l.KeySpace, Leases: load.NeedsLeases(l, can), Names: guard.Names{KeySize: l.KeySize, KeySpace: l.KeySpace},
	}
	p.Prefixes = []string{load.ProbeName}
	if l.STM != nil && l.STM.Locker != kv.LockNone {
		p.Prefixes = append(p.Prefixes, load.LockName)
	}
	if w := l.Watch; w != nil && w.EarlierEvents > 0 {
		p.Prefixes = append(p.Prefixes, strings.TrimPrefix(string(w.Key), l.Prefix))
	}
	if !l.Preload && !t.hasScriptedKeys() {
		p.Keys = min(p.Keys, maxOperations(l)*l.KeysPerOperation())
	}
	if t.hasScriptedKeys() {
		p.Names, p.Leases = guard.Names{Application: l.Application.Name}, true
	}
	if app := application.Find(load.Applications(), l.Application.Name); app != nil {
		d := app.Definition()
		if way, err := d.FindWay(t.Cluster.Store.Name(), can); err == nil {
			p.Services = d.Ways[way].NeedsFeature(kv.Services)
		}
	}
	p.Bytes = p.Keys * uint64(len(l.Prefix)+l.KeySize+l.ValueSize) // #nosec G115 -- sizes are not negative
	return p
}

// maxOperations returns an upper bound for the number of the load's operations, including those of
// the warm-up.
func maxOperations(l *scenario.Load) uint64 {
	switch {
	case l.Total > 0 && l.Warmup == 0:
		return l.Total
	case l.Arrival != scenario.Closed && l.Rate.PerSecond > 0:
		return l.Total + uint64(l.Rate.PerSecond*(l.Warmup+l.Duration).Seconds()) + 1
	}
	return l.KeySpace
}
