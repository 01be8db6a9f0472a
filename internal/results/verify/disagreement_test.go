package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// withoutAnEntry changes the history of a correct store as if member 3 had skipped entries,
// starting with the entry at the given revision. It lowers all later revisions of member 3 by the
// parameter `skipped`.
func withoutAnEntry(m *memory, revision, skipped int64) {
	for i := range m.ops {
		o := &m.ops[i]
		if o.Member != 3 {
			continue
		}
		for _, r := range []*int64{&o.Revision, &o.ModRevision, &o.Expected} {
			if *r >= revision {
				*r -= skipped
			}
		}
	}
}

// nameMembers numbers the members from 1, because 0 means an unknown member.
func nameMembers(m *memory) {
	for i := range m.ops {
		m.ops[i].Member++
	}
}

// TestDisagreementIsTheRootCause simulates a member that skipped entries. The check must find
// exactly one disagreement, with the right member and revision, and must attribute all other
// violations to it.
func TestDisagreementIsTheRootCause(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed := range uint64(60) {
		m, _ := simulated(seed, 3000, noLie, 0)
		nameMembers(m)
		r := rand.New(rand.NewPCG(seed, 5))
		last := int64(simBase)
		for i := range m.ops {
			last = max(last, m.ops[i].Revision)
		}
		revision, skipped := simBase+1+r.Int64N((last-simBase)*2/3), 1+r.Int64N(3)
		withoutAnEntry(m, revision, skipped)
		got, err := Check(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.WrongByKind) != 1 || got.WrongByKind[MembersDisagree] != 1 || len(got.Consequences) == 0 {
			t.Errorf("seed %d: found %v with the consequences %v, want one disagreement of members\n%s", seed, got.WrongByKind, got.Consequences, story(&got.Violations[len(got.Violations)-1]))
			continue
		}
		v := got.Violations[0]
		if v.Kind != MembersDisagree || !strings.Contains(story(&v), "the revisions of member 3 are "+fmt.Sprint(skipped)+" lower") {
			t.Errorf("seed %d: the first violation is %s: %s", seed, v.Kind, story(&v))
		}
		var from, agreed int64
		why := v.Explanation
		if _, err := fmt.Sscanf(why, "Members disagree starting at revision %d:", &from); err != nil || from < revision {
			t.Errorf("seed %d: the explanation is %q, but the entry was skipped at revision %d", seed, why, revision)
		}
		if i := strings.Index(why, "last agreed on revision "); i >= 0 {
			if _, err := fmt.Sscanf(why[i:], "last agreed on revision %d.", &agreed); err != nil || agreed >= revision {
				t.Errorf("seed %d: the explanation is %q, but the entry was skipped at revision %d", seed, why, revision)
			}
		}
	}
}

// TestOtherFaultsAreNoDisagreement checks that other faults of a store are not reported as a
// disagreement between members.
func TestOtherFaultsAreNoDisagreement(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, lies := range lieKinds {
		for seed := range uint64(15) {
			m, _ := simulated(seed, 3000, lies, 0.02)
			nameMembers(m)
			got, err := Check(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.WrongByKind[MembersDisagree] > 0 || len(got.Consequences) > 0 {
				t.Errorf("%s, seed %d: found %v with the consequences %v, want no disagreement of members", lies, seed, got.WrongByKind, got.Consequences)
			}
		}
	}
}

// TestTwoMembersDisagree checks that the text for a disagreement between two members contains both
// members.
func TestTwoMembersDisagree(t *testing.T) {
	m, _ := simulated(3, 3000, noLie, 0)
	for i := range m.ops {
		m.ops[i].Member = 1 + 2*(m.ops[i].Member%2)
	}
	withoutAnEntry(m, simBase+100, 1)
	got, found := checked(t, m, Options{})
	if got.WrongByKind[MembersDisagree] != 1 {
		t.Fatalf("found %v", got.WrongByKind)
	}
	if text := story(&got.Violations[0]); !strings.Contains(text, "member 1 reports revision") || !strings.Contains(text, "member 3 reports revision") {
		t.Error(text)
	}
	at := slices.IndexFunc(found, func(f finding) bool { return f.kind == MembersDisagree })
	for _, ord := range found[at].ords[:found[at].operationCount] {
		if o := &m.ops[ord]; o.Member == 0 || o.Written == history.Absent && o.Read == history.Absent {
			t.Errorf("the operation %+v does not show the version of the key", *o)
		}
	}
}
