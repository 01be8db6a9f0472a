// Package verify checks the responses of a store for violations of its guarantees. It uses the
// history of all operations of a load, and the store's own order of writes.
//
// If responses contain revisions, the check takes O(n log n) time. The responses, ordered by their
// revisions, define one sequence of states. Three conditions must hold: the sequence agrees with
// real time, each read returned the state at its own revision, and each compare-and-set found the
// version that it expected. The sequence includes a write with an unknown outcome only if a
// response shows its value or revision. Such a write may take effect at any time after its start,
// at most once. Deviations that the store's guarantees allow are counted, but are not violations.
// docs/decisions/0024 lists the assumptions.
package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Check checks a history. It reads the history several times. It holds at most about opt.Partition
// operations in memory at a time, and needs about 64 bytes for each.
func Check(in Input, opt Options) (*record.Verification, error) {
	c, err := checkerOf(in, opt)
	if err != nil {
		return nil, err
	}
	return c.check()
}

func checkerOf(in Input, opt Options) (*checker, error) {
	opt.MaxViolations = cmp.Or(opt.MaxViolations, defaultKeep)
	opt.Partition = cmp.Or(opt.Partition, defaultPartition)
	opt.Samples = cmp.Or(opt.Samples, defaultSamples)
	opt.SearchTimeLimit = cmp.Or(opt.SearchTimeLimit, defaultLongest)
	s, err := surveyOf(in)
	if err != nil {
		return nil, err
	}
	c := &checker{
		in: in, opt: opt, survey: s,
		found: findings{guarantees: guaranteeSources(in.Header()), limit: math.MaxUint32}, staleReads: newStalenesses(),
		result: record.Verification{Operations: s.operations - s.nonOperations - s.furtherParts, VerifiedOperations: s.operations - s.nonOperations - s.furtherParts, Indefinite: s.indefinite, Undecided: s.undecided()},
	}
	if until := in.CompleteUntil(); until < math.MaxInt64 {
		err = c.excludeSince(until)
	}
	return c, err
}

// guaranteeSources returns the guarantees of a store with their sources. It adds the guarantee that every
// protocol gives: a response must match its request.
func guaranteeSources(h *history.Header) map[history.Guarantee]string {
	all := map[history.Guarantee]string{history.MatchesRequest: "the store's protocol"}
	maps.Copy(all, h.Guarantees)
	return all
}

// excludeSince excludes findings about operations that ended at or after the given time.
func (c *checker) excludeSince(until int64) error {
	judged := uint32(0)
	c.result.VerifiedOperations = 0
	err := c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			if ops[i].Done < until {
				if judged++; !isAuxiliary(&ops[i]) && !ops[i].ContinuesPrevious {
					c.result.VerifiedOperations++
				}
			}
		}
		return nil
	})
	c.found.limit = judged
	if left := c.survey.operations - uint64(judged); left > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("undecided: %s at the end of an incomplete history, because missing operations may explain the responses", text.Plural(left, "operation")))
	}
	return err
}

func (c *checker) check() (*record.Verification, error) {
	var err error
	switch {
	case c.survey.unordered > 0:
		err = c.checkWithoutRevisions()
	default:
		err = c.checkByRevision()
	}
	if err != nil {
		return nil, err
	}
	if err := c.addWrongResponses(); err != nil {
		return nil, err
	}
	if err := c.explainByDisagreement(); err != nil {
		return nil, err
	}
	if c.result.WrongByKind = c.found.counts; c.result.WrongByKind == nil {
		c.result.WrongByKind = map[string]uint64{}
	}
	c.result.NotGuaranteed = c.found.notGuaranteed
	c.result.Staleness = c.staleReads.list()
	if c.result.Violations, err = c.describeViolations(); err != nil {
		return nil, err
	}
	return &c.result, nil
}

// addWrongResponses adds a finding for each operation whose response was already recognized as wrong
// when it arrived. It ignores watch events, because the checks of watch events report them as
// EventOfWrongKey.
func (c *checker) addWrongResponses() error {
	if c.survey.wrong == 0 {
		return nil
	}
	return c.forEachOperation(func(ord uint32, o *history.Op) {
		if o.Outcome == kv.WrongResponse && o.Kind != kv.Watch && !o.ContinuesPrevious {
			c.found.add(finding{kind: WrongResponse, guarantee: history.MatchesRequest, key: o.Key, operationCount: 1, ords: [3]uint32{ord}})
		}
	})
}

// describeViolations describes the first findings of each kind. It reads the history once more to
// collect the operations of these findings.
func (c *checker) describeViolations() ([]record.Violation, error) {
	kept := c.found.first(c.opt.MaxViolations)
	want := map[uint32]history.Op{}
	for i := range kept {
		for _, ord := range kept[i].ords[:kept[i].operationCount] {
			want[ord] = history.Op{}
		}
	}
	if len(want) == 0 {
		return nil, nil
	}
	ord := uint32(0)
	err := c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			if _, ok := want[ord]; ok {
				want[ord] = ops[i]
			}
			ord++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	countsWrites := c.in.Header().VersionsCountWrites
	var out []record.Violation
	for i := range kept {
		f := &kept[i]
		v := record.Violation{Kind: f.kind, Guarantee: string(f.guarantee), Source: c.found.guarantees[f.guarantee]}
		if !slices.Contains(keyless, f.kind) {
			v.Key = new(f.key)
		}
		ords := slices.Clone(f.ords[:f.operationCount])
		slices.SortStableFunc(ords, func(a, b uint32) int {
			x, y := want[a], want[b]
			return cmp.Compare(x.Invoked, y.Invoked)
		})
		for _, ord := range ords {
			o := want[ord]
			sentence, label := describe(&o, countsWrites)
			v.History = append(v.History, sentence)
			v.Operations = append(v.Operations, record.ShownOperation{
				Client: o.Session, Watcher: o.Kind == kv.Watch, Member: record.ID(o.Member), From: o.Invoked, To: o.Done, Description: label, Wrong: ord == f.wrong(),
			})
		}
		wrong := want[f.wrong()]
		v.Explanation = f.explanation(&wrong, countsWrites)
		out = append(out, v)
	}
	return out, nil
}
