package verify

import (
	"cmp"
	"runtime"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// check checks the entries of one key.
func (k *keyChecker) check(key uint64) {
	k.key = key
	k.split()
	k.collectVersions()
	k.replay()
	for i := range k.readsWithoutRevision {
		k.checkReadWithoutRevision(&k.readsWithoutRevision[i])
	}
	for i := range k.sessionEnds {
		k.checkSessionKey(&k.sessionEnds[i])
	}
	k.checkWatchEvents()
}

func (k *keyChecker) split() {
	k.writes, k.reads, k.readsWithoutRevision, k.indefiniteWrites, k.refusedWrites = k.writes[:0], k.reads[:0], k.readsWithoutRevision[:0], k.indefiniteWrites[:0], k.refusedWrites[:0]
	k.watchEvents, k.sessionEnds = k.watchEvents[:0], k.sessionEnds[:0]
	for i := range k.entries {
		to := &k.refusedWrites
		switch e := &k.entries[i]; {
		case e.role == wrote:
			to = &k.writes
		case e.role == indefinite:
			to = &k.indefiniteWrites
		case e.role == read && e.revision > 0:
			to = &k.reads
		case e.role == read:
			to = &k.readsWithoutRevision
		case e.role == watchEvent:
			to = &k.watchEvents
		case e.role == sessionEnd:
			to = &k.sessionEnds
		}
		*to = append(*to, k.entries[i])
	}
	byRevision := func(a, b entry) int { return cmp.Or(cmp.Compare(a.revision, b.revision), cmp.Compare(a.ord, b.ord)) }
	slices.SortFunc(k.writes, byRevision)
	slices.SortFunc(k.reads, byRevision)
}

// collectVersions collects the key's versions from acknowledged writes and from the responses that
// contain a version.
func (k *keyChecker) collectVersions() {
	k.versions, k.shownVersions, k.writers = k.versions[:0], k.shownVersions[:0], k.writers[:0]
	for i := range k.writes {
		k.versions = append(k.versions, versionOf(&k.writes[i], k.writes[i].revision))
	}
	for _, list := range [][]entry{k.reads, k.readsWithoutRevision} {
		for i := range list {
			if e := &list[i]; e.containsAny(isKnown) && e.versionRevision > 0 {
				k.processShownVersion(shownVersion{rev: e.versionRevision, value: e.value, ord: e.ord})
			}
		}
	}
	for i := range k.writes {
		if e := &k.writes[i]; e.containsAny(isCAS) && e.versionRevision > 0 && !k.comparesCounts {
			k.processShownVersion(shownVersion{rev: e.versionRevision, value: history.UnknownValue, ord: e.ord, cas: true})
		}
	}
	// A compare-and-set with an unknown outcome may show which version existed before the history.
	for i := range k.indefiniteWrites {
		if e := &k.indefiniteWrites[i]; e.containsAny(isCAS) && e.versionRevision > 0 && e.versionRevision <= k.base && !k.comparesCounts {
			k.processShownVersion(shownVersion{rev: e.versionRevision, value: history.UnknownValue, ord: e.ord, cas: true})
		}
	}
	for i := range k.watchEvents {
		e := &k.watchEvents[i]
		if k.processShownVersion(shownVersion{rev: e.revision, value: e.value, ord: e.ord}); e.versionRevision > 0 {
			k.processShownVersion(shownVersion{rev: e.versionRevision, value: e.previousValue(), ord: e.ord})
		}
	}
	k.deletes.fill(k.indefiniteWrites, true)
	if len(k.shownVersions) > 0 {
		k.resolveShownVersions()
		slices.SortStableFunc(k.versions, func(a, b version) int { return cmp.Compare(a.rev, b.rev) })
	}
	k.puts.fill(k.indefiniteWrites, false)
}

// processShownVersion processes a version that a response contains. If an acknowledged write has
// the version's revision, processShownVersion compares the values. Otherwise, it keeps the version
// in shownVersions, so that resolveShownVersions can find its write later.
func (k *keyChecker) processShownVersion(m shownVersion) {
	i := sort.Search(len(k.writes), func(i int) bool { return k.writes[i].revision >= m.rev })
	if i == len(k.writes) || k.writes[i].revision != m.rev {
		k.shownVersions = append(k.shownVersions, m)
		return
	}
	if !m.cas {
		k.versions[i].wasRead = true
	}
	for j := i; j < len(k.writes) && k.writes[j].revision == m.rev; j++ {
		if w := &k.writes[j]; w.value == m.value || m.value == history.UnknownValue && w.value != history.Absent {
			return
		}
	}
	if m.cas {
		return // the version at this revision is a deletion; the method `replay` reports the compare-and-set
	}
	k.add(finding{kind: TwoValuesAtRevision, guarantee: history.Snapshot, operationCount: 2, ords: [3]uint32{k.writes[i].ord, m.ord}, revision: m.rev})
}

// keys checks all keys of a pass on all CPUs, and adds the results of the pass to the result of the
// check.
func (c *checker) keys(p *pass) {
	workers := runtime.GOMAXPROCS(0)
	out := make(chan *keyChecker, workers)
	for w := range workers {
		go func() {
			k := &keyChecker{
				base: c.survey.earlierRevision, comparesCounts: c.in.Header().VersionsCountWrites, baseKnown: c.in.Header().BaseRevision > 0,
				found: &c.found, txns: p.txns, staleReads: newStalenesses(), members: p.members, watchers: p.watchers,
			}
			for i := w; i < len(p.table.names); i += workers {
				k.entries = p.table.entries(i, k.entries[:0])
				if p.byTime {
					k.checkByTime(p.table.names[i])
				} else {
					k.check(p.table.names[i])
				}
			}
			out <- k
		}()
	}
	for range workers {
		if k := <-out; !p.rechecking { // otherwise, an earlier pass has already counted these keys
			c.result.Resolved += k.resolved
			c.staleReads.add(k.staleReads)
		}
	}
	if p.first && len(p.watchers.all) > 0 {
		c.result.Watches = &p.watchers.total
	}
	if p.first && len(p.leases.byNumber) > 0 {
		c.result.Leases = p.leases.total()
	}
	if p.first && len(p.locks.all) > 0 {
		c.result.Locks = p.locks.check(&c.found, &p.leases)
	}
	if !p.rechecking {
		c.result.Keys += uint64(len(p.table.names))
	}
}
