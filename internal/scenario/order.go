package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Reseed sets the seed, which determines every trial's seed and the random order, and sorts
// the trials into that order.
//
// Repeats are interleaved: every trial's first repeat, then every trial's second, and so
// on, so that slow changes of a machine affect all trials. In each of these rounds a trial
// that takes its rate from another one follows it. A trial's place depends only on the seed
// and the trials' names.
func (s *Scenario) Reseed(seed uint64) {
	var written []Trial
	for _, t := range s.Trials {
		if t.Repeat <= 1 {
			t.Load.Seed = derive(seed, "load", 0, t.seedName())
			written = append(written, t)
		}
	}
	slices.SortFunc(written, func(a, b Trial) int { return cmp.Compare(a.Number, b.Number) })
	s.Seed, s.Trials = seed, nil
	for repeat := 1; ; repeat++ {
		round := pick(written, repeat)
		if len(round) == 0 {
			return
		}
		if !s.Ordered {
			shuffle(round, seed)
			round = byCluster(round)
		}
		s.Trials = append(s.Trials, afterSources(round)...)
	}
}

// Round returns the n-th round, from 1, of a scenario that is repeated Until its figures
// are precise: the trials of the first round, in reverse order in every second round,
// except that a trial follows the one from which it takes its rate.
func (s *Scenario) Round(n int) []Trial {
	round := slices.Clone(s.Trials)
	if n%2 == 0 {
		slices.Reverse(round)
		round = afterSources(round)
	}
	for i := range round {
		round[i].Repeat = n
	}
	return round
}

// byCluster groups the trials by cluster, in the order of each cluster's first trial: a
// cluster is started once per round, and its trials stay in their random order.
func byCluster(round []Trial) []Trial {
	place := make(map[string]int, len(round))
	for _, t := range round {
		if _, known := place[t.Cluster.Key]; !known {
			place[t.Cluster.Key] = len(place)
		}
	}
	slices.SortStableFunc(round, func(a, b Trial) int { return cmp.Compare(place[a.Cluster.Key], place[b.Cluster.Key]) })
	return round
}

func pick(written []Trial, repeat int) []Trial {
	var round []Trial
	for _, t := range written {
		if t.Repeats >= repeat || t.Repeats == 0 && repeat == 1 {
			t.Repeat = repeat
			round = append(round, t)
		}
	}
	return round
}

// shuffle sorts by a hash, so that adding or removing a trial does not change the order of
// the others.
func shuffle(round []Trial, seed uint64) {
	place := make(map[string]uint64, len(round))
	for _, t := range round {
		place[t.Name] = derive(seed, "order", t.Repeat, t.Name)
	}
	slices.SortStableFunc(round, func(a, b Trial) int { return cmp.Compare(place[a.Name], place[b.Name]) })
}

// afterSources moves a trial that precedes the one from which it takes its rate to directly
// after it.
func afterSources(round []Trial) []Trial {
	pending := make(map[string]bool, len(round))
	for _, t := range round {
		pending[t.Name] = true
	}
	waiting := make(map[string][]Trial)
	out := make([]Trial, 0, len(round))
	var emit func(Trial)
	emit = func(t Trial) {
		if pending[t.Load.Rate.Of] {
			waiting[t.Load.Rate.Of] = append(waiting[t.Load.Rate.Of], t)
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

// derive returns a number of 63 bits derived from a seed: 63, so that every flag and file
// that takes a seed accepts it.
func derive(seed uint64, purpose string, repeat int, name string) uint64 {
	text := binary.BigEndian.AppendUint64([]byte(purpose), seed)
	text = binary.BigEndian.AppendUint64(text, uint64(repeat))
	sum := sha256.Sum256(append(text, name...))
	return binary.BigEndian.Uint64(sum[:8]) >> 1
}

// link checks that each rate taken from another trial is known in time.
func (p *fileParser) link(trials []*builder, ordered bool) {
	index := make(map[string]int, len(trials))
	var names []string
	for i := range trials {
		index[trials[i].trial.Name] = i
		names = append(names, trials[i].trial.Name)
	}
	for i := range trials {
		of := &trials[i].trial.Load.Rate.Of
		if _, ok := index[*of]; !ok && p.aliases[*of] != "" {
			*of = p.aliases[*of]
		}
	}
	for i := range trials {
		of := trials[i].trial.Load.Rate.Of
		if of == "" {
			continue
		}
		at := trials[i].place("rate")
		source, ok := index[of]
		switch {
		case !ok:
			p.failf(at, "there is no trial %q to take the rate from%s", of, suggestTrial(of, names))
		case source == i:
			p.failf(at, "the trial %s takes its rate from itself", of)
		case circular(trials, index, i):
			p.failf(at, "the trials %s and %s take their rates from each other in a circle", trials[i].trial.Name, of)
		case ordered && source > i:
			p.failf(at, "the trial %s comes later in the order written, so its throughput is not known yet", of)
		}
	}
}

// circular reports whether trial i depends on itself through others and is the first trial
// of that circle, so that a circle is reported once.
func circular(trials []*builder, index map[string]int, i int) bool {
	at := i
	for range trials {
		next, ok := index[trials[at].trial.Load.Rate.Of]
		if !ok {
			return false
		}
		if next <= i {
			return next == i
		}
		at = next
	}
	return false
}

// suggestTrial suggests names that begin with the given one, or a similar one.
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
