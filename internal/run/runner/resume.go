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
	spent    time.Duration     // duration of the earlier part up to the end of the last trial that finishedTrial returned
}

// prepareResume prepares a run to be resumed. It returns an error if the scenario or the version of
// quorumbench differs from the recorded one, because a report covers only one scenario and one
// version.
func prepareResume(o *Options) (*resumed, error) {
	recorded, s := o.Resume.Run, o.Scenario
	if recorded.Capacity != nil || recorded.CapacityByParameter != nil {
		return nil, errors.New("the run is a capacity search, which cannot be resumed; its report contains the results so far; begin another search")
	}
	if o.Tool != recorded.Tool {
		return nil, fmt.Errorf("the run was started by %s, but this is %s; resume the run with the version that started it", toolName(recorded.Tool), toolName(o.Tool))
	}
	for _, d := range []struct{ what, recorded, current string }{
		{"scenario's text", recorded.Scenario, string(s.Source)},
		{"scenario's name", recorded.Name, s.Name},
		{"seed", strconv.FormatUint(recorded.Seed, 10), strconv.FormatUint(s.Seed, 10)},
		{"rule for repeating", describeUntil(recorded.RepeatRule), describeUntil(record.NewRepeatRule(s.RepeatRule))},
	} {
		if d.recorded != d.current {
			return nil, fmt.Errorf("cannot resume the run: its %s differs from the recorded value", d.what)
		}
	}
	if d := differentHosts(recorded.Hosts, s.Hosts); d != "" {
		return nil, fmt.Errorf("cannot resume the run: %s", d)
	}
	r := &resumed{Resumption: o.Resume, versions: map[string]string{}, total: recorded.Active(len(o.Resume.Completed))}
	plan := planned(s, len(r.Completed))
	if s.RepeatRule == nil && len(plan) != recorded.Planned || len(plan) < len(r.Completed) {
		return nil, fmt.Errorf("cannot resume the run: it has %d trials, but the scenario now has %d", max(recorded.Planned, len(r.Completed)), len(plan))
	}
	for i := range r.Completed {
		t, spec := &r.Completed[i], &plan[i]
		if t.Name != spec.Name || t.Number != spec.Number || t.Repeat != spec.Repeat || t.Seed != spec.Load.Seed {
			return nil, fmt.Errorf("cannot resume the run: its trial %d is %s, but the trial with this number in the scenario is %s", i+1,
				text.Line(t.Name, text.MaxField), title(spec))
		}
		if j := slices.IndexFunc(recorded.Clusters, func(c record.Cluster) bool { return c.ID == t.Cluster && c.Started }); j >= 0 {
			r.versions[spec.Cluster.Key] = recorded.Clusters[j].Version
		}
	}
	return r, nil
}

// planned returns a scenario's trials in order. If the scenario repeats its trials until their
// figures are precise, planned returns at least the given number of trials.
func planned(s *scenario.Scenario, minTrials int) (all []scenario.Trial) {
	if s.RepeatRule == nil {
		return s.Trials
	}
	for n := 1; len(all) < minTrials && n <= scenario.MaxRepeats; n++ {
		all = append(all, s.Round(n)...)
	}
	return all
}

func toolName(t record.Tool) string {
	return text.Line(t.Description(), text.MaxField)
}

func describeUntil(u *record.RepeatRule) string {
	if u == nil {
		return ""
	}
	return fmt.Sprint(u.Precision, u.AtMostNS, u.Metrics)
}

// differentHosts describes how the scenario's hosts differ from the recorded hosts. It returns ""
// if they are equal.
func differentHosts(recorded []record.Host, current []scenario.Host) string {
	if len(recorded) > 0 && len(current) == 0 {
		return "it ran on hosts that are not in its scenario and no longer exist (for example, pods of --on kubernetes)"
	}
	if !slices.EqualFunc(recorded, current, func(w record.Host, i scenario.Host) bool { return w.Name == i.Name && w.Via == i.Transport.String() }) {
		return "the hosts in the scenario differ from the recorded hosts"
	}
	return ""
}

// checkMachines returns an error if the machines are not the ones on which the run started, because
// a report compares the trials of a run with each other.
func (r *resumed) checkMachines(current []measure.Machine) error {
	recorded := r.Run.Machines
	if len(recorded) != len(current) {
		return fmt.Errorf("cannot resume the run: it started on %s, but this invocation uses %d", text.Plural(uint64(len(recorded)), "machine"), len(current))
	}
	for i := range current {
		if d := current[i].Difference(&recorded[i]); d != "" {
			return fmt.Errorf("cannot resume the run: machine %s has %s; to compare two machines, start another run and use \"quorumbench report RUN RUN\"",
				text.Line(cmp.Or(recorded[i].Name, strconv.Itoa(i+1)), text.MaxField), text.Line(d, text.MaxField))
		}
	}
	return nil
}

// finishedTrial returns the result of the trial with index n if the trial was finished in the
// earlier part of the run.
func (r *resumed) finishedTrial(n int) (*record.Trial, bool) {
	if r == nil || n >= len(r.Completed) {
		return nil, false
	}
	r.spent = r.Run.Active(n + 1)
	return &r.Completed[n], true
}

// checkServer returns an error if the server's version differs from the version in the earlier
// trials.
func (r *resumed) checkServer(spec *scenario.Trial, version string) error {
	if r == nil {
		return nil
	}
	if recorded := r.versions[spec.Cluster.Key]; recorded != "" && recorded != version {
		return fmt.Errorf("trial %s was not run: the server is now %s %s, but it was %s before the run was resumed", title(spec), spec.Cluster.Store, version,
			text.Line(recorded, text.MaxField))
	}
	return nil
}

// unusedTime returns the duration of the earlier part after the end of the last trial that
// finishedTrial returned.
func (r *resumed) unusedTime() time.Duration {
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
