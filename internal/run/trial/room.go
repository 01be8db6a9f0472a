package trial

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// noSpaceAlarm is the alarm that a member raises when it is out of space.
const noSpaceAlarm = "NOSPACE"

// checkSpace returns an error if a running cluster has no space for the load. This is the case if a
// member has raised the alarm, or if the load writes more bytes than a member has left.
func (t *Trial) checkSpace(m *members) error {
	l := &t.Spec.Load
	if !t.Cluster.attached() || !l.WritesKeys() {
		return nil
	}
	status := m.status()
	for i := range status.Members {
		one := &status.Members[i]
		if slices.Contains(one.Alarms, noSpaceAlarm) {
			return fmt.Errorf("the member at %s has raised the alarm %s, so the cluster rejects every write; %s", one.Endpoint, noSpaceAlarm, howToRecover)
		}
		if need := minWrittenBytes(l); l.Compact.Interval == 0 && one.QuotaRemaining > 0 && need > one.QuotaRemaining {
			return fmt.Errorf("the load writes at least %s, but the member at %s has space for only %s before its quota stops all writes to the cluster; write fewer or smaller values, or raise the quota",
				text.Bytes(uint64(need)), one.Endpoint, text.Bytes(uint64(one.QuotaRemaining))) // #nosec G115 -- not negative
		}
	}
	return nil
}

const howToRecover = "make space (compact the history and defragment the members, or raise the quota) and then disarm the alarm"

// compactionDelay is the interval at which Kubernetes compacts etcd's history. If a load writes for
// longer than this interval, a compaction may free some of the space.
const compactionDelay = 5 * time.Minute

// minWrittenBytes returns the minimum number of bytes of keys and values that a load with the given
// settings writes. For a closed loop that ends after a duration, it counts only the preload.
func minWrittenBytes(l *scenario.Load) int64 {
	each := int64(len(l.Prefix) + l.KeySize + l.ValueSize)
	var bytes int64
	if l.Preload {
		bytes = int64(min(l.KeySpace, 1<<40)) * each // #nosec G115 -- bounded
	}
	var writes, all float64
	for _, o := range l.Mix {
		all += float64(o.Weight)
		if o.Kind.HasValue() || o.Kind == kv.Txn {
			writes += float64(o.Weight)
		}
	}
	var operations float64
	switch {
	case l.Total > 0:
		operations = float64(l.Total)
	case l.Arrival == scenario.Constant || l.Arrival == scenario.Poisson:
		operations = l.Rate.PerSecond * min(l.Duration, compactionDelay).Seconds()
	}
	if all > 0 {
		bytes += int64(min(operations*writes/all*float64(l.KeysPerOperation())*float64(each), 1<<60))
	}
	return bytes
}

// outOfSpace returns an error if the load was stopped because the store was out of space. Otherwise
// it returns nil.
func (w *monitor) outOfSpace() error {
	if !w.full.Load() {
		return nil
	}
	return errors.New("the store ran out of space, so the load was stopped; the cluster rejects every write until you " + howToRecover)
}
