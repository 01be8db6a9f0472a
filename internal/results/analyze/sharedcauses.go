package analyze

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// SharedCause is a cause and the trials that it limited.
type SharedCause struct {
	// Cause is that of the trial which is furthest beyond its limit, whose label
	// is Furthest; of a cause without a limit, of the first.
	Cause
	Furthest string
	// Trials are their labels, the repeats of one together, and Count is how many
	// trials they are.
	Trials []string
	Count  int
	// Same says that the sentence is the same of all of them.
	Same bool
	// More is how many more findings of the kind Furthest has.
	More int
}

// TrialCauses are a trial's, and how many more findings of each one's kind it
// has.
type TrialCauses struct {
	Trial  *record.Trial
	Causes []Cause
	More   []int
}

// LimitsOfTrials returns what limited trials, as Limits.Bounds has it of each.
func LimitsOfTrials(trials []*record.Trial) []SharedCause {
	all := make([]TrialCauses, 0, len(trials))
	for _, t := range trials {
		l := WhatLimited(t)
		causes, more := l.Bounds()
		all = append(all, TrialCauses{Trial: t, Causes: causes, More: more})
	}
	return Shared(all)
}

// Shared puts the trials together that the same kind of cause limited, in the
// order in which they first come: what holds for ten trials is said once.
func Shared(all []TrialCauses) (out []SharedCause) {
	var whose [][]*record.Trial
	for _, of := range all {
		for k, c := range of.Causes {
			more := 0
			if k < len(of.More) {
				more = of.More[k]
			}
			i := slices.IndexFunc(out, func(s SharedCause) bool { return s.What == c.What })
			if i < 0 {
				out = append(out, SharedCause{Cause: c, Furthest: Label(of.Trial), Same: true, More: more})
				whose = append(whose, []*record.Trial{of.Trial})
				continue
			}
			s := &out[i]
			whose[i], s.Same = AppendNew(whose[i], of.Trial), s.Same && s.Text == c.Text
			if c.Limit > 0 && s.Limit > 0 && c.excess() > s.excess() {
				s.Cause, s.Furthest, s.More = c, Label(of.Trial), more
			}
		}
	}
	for i := range out {
		out[i].Trials, out[i].Count = labelsOf(whose[i]), len(whose[i])
	}
	return out
}

// labelsOf names trials, in the order in which they first come: one by its Label,
// several repeats of one by how many they are.
func labelsOf(trials []*record.Trial) (all []string) {
	repeats := map[string]int{}
	for _, t := range trials {
		repeats[t.Name]++
	}
	for _, t := range trials {
		switch n := repeats[t.Name]; {
		case n == 1:
			all = append(all, Label(t))
		case n > 1:
			all = append(all, fmt.Sprintf("%s (%d repeats)", t.Name, n))
		}
		repeats[t.Name] = 0
	}
	return all
}
