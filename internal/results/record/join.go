package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Join combines several runs into one run, so that a report can show all their trials side by side.
// It does not change the given runs. The Parts of the result are copies of these runs. The names of
// the parts are unique, and so are the numbers and names of the trials in different parts. A single
// run is returned as it is. The text of the error is a sentence.
func Join(runs []*Run) (*Run, error) {
	if len(runs) == 1 {
		return runs[0], nil
	}
	names, err := partNames(runs)
	if err != nil {
		return nil, err
	}
	trials := sharedNames(runs)
	all := &Run{Schema: RunSchema, State: Complete, Name: text.Line(strings.Join(names, ", "), text.MaxField)}
	last := 0
	for i, run := range runs {
		p := run.copyAsPart(names[i], trials)
		last += p.renumber(last)
		all.addPart(p)
	}
	return all, nil
}

// partNames returns a unique name for each part; see UniqueNames. It returns an error if a run is
// specified twice.
func partNames(runs []*Run) ([]string, error) {
	for i, r := range runs {
		if slices.ContainsFunc(runs[:i], func(other *Run) bool { return uniquePath(other.Dir) == uniquePath(r.Dir) }) {
			return nil, duplicateRunError(text.Line(filepath.Clean(r.Dir), text.MaxField))
		}
	}
	names, twice := UniqueNames(runs)
	if twice != "" {
		return nil, duplicateRunError(twice)
	}
	return names, nil
}

// UniqueNames returns a unique name for each run. It uses the names of the runs if they are unique,
// otherwise the names of the runs' folders if these are unique, and otherwise the paths of the
// folders. If two paths are equal, the result `twice` is this path, and otherwise it is empty.
func UniqueNames(runs []*Run) (names []string, twice string) {
	for _, nameOf := range []func(*Run) string{
		func(r *Run) string { return r.Name },
		func(r *Run) string { return filepath.Base(r.Dir) },
		func(r *Run) string { return filepath.Clean(r.Dir) },
	} {
		names, twice = nil, ""
		for _, r := range runs {
			name := text.Line(nameOf(r), text.MaxField)
			if slices.Contains(names, name) {
				twice = name
			}
			names = append(names, name)
		}
		if twice == "" {
			break
		}
	}
	return names, twice
}

func duplicateRunError(dir string) error {
	return fmt.Errorf("the run in %s is specified twice; specify each run only once", dir)
}

// uniquePath returns a unique path for a folder: an absolute path without links, if such a path can
// be determined.
func uniquePath(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// sharedNames returns the trial names that occur in more than one run.
func sharedNames(runs []*Run) map[string]bool {
	in := map[string]int{} // for each name: 1 + the index of the last run with a trial of this name
	shared := map[string]bool{}
	for i, r := range runs {
		for j := range r.Trials {
			name := r.Trials[j].Name
			if n := in[name]; n > 0 && n != i+1 {
				shared[name] = true
			}
			in[name] = i + 1
		}
	}
	return shared
}

// copyAsPart returns a copy of a run with a new name. If other runs also have a trial of the same
// name, it changes the trial's name to "NAME of PART".
func (r *Run) copyAsPart(name string, shared map[string]bool) *Run {
	p := *r
	p.Name = name
	rename := func(trial string) string {
		if shared[trial] && trial != "" {
			return trial + " of " + name
		}
		return trial
	}
	cluster := func(id string) string { return id + " of " + name }
	p.Clusters = slices.Clone(r.Clusters)
	for i := range p.Clusters {
		p.Clusters[i].ID = cluster(p.Clusters[i].ID)
	}
	p.Trials = slices.Clone(r.Trials)
	for i := range p.Trials {
		t := &p.Trials[i]
		t.Name, t.BaselineOf, t.Cluster = rename(t.Name), rename(t.BaselineOf), cluster(t.Cluster)
	}
	p.Problems = nil
	for _, text := range r.Problems {
		p.Problems = append(p.Problems, name+": "+text)
	}
	return &p
}

// renumber gives the trials of a part new numbers, which start at before + 1. It returns how many
// different numbers the part has.
func (r *Run) renumber(before int) int {
	numbers := make([]int, 0, len(r.Trials))
	for i := range r.Trials {
		numbers = append(numbers, r.Trials[i].Number)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for i := range r.Trials {
		at, _ := slices.BinarySearch(numbers, r.Trials[i].Number)
		r.Trials[i].Number = before + at + 1
	}
	return len(numbers)
}

// addPart adds a part to a combined run. The combined run started when the earliest part started.
// It has finished if all parts have finished.
func (r *Run) addPart(p *Run) {
	if len(r.Parts) == 0 {
		r.Started, r.Finished = p.Started, p.Finished
	}
	if p.Started.Before(r.Started) {
		r.Started = p.Started
	}
	switch {
	case p.Finished == nil:
		r.Finished = nil
	case r.Finished != nil && p.Finished.After(*r.Finished):
		r.Finished = p.Finished
	}
	if r.State == Complete {
		r.State = p.State
	}
	if p.Failure != "" {
		r.Failure = strings.TrimSpace(r.Failure + " " + p.Name + ": " + p.Failure)
	}
	r.Planned += p.Planned
	r.Machines = append(r.Machines, p.Machines...)
	r.Clusters = append(r.Clusters, p.Clusters...)
	r.Trials = append(r.Trials, p.Trials...)
	r.Problems = append(r.Problems, p.Problems...)
	r.Parts = append(r.Parts, p)
}

// PartsOrSelf returns the parts of a joined run, or the run itself if it was not joined.
func (r *Run) PartsOrSelf() []*Run {
	if len(r.Parts) == 0 {
		return []*Run{r}
	}
	return r.Parts
}

// PartOf returns the part to which a trial belongs, or the run itself if it has no parts.
func (r *Run) PartOf(t *Trial) *Run {
	for _, p := range r.Parts {
		if p.Dir == t.Dir {
			return p
		}
	}
	return r
}
