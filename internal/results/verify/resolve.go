package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// resolveShownVersions finds the origin of each version in shownVersions: data from before the
// history, a write with an unknown outcome, or no known write.
func (k *keyChecker) resolveShownVersions() {
	slices.SortFunc(k.shownVersions, func(a, b shownVersion) int {
		return cmp.Or(cmp.Compare(a.rev, b.rev), cmp.Compare(a.value, b.value), cmp.Compare(a.ord, b.ord))
	})
	k.fillWriters()
	var unknown []shownVersion // versions whose values no response contains
	for i := 0; i < len(k.shownVersions); {
		m, shown := k.shownVersions[i], false
		for ; i < len(k.shownVersions) && k.shownVersions[i].rev == m.rev; i++ {
			shown = shown || !k.shownVersions[i].cas
			if other := &k.shownVersions[i]; other.value != m.value && other.value != history.UnknownValue {
				k.add(finding{kind: TwoValuesAtRevision, guarantee: history.Snapshot, operationCount: 2, ords: [3]uint32{m.ord, other.ord}, revision: m.rev})
			}
		}
		if m.rev > k.base && m.value == history.UnknownValue {
			m.cas = !shown
			unknown = append(unknown, m)
			continue
		}
		v := versionFromMark(&m) // suitable for a version from before the history
		if m.rev > k.base {
			v = k.versionWithWriter(&m)
		}
		v.wasRead = shown
		k.versions = append(k.versions, v)
	}
	k.assignIndefiniteWrites(unknown)
}

func (k *keyChecker) fillWriters() {
	for _, list := range [][]entry{k.indefiniteWrites, k.writes, k.refusedWrites} {
		for i := range list {
			if e := &list[i]; !e.containsAny(isDelete) {
				k.writers = append(k.writers, writer{value: e.value, e: e})
			}
		}
	}
	slices.SortStableFunc(k.writers, func(a, b writer) int { return cmp.Compare(a.value, b.value) })
}

// versionFromMark returns the version that a response showed, without data about the write.
func versionFromMark(m *shownVersion) version {
	return version{rev: m.rev, value: m.value, done: -1, expected: history.UnknownRevision, ord: m.ord, wasRead: !m.cas}
}

// versionWithWriter returns the version that a response showed, with data about the write. If a
// write with an unknown outcome wrote the version, versionWithWriter treats that write as executed.
// It adds a finding if no write can have written the version at this revision.
func (k *keyChecker) versionWithWriter(m *shownVersion) version {
	v := versionFromMark(m)
	if m.value == history.Absent && k.deletes.takeLast(m.rev) { // a watch event reported the delete
		k.resolved++
		return v
	}
	i := sort.Search(len(k.writers), func(i int) bool { return k.writers[i].value >= m.value })
	if i == len(k.writers) || k.writers[i].value != m.value {
		k.add(finding{kind: UnwrittenValue, guarantee: history.AtMostOnce, operationCount: 1, ords: [3]uint32{m.ord}, revision: m.rev})
		return v
	}
	w := &k.writers[i]
	for j := i; j < len(k.writers) && k.writers[j].value == m.value; j++ {
		if x := &k.writers[j]; x.e.role == indefinite && !x.used {
			w = x
			break
		}
	}
	f := finding{operationCount: 2, guarantee: history.AtMostOnce, ords: [3]uint32{w.e.ord, m.ord}, revision: m.rev}
	switch {
	case w.e.role == notExecuted:
		f.kind = RefusedWriteExecuted
	case w.e.role == wrote || w.used:
		f.kind = WriteAppliedTwice
	case m.rev <= w.e.lo:
		f.kind, f.guarantee = ReorderedWrite, history.RevisionOrder
		f.state = fmt.Sprintf("The write took effect at revision %d, but the store had acknowledged revision %d before the write began. A later write must have a higher revision.", m.rev, w.e.lo)
	}
	if f.kind != "" {
		k.add(f)
	}
	if w.e.role == indefinite && !w.used {
		w.used = true
		w.e.flags |= isResolved
		k.resolved++
		v = versionOf(w.e, m.rev)
		k.txns.resolve(w.e.ord, m.rev)
	}
	return v
}

// assignIndefiniteWrites assigns a write with an unknown outcome to each version whose value no
// response contains. It assigns each write to at most one version, and adds a finding if no write
// remains. If only a successful compare-and-set shows that the version existed,
// assignIndefiniteWrites adds no finding, because the compare-and-set may have wrongly succeeded on
// a different version; the method `replay` checks this.
func (k *keyChecker) assignIndefiniteWrites(unknown []shownVersion) {
	k.puts.fill(k.indefiniteWrites, false)
	for i := range unknown {
		m := &unknown[i]
		explained := k.puts.take(m.rev)
		if explained || !m.cas {
			k.versions = append(k.versions, versionFromMark(m))
		}
		if !explained && !m.cas {
			k.add(finding{kind: UnwrittenValue, guarantee: history.AtMostOnce, operationCount: 1, ords: [3]uint32{m.ord}, revision: m.rev})
		}
	}
}
