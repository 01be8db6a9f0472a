package analyze

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// interleaved reports whether the repeats of two sides of one run fell into
// the same time, so that what changes slowly on a machine fell on both.
func interleaved(a, b []*record.Trial) bool {
	firstA, lastA := started(a)
	firstB, lastB := started(b)
	return firstA.Before(lastB) && firstB.Before(lastA)
}

func started(all []*record.Trial) (first, last time.Time) {
	first, last = all[0].Started, all[0].Started
	for _, t := range all {
		if t.Started.Before(first) {
			first = t.Started
		}
		if t.Started.After(last) {
			last = t.Started
		}
	}
	return first, last
}

// findDifferences collects what was not the same, the load apart: each sentence once.
func (c *Comparison) findDifferences() {
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			c.Differences = append(c.Differences, text)
		}
	}
	for i := range c.Pairs {
		now, base := c.Pairs[i].New[0], c.Pairs[i].Base[0]
		for _, d := range environment() {
			if a, b := d.of(now), d.of(base); a != b {
				add(fmt.Sprintf("The %s: %s here, %s in the baseline.", d.name, orNone(a), orNone(b)))
			}
		}
	}
	for i := range c.Pairs {
		now, base := clusterOf(c.Run, c.Pairs[i].New[0]), clusterOf(c.Base, c.Pairs[i].Base[0])
		if a, b := settings(now), settings(base); a != b {
			add(fmt.Sprintf("The store's settings differ: %s here, %s in the baseline.", orNone(a), orNone(b)))
		}
		if now.Exec != base.Exec {
			add(fmt.Sprintf("The server binary differs: %s here, %s in the baseline.", orOwn(now.Exec), orOwn(base.Exec)))
		}
	}
	if c.Run != c.Base && c.Run.Tool.Revision != c.Base.Tool.Revision {
		add(fmt.Sprintf("The revision of quorumbench differs: %s here, %s in the baseline.", orNone(c.Run.Tool.Revision), orNone(c.Base.Tool.Revision)))
	}
	if c.Run != c.Base && c.Run.Seed != c.Base.Seed {
		add(fmt.Sprintf("The seed differs: %d here, %d in the baseline.", c.Run.Seed, c.Base.Seed))
	}
}

// clusterOf is what a trial ran on, as far as the run knows.
func clusterOf(run *record.Run, t *record.Trial) record.Cluster {
	for i := range run.Clusters {
		if run.Clusters[i].ID == t.Cluster {
			return run.Clusters[i]
		}
	}
	return record.Cluster{}
}

// settings are the store's own as one text, whatever they are.
func settings(c record.Cluster) string {
	b, err := json.Marshal(c.Settings)
	if err != nil || string(b) == "null" {
		return ""
	}
	return string(b)
}

func orOwn(exec string) string {
	if exec == "" {
		return "the store's default"
	}
	return exec
}

// condition is one of the cluster or the machine.
type condition struct {
	name string
	of   func(*record.Trial) string
}

// environment are the conditions that are not the load's.
func environment() []condition {
	return []condition{
		{"store differs", func(t *record.Trial) string { return t.Store }},
		{"store's version differs", func(t *record.Trial) string { return t.Version }},
		{"store's build differs", func(t *record.Trial) string { return t.Label }},
		{"members' environment differs", func(t *record.Trial) string { return t.Environment() }},
		{"number of members differs", func(t *record.Trial) string { return fmt.Sprint(t.Members) }},
		{"use of TLS and authentication differs", func(t *record.Trial) string { return fmt.Sprintf("TLS %t, authentication %t", t.TLS, t.Authenticated) }},
		{"machine differs", machineText},
		{"members' share in the generator's machine differs", func(t *record.Trial) string {
			if t.Shared == nil {
				return "not known"
			}
			return map[bool]string{true: "on it", false: "elsewhere"}[*t.Shared]
		}},
		{"members' file system differs", func(t *record.Trial) string {
			if t.Durability == nil {
				return "not known"
			}
			if !t.Durability.Synced {
				return t.Durability.FileSystem + " without sync"
			}
			return t.Durability.FileSystem
		}},
		{"version of quorumbench differs", func(t *record.Trial) string { return t.Tool }},
		{"number of event loops differs", func(t *record.Trial) string { return fmt.Sprint(t.Loops) }},
	}
}

func machineText(t *record.Trial) string {
	m := t.Machine
	if m == nil {
		return "not known"
	}
	text := fmt.Sprintf("%s, %s, %d CPUs, %s %s %s", m.Name, m.CPU, m.CPUs, m.System, m.Kernel, m.Architecture)
	if m.CPULimit != nil {
		text += fmt.Sprintf(", limited to %g", *m.CPULimit)
	}
	return text
}
