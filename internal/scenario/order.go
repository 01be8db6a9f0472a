package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Reseed sets the scenario's seed and sorts the trials. The seed of every trial and the random
// order are derived from the scenario's seed.
//
// Repeats are interleaved: each round has one repeat of every trial. Slow changes in the speed of a
// machine then affect all trials in the same way. A trial whose rate depends on another trial comes
// after that trial in the round. The position of a trial depends only on the seed and on the names
// of the trials.
func (s *Scenario) Reseed(seed uint64) {
	var firstRepeats []Trial
	for _, t := range s.Trials {
		if t.Repeat <= 1 {
			t.Load.Seed = deriveSeed(seed, "load", 0, t.seedName())
			firstRepeats = append(firstRepeats, t)
		}
	}
	slices.SortFunc(firstRepeats, func(a, b Trial) int { return cmp.Compare(a.Number, b.Number) })
	s.Seed, s.Trials = seed, nil
	for repeat := 1; ; repeat++ {
		round := trialsOfRepeat(firstRepeats, repeat)
		if len(round) == 0 {
			return
		}
		if !s.Ordered {
			shuffle(round, seed)
			round = groupByCluster(round)
		}
		s.Trials = append(s.Trials, orderBySource(round)...)
	}
}

// Round returns the trials of round n (starting with 1) of a scenario that is repeated until its
// figures are precise. Odd rounds have the order of the first round, and even rounds the reverse
// order. A trial whose rate depends on another trial always comes after that trial.
func (s *Scenario) Round(n int) []Trial {
	round := slices.Clone(s.Trials)
	if n%2 == 0 {
		slices.Reverse(round)
		round = orderBySource(round)
	}
	for i := range round {
		round[i].Repeat = n
	}
	return round
}

// groupByCluster groups the trials of a round by cluster. The groups are in the order of their
// first trial, and the trials in a group keep their random order. A cluster is then started only
// once per round.
func groupByCluster(round []Trial) []Trial {
	ranks := make(map[string]int, len(round))
	for _, t := range round {
		if _, known := ranks[t.Cluster.Key]; !known {
			ranks[t.Cluster.Key] = len(ranks)
		}
	}
	slices.SortStableFunc(round, func(a, b Trial) int { return cmp.Compare(ranks[a.Cluster.Key], ranks[b.Cluster.Key]) })
	return round
}

func trialsOfRepeat(firstRepeats []Trial, repeat int) []Trial {
	var round []Trial
	for _, t := range firstRepeats {
		if t.Repeats >= repeat || t.Repeats == 0 && repeat == 1 {
			t.Repeat = repeat
			round = append(round, t)
		}
	}
	return round
}

// shuffle sorts trials by a hash. Adding or removing a trial then does not change the order of the
// other trials.
func shuffle(round []Trial, seed uint64) {
	ranks := make(map[string]uint64, len(round))
	for _, t := range round {
		ranks[t.Name] = deriveSeed(seed, "order", t.Repeat, t.Name)
	}
	slices.SortStableFunc(round, func(a, b Trial) int { return cmp.Compare(ranks[a.Name], ranks[b.Name]) })
}

// orderBySource changes the order of a round so that rates are known in time. If a trial comes
// before the trial on which its rate depends, orderBySource moves it to the position directly after
// that trial.
func orderBySource(round []Trial) []Trial {
	pending := make(map[string]bool, len(round))
	for _, t := range round {
		pending[t.Name] = true
	}
	waiting := make(map[string][]Trial)
	out := make([]Trial, 0, len(round))
	var emit func(Trial)
	emit = func(t Trial) {
		if pending[t.Load.Rate.SourceTrial] {
			waiting[t.Load.Rate.SourceTrial] = append(waiting[t.Load.Rate.SourceTrial], t)
			return
		}
		out = append(out, t)
		delete(pending, t.Name)
		for _, w := range waiting[t.Name] {
			emit(w)
		}
	}
	for _, t := range round {
		emit(t)
	}
	return out
}

// deriveSeed returns a number that depends on the seed and the other arguments. The number has only
// 63 bits, so that every flag and file that takes a seed accepts it.
func deriveSeed(seed uint64, purpose string, repeat int, name string) uint64 {
	text := binary.BigEndian.AppendUint64([]byte(purpose), seed)
	text = binary.BigEndian.AppendUint64(text, uint64(repeat))
	sum := sha256.Sum256(append(text, name...))
	return binary.BigEndian.Uint64(sum[:8]) >> 1
}

// checkRateSources checks each rate that depends on another trial. That trial must exist, and must
// run before the rate is needed.
func (p *fileParser) checkRateSources(trials []*builder, ordered bool) {
	index := make(map[string]int, len(trials))
	var names []string
	for i := range trials {
		index[trials[i].trial.Name] = i
		names = append(names, trials[i].trial.Name)
	}
	for i := range trials {
		sourceName := &trials[i].trial.Load.Rate.SourceTrial
		if _, ok := index[*sourceName]; !ok && p.aliases[*sourceName] != "" {
			*sourceName = p.aliases[*sourceName]
		}
	}
	for i := range trials {
		sourceName := trials[i].trial.Load.Rate.SourceTrial
		if sourceName == "" {
			continue
		}
		at := trials[i].keyPosition("rate")
		source, ok := index[sourceName]
		switch {
		case !ok:
			p.failf(at, "the rate depends on the trial %q, which does not exist%s", sourceName, suggestTrial(sourceName, names))
		case source == i:
			p.failf(at, "the rate of the trial %s depends on the trial itself; name another trial", sourceName)
		case startsCycle(trials, index, i):
			p.failf(at, "the rates of the trials %s and %s depend on each other; give one of them a fixed rate", trials[i].trial.Name, sourceName)
		case ordered && source > i:
			p.failf(at, "the rate depends on the trial %s, which runs later because of order: written; move that trial before this one", sourceName)
		}
	}
}

// startsCycle reports whether trial i depends on itself through other trials and is the first trial
// in that cycle. Each cycle is then reported only once.
func startsCycle(trials []*builder, index map[string]int, i int) bool {
	current := i
	for range trials {
		next, ok := index[trials[current].trial.Load.Rate.SourceTrial]
		if !ok {
			return false
		}
		if next <= i {
			return next == i
		}
		current = next
	}
	return false
}

// suggestTrial suggests the names that begin with the given name. If there are none, it suggests a
// similar name.
func suggestTrial(name string, names []string) string {
	var longer []string
	for _, n := range names {
		if strings.HasPrefix(n, name+"-") && len(longer) < 4 {
			longer = append(longer, n)
		}
	}
	if len(longer) > 0 {
		return "; did you mean " + strings.Join(longer, " or ") + "?"
	}
	return suggest(name, names)
}
