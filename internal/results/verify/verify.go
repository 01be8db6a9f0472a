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
	"github.com/quorumbench/quorumbench/internal/text"
)

// Check checks a history. It reads the history several times. It holds at most about opt.Partition
// operations in memory at a time, and needs about 64 bytes for each.
func Check(in Input, opt Options) (*Result, error) {
	c, err := checkerOf(in, opt)
	if err != nil {
		return nil, err
	}
	return c.check()
}

func checkerOf(in Input, opt Options) (*checker, error) {
	opt.Keep = cmp.Or(opt.Keep, defaultKeep)
	opt.Partition = cmp.Or(opt.Partition, defaultPartition)
	opt.Samples = cmp.Or(opt.Samples, defaultSamples)
	opt.Longest = cmp.Or(opt.Longest, defaultLongest)
	s, err := surveyOf(in)
	if err != nil {
		return nil, err
	}
	c := &checker{
		in: in, opt: opt, survey: s,
		found: findings{promises: promisesOf(in.Header()), limit: math.MaxUint32}, old: newStalenesses(),
		result: Result{Operations: s.operations - s.aside - s.parts, Judged: s.operations - s.aside - s.parts, Indefinite: s.indefinite, Undecided: s.undecided()},
	}
	if p, ok := in.(PartialInput); ok && p.Until() < math.MaxInt64 {
		err = c.restrict(p.Until())
	}
	return c, err
}

// promisesOf returns the guarantees of a store with their sources. It adds the guarantee that every
// protocol gives: a response must match its request.
func promisesOf(h *history.Header) map[history.Promise]string {
	all := map[history.Promise]string{history.Fitting: "the store's protocol"}
	maps.Copy(all, h.Promises)
	return all
}

// restrict excludes findings about operations that ended at or after the given time.
func (c *checker) restrict(until int64) error {
	judged := uint32(0)
	c.result.Judged = 0
	err := c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			if ops[i].Done < until {
				if judged++; !isAuxiliary(&ops[i]) && !ops[i].Joined {
					c.result.Judged++
				}
			}
		}
		return nil
	})
	c.found.limit = judged
	if left := c.survey.operations - uint64(judged); left > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("undecided: %s at the end of an incomplete history, because missing operations may explain their responses", text.Plural(left, "operation")))
	}
	return err
}

func (c *checker) check() (*Result, error) {
	var err error
	switch {
	case c.survey.unordered > 0:
		err = c.withoutRevisions()
	default:
		err = c.ordered()
	}
	if err != nil {
		return nil, err
	}
	if err := c.wrongAnswers(); err != nil {
		return nil, err
	}
	if err := c.explainByDisagreement(); err != nil {
		return nil, err
	}
	c.result.Counts, c.result.NotPromised = c.found.counts, c.found.notPromised
	c.result.Staleness = c.old.list()
	if c.result.Violations, err = c.explained(); err != nil {
		return nil, err
	}
	return &c.result, nil
}

// wrongAnswers adds a finding for each operation whose response was already recognized as wrong
// when it arrived. It ignores watch events, because the checks of watch events report them as
// OtherKey.
func (c *checker) wrongAnswers() error {
	if c.survey.wrong == 0 {
		return nil
	}
	return c.forEachOperation(func(ord uint32, o *history.Op) {
		if o.Outcome == kv.WrongAnswer && o.Kind != kv.Watch && !o.Joined {
			c.found.add(finding{kind: WrongResponse, promise: history.Fitting, key: o.Key, n: 1, ords: [3]uint32{ord}})
		}
	})
}

// explained describes the first findings of each kind. It reads the history once more to collect
// the operations of these findings.
func (c *checker) explained() ([]Violation, error) {
	kept := c.found.first(c.opt.Keep)
	want := map[uint32]history.Op{}
	for i := range kept {
		for _, ord := range kept[i].ords[:kept[i].n] {
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
	var out []Violation
	for i := range kept {
		f := &kept[i]
		v := Violation{Kind: f.kind, Promise: f.promise, Source: c.found.promises[f.promise], Key: f.key}
		ords := slices.Clone(f.ords[:f.n])
		slices.SortStableFunc(ords, func(a, b uint32) int {
			x, y := want[a], want[b]
			return cmp.Compare(x.Invoked, y.Invoked)
		})
		for k, ord := range ords {
			v.Ops = append(v.Ops, want[ord])
			if ord == f.wrong() {
				v.Wrong = k
			}
		}
		v.Text = f.text(v.Ops, &v.Ops[v.Wrong], c.in.Header().Counted)
		out = append(out, v)
	}
	return out, nil
}
