package scenario

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// RunningClusterPrefix is the default prefix for keys on a running cluster. Other programs use no
// keys with this prefix.
const RunningClusterPrefix = "quorumbench/"

// runningClusterPrefix returns the default prefix of an application's keys on a running cluster. It
// consists of RunningClusterPrefix, adapted to the style of the application's key names, and the
// prefix that the application usually has.
func runningClusterPrefix(d *application.Definition) string {
	switch p := d.Prefix; {
	case strings.HasPrefix(p, "/"):
		return "/" + strings.TrimSuffix(RunningClusterPrefix, "/") + p
	case p != "" && !strings.Contains(p, "/"):
		return strings.TrimSuffix(RunningClusterPrefix, "/") + "-" + p
	default:
		return RunningClusterPrefix + p
	}
}

// RunningClusterPrefixes returns all prefixes that loads on running clusters have by default.
func RunningClusterPrefixes(apps []application.Application) []string {
	all := []string{RunningClusterPrefix, RunningClusterPrefix + "check-perf/", RunningClusterPrefix + "check-datascale/", RunningClusterPrefix + "check-members/", RunningClusterPrefix + "replay/"}
	for _, a := range apps {
		d := a.Definition()
		if p := runningClusterPrefix(&d); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// usesRunningCluster reports whether the trial uses a running cluster.
func (b *builder) usesRunningCluster() bool {
	return b.layer.hasKey("endpoints") || b.options.RunningCluster != nil
}

// setDefaultPrefix gives a load on a running cluster its default prefix. It also makes the run
// remove the load's keys at the end, unless the user disabled the removal.
func (b *builder) setDefaultPrefix() {
	l := &b.load
	if !b.usesRunningCluster() {
		return
	}
	l.Cleanup.KeepKeys = b.layer.hasKey("cleanup") && !l.Cleanup.Keys
	if b.layer.hasKey("prefix") {
		return
	}
	l.Prefix = RunningClusterPrefix
	if app := application.Find(b.apps, l.Application.Name); app != nil {
		d := app.Definition()
		l.Prefix = runningClusterPrefix(&d)
	}
	if w := l.Watch; w != nil && len(w.Key) > 0 && w.EarlierEvents > 0 { // the watched key is written before the load
		watch := *w
		watch.Key = append([]byte(RunningClusterPrefix), w.Key...)
		l.Watch = &watch
	}
}

// WritesKeys reports whether the load or its preparation writes or deletes keys.
func (l *Load) WritesKeys() bool {
	switch {
	case l.Application.Name != "", l.Arrival == Recorded, l.Preload && l.usesKeySpace():
		return true
	case l.Watch != nil && l.Watch.EarlierEvents > 0:
		return true
	}
	return l.hasKind(func(k kv.Kind) bool { return k.Writes() && k != kv.KeepAlive })
}

// KeysPerOperation returns the maximum number of keys that one operation writes.
func (l *Load) KeysPerOperation() uint64 {
	switch {
	case l.hasKind(isTxn):
		return uint64(max(l.TxnKeys, 1)) // #nosec G115 -- not negative
	case l.hasKind(isSTM) && l.STM != nil:
		return uint64(max(l.STM.KeysPerTxn, 1)) // #nosec G115 -- not negative
	}
	return 1
}

// ClusterWideChanges describes the load's actions that affect the whole cluster, with one phrase
// for each action.
func (l *Load) ClusterWideChanges() (all []string) {
	for _, c := range l.changes() {
		all = append(all, c.text)
	}
	return all
}

// MaintenanceFeatures returns the store features that the changes in ClusterWideChanges need:
// kv.Compaction and kv.Defragmentation.
func (l *Load) MaintenanceFeatures() (all []kv.Feature) {
	for _, c := range l.changes() {
		if !slices.Contains(all, c.feature) {
			all = append(all, c.feature)
		}
	}
	return all
}

// change is an action of a load that affects the whole cluster.
type change struct {
	enabled bool
	feature kv.Feature // the store feature that makes the change
	text    string
}

func (l *Load) changes() []change {
	return slices.DeleteFunc([]change{
		{l.CompactFirst, kv.Compaction, "compacts the history of all keys before the load"},
		{l.Compact.Interval > 0, kv.Compaction, "compacts the history of all keys repeatedly"},
		{l.Cleanup.Compact, kv.Compaction, "compacts the history of all keys at the end"},
		{l.Cleanup.Defragment, kv.Defragmentation, "defragments every member at the end"},
		{l.ClusterWide && l.Application.Compacts, kv.Compaction, "compacts the history of all keys whenever the application does"},
		{l.ClusterWide && l.Arrival == Recorded && l.Application.Name == "", kv.Compaction, "compacts the history of all keys by replaying the recorded compactions"},
	}, func(c change) bool { return !c.enabled })
}

// checkRunning rejects changes that would affect a whole running cluster, unless the scenario
// explicitly allows them. It accepts the flags of a command, because they are explicit enough.
func (b *builder) checkRunning() {
	l := &b.load
	if b.cluster.RunningCluster == nil {
		return
	}
	if l.Application.Name != "" && strings.Trim(l.Prefix, "/") == "" {
		b.failf(b.keyPosition("prefix"), "<prefix> is %q, so the application's keys would be among all other keys in a cluster that is in use; use a longer prefix", l.Prefix)
	}
	if w := l.Watch; w != nil && w.EarlierEvents > 0 && !l.Overwrite && !strings.HasPrefix(string(w.Key), l.Prefix) {
		b.failf(b.keyPosition("watch.key"), "<watch.key> is %q, which is written before the load, but on a running cluster a load writes only keys that begin with its <prefix> %q; use a key with that prefix", w.Key, l.Prefix)
	}
	if l.Application.Compacts && !l.ClusterWide {
		b.adjustmentNotes = append(b.adjustmentNotes, "The application would compact the store's history, which affects all keys in the running cluster, so these compactions are left out (cluster-wide: true allows them).")
	}
	if l.ClusterWide || b.commandCluster != nil {
		return
	}
	for _, option := range []struct {
		key     string
		enabled bool
	}{
		{"compact-first", l.CompactFirst}, {"compact", l.Compact.Interval > 0},
		{"cleanup-compact", l.Cleanup.Compact}, {"cleanup-defragment", l.Cleanup.Defragment},
	} {
		if option.enabled {
			b.failf(b.keyPosition(option.key), "<"+option.key+"> affects all keys in a running cluster, and not only those of this load; allow it with <cluster-wide>: true, or omit it")
			return
		}
	}
}
