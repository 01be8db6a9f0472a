package runner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// resumed is the earlier part of a resumed run.
type resumed struct {
	*record.Resumption
	versions map[string]string // server versions, by cluster key
	total    time.Duration     // duration of the earlier part of the run
	spent    time.Duration     // the part of total up to the end of the last trial that finishedTrial returned
}

// takeUp prepares a run to be resumed. It returns an error if the scenario or the version of
// quorumbench differs from the recorded one, because a report covers only one scenario and one
// version.
func takeUp(o *Options) (*resumed, error) {
	was, s := o.Resume.Run, o.Scenario
	if was.Capacity != nil || was.CapacityOver != nil {
		return nil, errors.New("the run is a capacity search, which cannot be resumed; its report contains the results so far; begin another search")
	}
	if o.Tool != was.Tool {
		return nil, fmt.Errorf("the run was started by %s, but this is %s; resume the run with the version that started it", named(was.Tool), named(o.Tool))
	}
	for _, d := range []struct{ what, was, is string }{
		{"scenario's text", was.Scenario, string(s.Source)},
		{"scenario's name", was.Name, s.Name},
		{"seed", strconv.FormatUint(was.Seed, 10), strconv.FormatUint(s.Seed, 10)},
		{"rule for repeating", rule(was.Until), rule(record.NewUntil(s.Until))},
	} {
		if d.was != d.is {
			return nil, fmt.Errorf("cannot resume the run: its %s differs from the recorded value", d.what)
		}
	}
	if d := differentHosts(was.Hosts, s.Hosts); d != "" {
		return nil, fmt.Errorf("cannot resume the run: %s", d)
	}
	r := &resumed{Resumption: o.Resume, versions: map[string]string{}, total: was.Active(len(o.Resume.Kept))}
	plan := planned(s, len(r.Kept))
	if s.Until == nil && len(plan) != was.Planned || len(plan) < len(r.Kept) {
		return nil, fmt.Errorf("cannot resume the run: it has %d trials, but its scenario has %d", max(was.Planned, len(r.Kept)), len(plan))
	}
	for i := range r.Kept {
		t, spec := &r.Kept[i], &plan[i]
		if t.Name != spec.Name || t.Number != spec.Number || t.Repeat != spec.Repeat || t.Seed != spec.Load.Seed {
			return nil, fmt.Errorf("cannot resume the run: its trial %d is %s, but the trial with this number in the scenario is %s", i+1,
				text.Line(t.Name, text.MaxField), title(spec))
		}
		if j := slices.IndexFunc(was.Clusters, func(c record.Cluster) bool { return c.ID == t.Cluster && c.Started }); j >= 0 {
			r.versions[spec.Cluster.Key] = was.Clusters[j].Version
		}
	}
	return r, nil
}

// planned returns a scenario's trials in order. If the scenario repeats its trials until their
// figures are precise, planned returns at least the given number of trials.
func planned(s *scenario.Scenario, least int) (all []scenario.Trial) {
	if s.Until == nil {
		return s.Trials
	}
	for n := 1; len(all) < least && n <= scenario.MaxRepeats; n++ {
		all = append(all, s.Round(n)...)
	}
	return all
}

func named(t record.Tool) string {
	return text.Line(t.Description(), text.MaxField)
}

func rule(u *record.Until) string {
	if u == nil {
		return ""
	}
	return fmt.Sprint(u.Precision, u.AtMostNS, u.Metrics)
}

// differentHosts describes how the scenario's hosts differ from the recorded hosts. It returns ""
// if they are equal.
func differentHosts(was []record.Host, is []scenario.Host) string {
	if len(was) > 0 && len(is) == 0 {
		return "it ran on hosts that are not in its scenario and no longer exist (for example, with --on kubernetes)"
	}
	if !slices.EqualFunc(was, is, func(w record.Host, i scenario.Host) bool { return w.Name == i.Name && w.Via == i.Via.String() }) {
		return "the hosts in the scenario differ from the recorded hosts"
	}
	return ""
}

// sameMachines returns an error if the machines are not the ones on which the run started, because
// a report compares the trials of a run with each other.
func (r *resumed) sameMachines(is []measure.Machine) error {
	was := r.Run.Machines
	if len(was) != len(is) {
		return fmt.Errorf("cannot resume the run: it started on %s, but this invocation uses %d", text.Plural(uint64(len(was)), "machine"), len(is))
	}
	for i := range is {
		if d := is[i].Difference(&was[i]); d != "" {
			return fmt.Errorf("cannot resume the run: machine %s has %s; to compare two machines, start another run and use \"quorumbench report RUN RUN\"",
				text.Line(cmp.Or(was[i].Name, strconv.Itoa(i+1)), text.MaxField), text.Line(d, text.MaxField))
		}
	}
	return nil
}

// finishedTrial returns the result of the trial with index n if the trial was finished in the
// earlier part of the run.
func (r *resumed) finishedTrial(n int) (*record.Trial, bool) {
	if r == nil || n >= len(r.Kept) {
		return nil, false
	}
	r.spent = r.Run.Active(n + 1)
	return &r.Kept[n], true
}

// sameServer returns an error if the server's version differs from the version in the earlier
// trials.
func (r *resumed) sameServer(spec *scenario.Trial, version string) error {
	if r == nil {
		return nil
	}
	if was := r.versions[spec.Cluster.Key]; was != "" && was != version {
		return fmt.Errorf("trial %s was not run: the server is now %s %s, but it was %s before the run was resumed", title(spec), spec.Cluster.Store, version,
			text.Line(was, text.MaxField))
	}
	return nil
}

// timeAfterTaken returns the duration of the earlier part after the end of the last trial that
// finishedTrial returned.
func (r *resumed) timeAfterTaken() time.Duration {
	if r == nil {
		return 0
	}
	return r.total - r.spent
}

// earlierTime returns the duration of the earlier part of the run.
func (r *resumed) earlierTime() time.Duration {
	if r == nil {
		return 0
	}
	return r.total
}
