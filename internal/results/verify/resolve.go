package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// resolve finds the origin of the version in each mark: data from before the history, a write with
// an unknown outcome, or no known write.
func (k *keyChecker) resolve() {
	slices.SortFunc(k.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.rev, b.rev), cmp.Compare(a.value, b.value), cmp.Compare(a.ord, b.ord))
	})
	k.fillWriters()
	var unknown []mark // marks of versions whose values no response contains
	for i := 0; i < len(k.marks); {
		m, shown := k.marks[i], false
		for ; i < len(k.marks) && k.marks[i].rev == m.rev; i++ {
			shown = shown || !k.marks[i].cas
			if other := &k.marks[i]; other.value != m.value && other.value != history.Unseen {
				k.add(finding{kind: OtherValue, promise: history.Snapshot, n: 2, ords: [3]uint32{m.ord, other.ord}, revision: m.rev})
			}
		}
		if m.rev > k.base && m.value == history.Unseen {
			m.cas = !shown
			unknown = append(unknown, m)
			continue
		}
		v := versionBy(&m) // for a version from before the history
		if m.rev > k.base {
			v = k.author(&m)
		}
		v.seen = shown
		k.versions = append(k.versions, v)
	}
	k.explain(unknown)
}

func (k *keyChecker) fillWriters() {
	for _, list := range [][]entry{k.maybes, k.writes, k.refusals} {
		for i := range list {
			if e := &list[i]; !e.flagged(isDelete) {
				k.writers = append(k.writers, writer{value: e.value, e: e})
			}
		}
	}
	slices.SortStableFunc(k.writers, func(a, b writer) int { return cmp.Compare(a.value, b.value) })
}

// versionBy returns a version about which only the mark is known.
func versionBy(m *mark) version {
	return version{rev: m.rev, value: m.value, done: -1, expected: history.AnyMod, ord: m.ord, seen: !m.cas}
}

// author returns the version of a mark. If a write with an unknown outcome wrote the version,
// author treats that write as executed. It adds a finding if no write can have written the version
// at this revision.
func (k *keyChecker) author(m *mark) version {
	v := versionBy(m)
	if m.value == history.Absent && k.deletes.takeLast(m.rev) { // a watch event reported the delete
		k.resolved++
		return v
	}
	i := sort.Search(len(k.writers), func(i int) bool { return k.writers[i].value >= m.value })
	if i == len(k.writers) || k.writers[i].value != m.value {
		k.add(finding{kind: Invented, promise: history.Once, n: 1, ords: [3]uint32{m.ord}, revision: m.rev})
		return v
	}
	w := &k.writers[i]
	for j := i; j < len(k.writers) && k.writers[j].value == m.value; j++ {
		if x := &k.writers[j]; x.e.role == maybe && !x.used {
			w = x
			break
		}
	}
	f := finding{n: 2, promise: history.Once, ords: [3]uint32{w.e.ord, m.ord}, revision: m.rev}
	switch {
	case w.e.role == refused:
		f.kind = RefusedThere
	case w.e.role == wrote || w.used:
		f.kind = AppliedTwice
	case m.rev <= w.e.lo:
		f.kind, f.promise = Reordered, history.Order
		f.state = fmt.Sprintf("The write took effect at revision %d, but the store had acknowledged revision %d before the write began. A later write must have a higher revision.", m.rev, w.e.lo)
	}
	if f.kind != "" {
		k.add(f)
	}
	if w.e.role == maybe && !w.used {
		w.used = true
		w.e.flags |= isResolved
		k.resolved++
		v = versionOf(w.e, m.rev)
		k.txns.resolve(w.e.ord, m.rev)
	}
	return v
}

// explain assigns a write with an unknown outcome to each version whose value no response contains.
// It assigns each write to at most one version, and adds a finding if no write remains. If only a
// successful compare-and-set shows that the version existed, explain adds no finding, because the
// compare-and-set may have wrongly succeeded on a different version; replay checks this.
func (k *keyChecker) explain(unknown []mark) {
	k.puts.fill(k.maybes, false)
	for i := range unknown {
		m := &unknown[i]
		explained := k.puts.take(m.rev)
		if explained || !m.cas {
			k.versions = append(k.versions, versionBy(m))
		}
		if !explained && !m.cas {
			k.add(finding{kind: Invented, promise: history.Once, n: 1, ords: [3]uint32{m.ord}, revision: m.rev})
		}
	}
}
