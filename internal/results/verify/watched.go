package verify

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkWatchEvents compares the watch events of a key with the versions of the key.
func (k *keyChecker) checkWatchEvents() {
	if len(k.watchers.all) == 0 {
		return
	}
	slices.SortFunc(k.watchEvents, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.watcher(), b.watcher()), cmp.Compare(a.revision, b.revision), cmp.Compare(a.ord, b.ord))
	})
	for i := range k.watchEvents {
		e := &k.watchEvents[i]
		k.checkPreviousVersion(e)
		switch {
		case i > 0 && k.watchEvents[i-1].revision == e.revision && k.watchEvents[i-1].watcher() == e.watcher():
			k.add(finding{kind: DuplicateEvent, guarantee: history.WatchOnce, operationCount: 2, ords: [3]uint32{k.watchEvents[i-1].ord, e.ord}, revision: e.revision})
		case e.containsAny(isLate):
			k.add(finding{kind: ReorderedEvent, guarantee: history.WatchOrder, operationCount: 2, ords: [3]uint32{e.afterRevision(), e.ord}, revision: e.revision})
		case e.containsAny(isSplit):
			k.add(finding{kind: SplitEvent, guarantee: history.WatchFullRevisions, operationCount: 2, ords: [3]uint32{e.afterRevision(), e.ord}, revision: e.revision})
		}
	}
	k.watchers.forKey(k.key, k.findMissedVersions)
}

// checkPreviousVersion checks the previous version that a watch event contains.
func (k *keyChecker) checkPreviousVersion(e *entry) {
	if e.versionRevision == 0 {
		return
	}
	i := k.latestAtRevision(e.revision - 1)
	if i < 0 || k.versions[i].rev <= e.versionRevision && e.versionRevision < e.revision {
		return
	}
	v := &k.versions[i]
	k.add(finding{kind: WrongPreviousValue, guarantee: history.WatchAccurate, operationCount: 2, ords: [3]uint32{v.ord, e.ord}, revision: e.revision, state: v.state()})
}

// findMissedVersions finds versions that a watcher did not receive, although it received later
// versions or a progress notification.
func (k *keyChecker) findMissedVersions(place uint32) {
	w := &k.watchers.all[place]
	until, by := w.completeUntil()
	at := func(e entry, of int64) int {
		return cmp.Or(cmp.Compare(e.watcher(), place), cmp.Compare(e.revision, of))
	}
	next, _ := slices.BinarySearchFunc(k.watchEvents, w.firstRevision, at)
	for i := k.latestAtRevision(w.firstRevision-1) + 1; i < len(k.versions) && k.versions[i].rev <= until; i++ {
		v := &k.versions[i]
		for next < len(k.watchEvents) && at(k.watchEvents[next], v.rev) < 0 {
			next++
		}
		known := next < len(k.watchEvents) && k.watchEvents[next].watcher() == place
		if known && k.watchEvents[next].revision == v.rev || v.done < 0 && !v.wasRead || w.isUnsubscribed(v.rev) {
			continue
		}
		guarantee := history.WatchComplete
		if w.newestOnly { // such a watcher may miss a version if a later version exists; it may miss a deletion if the previous event was also a deletion
			gone := !v.exists() && next > 0 && k.watchEvents[next-1].watcher() == place && k.watchEvents[next-1].value == history.Absent
			if known || gone || i+1 < len(k.versions) && k.versions[i+1].rev <= until {
				continue
			}
			guarantee = history.WatchProgress
		}
		f := finding{kind: MissingEvent, guarantee: guarantee, operationCount: 2, ords: [3]uint32{v.ord, by}, revision: v.rev}
		if known {
			f.ords[1] = k.watchEvents[next].ord
		}
		k.add(f)
	}
}
