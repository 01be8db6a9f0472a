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
	k.list()
	k.replay()
	for i := range k.loose {
		k.looseRead(&k.loose[i])
	}
	for i := range k.endings {
		k.outlived(&k.endings[i])
	}
	k.watched()
}

func (k *keyChecker) split() {
	k.writes, k.reads, k.loose, k.maybes, k.refusals = k.writes[:0], k.reads[:0], k.loose[:0], k.maybes[:0], k.refusals[:0]
	k.events, k.endings = k.events[:0], k.endings[:0]
	for i := range k.entries {
		to := &k.refusals
		switch e := &k.entries[i]; {
		case e.role == wrote:
			to = &k.writes
		case e.role == maybe:
			to = &k.maybes
		case e.role == read && e.at > 0:
			to = &k.reads
		case e.role == read:
			to = &k.loose
		case e.role == notice:
			to = &k.events
		case e.role == ending:
			to = &k.endings
		}
		*to = append(*to, k.entries[i])
	}
	byRevision := func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ord, b.ord)) }
	slices.SortFunc(k.writes, byRevision)
	slices.SortFunc(k.reads, byRevision)
}

// list collects the key's versions from acknowledged writes and from the responses that contain a
// version.
func (k *keyChecker) list() {
	k.versions, k.marks, k.writers = k.versions[:0], k.marks[:0], k.writers[:0]
	for i := range k.writes {
		k.versions = append(k.versions, versionOf(&k.writes[i], k.writes[i].at))
	}
	for _, list := range [][]entry{k.reads, k.loose} {
		for i := range list {
			if e := &list[i]; e.flagged(isKnown) && e.mod > 0 {
				k.witness(mark{rev: e.mod, value: e.value, ord: e.ord})
			}
		}
	}
	for i := range k.writes {
		if e := &k.writes[i]; e.flagged(isCAS) && e.mod > 0 && !k.counted {
			k.witness(mark{rev: e.mod, value: history.Unseen, ord: e.ord, cas: true})
		}
	}
	// A compare-and-set with an unknown outcome may show which version existed before the history.
	for i := range k.maybes {
		if e := &k.maybes[i]; e.flagged(isCAS) && e.mod > 0 && e.mod <= k.base && !k.counted {
			k.witness(mark{rev: e.mod, value: history.Unseen, ord: e.ord, cas: true})
		}
	}
	for i := range k.events {
		e := &k.events[i]
		if k.witness(mark{rev: e.at, value: e.value, ord: e.ord}); e.mod > 0 {
			k.witness(mark{rev: e.mod, value: e.before(), ord: e.ord})
		}
	}
	k.deletes.fill(k.maybes, true)
	if len(k.marks) > 0 {
		k.resolve()
		slices.SortStableFunc(k.versions, func(a, b version) int { return cmp.Compare(a.rev, b.rev) })
	}
	k.puts.fill(k.maybes, false)
}

// witness processes a version that a response contains. If an acknowledged write has the version's
// revision, witness compares the values. Otherwise, it keeps the version in marks, so that resolve
// can find its write later.
func (k *keyChecker) witness(m mark) {
	i := sort.Search(len(k.writes), func(i int) bool { return k.writes[i].at >= m.rev })
	if i == len(k.writes) || k.writes[i].at != m.rev {
		k.marks = append(k.marks, m)
		return
	}
	if !m.cas {
		k.versions[i].seen = true
	}
	for j := i; j < len(k.writes) && k.writes[j].at == m.rev; j++ {
		if w := &k.writes[j]; w.value == m.value || m.value == history.Unseen && w.value != history.Absent {
			return
		}
	}
	if m.cas {
		return // the version at this revision is a deletion; replay reports the compare-and-set
	}
	k.add(finding{kind: OtherValue, promise: history.Snapshot, n: 2, ords: [3]uint32{k.writes[i].ord, m.ord}, revision: m.rev})
}

// keys checks all keys of a pass on all CPUs, and adds the results of the pass to the result of the
// check.
func (c *checker) keys(p *pass) {
	workers := runtime.GOMAXPROCS(0)
	out := make(chan *keyChecker, workers)
	for w := range workers {
		go func() {
			k := &keyChecker{
				base: c.survey.base, counted: c.in.Header().Counted, based: c.in.Header().Base > 0,
				found: &c.found, txns: p.txns, old: newStalenesses(), members: p.members, watchers: p.watchers,
			}
			for i := w; i < len(p.table.names); i += workers {
				k.entries = p.table.entries(i, k.entries[:0])
				if p.inTime {
					k.inTime(p.table.names[i])
				} else {
					k.check(p.table.names[i])
				}
			}
			out <- k
		}()
	}
	for range workers {
		if k := <-out; !p.again { // otherwise, an earlier pass has already counted these keys
			c.result.Resolved += k.resolved
			c.old.add(k.old)
		}
	}
	if p.first && len(p.watchers.all) > 0 {
		c.result.Watches = &p.watchers.total
	}
	if p.first && len(p.leases.of) > 0 {
		c.result.Leases = p.leases.total()
	}
	if p.first && len(p.locks.all) > 0 {
		c.result.Locks = p.locks.check(&c.found, &p.leases)
	}
	if !p.again {
		c.result.Keys += uint64(len(p.table.names))
	}
}
