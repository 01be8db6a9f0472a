package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// conditions writes what all trials share.
func conditions(w io.Writer, run *record.Run, all []*group) error {
	first := all[0].first()
	g := grid{columns: []column{{"", true}, {"", true}}}
	add := func(what, text string) {
		if text != "" {
			g.add("  "+what, text)
		}
	}
	shared := facets()
	one := shared[0].shared(all)
	if one && shared[1].shared(all) {
		add("store", fmt.Sprintf("%s, %s", store(first), plural(uint64(first.Members), "member")))
	}
	for i, text := range durabilities(all, !one) {
		add([]string{"durability", ""}[min(i, 1)], text)
	}
	add("machine", machine(first))
	var load []string
	for _, f := range shared {
		if f.above != nil && f.shared(all) && f.above(first) != "" {
			load = append(load, f.above(first))
		}
	}
	var trials []*record.Trial
	for _, g := range all {
		trials = append(trials, g.done...)
	}
	if text := warmups(trials); text != "" {
		load = append(load, text)
	}
	add("load", strings.Join(load, ", "))
	add("seed", fmt.Sprint(run.Seed))
	add("tool", strings.TrimSpace("quorumbench "+run.Tool.Version))
	return g.writeRows(w)
}

// durabilities are the different sentences about durability, one a cluster at
// most; named says of which store each is.
func durabilities(all []*group, named bool) []string {
	var texts []string
	seen := map[string]bool{}
	for _, g := range all {
		s := durability(g.first())
		if named {
			s = store(g.first()) + ": " + s
		}
		if !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	return texts
}

func durability(t *record.Trial) string {
	d := t.Durability
	if d == nil {
		return "not known: the members' data folders were not looked at"
	}
	text := fmt.Sprintf("fdatasync p50 %s, p99 %s", Figure(d.P50()), Figure(d.P99()))
	if !d.P99().Known && d.Fdatasyncs > 0 {
		text += fmt.Sprintf(" (%s)", plural(uint64(d.Fdatasyncs), "write"))
	}
	text += " on " + orDash(d.FileSystem)
	if d.Volatile {
		text += ", which forgets at power loss"
	}
	switch env := t.Environment(); {
	case d.Synced && env != "":
		return text + "; the store is told to sync before it acknowledges, in an environment with " + env
	case d.Synced:
		return text + "; the store syncs before it acknowledges"
	case env != "":
		return text + "; the store was told not to sync, in an environment with " + env
	}
	return text + "; the store was told not to sync"
}

func machine(t *record.Trial) string {
	m := t.Machine
	if m == nil {
		return ""
	}
	parts := []string{}
	for _, s := range []string{m.Name, m.CPU, plural(uint64(m.CPUs), "CPU"), Bytes(m.MemoryBytes),
		strings.TrimSpace(m.System + " " + m.Kernel + " " + m.Architecture)} {
		if s != "" && s != "0 B" {
			parts = append(parts, s)
		}
	}
	text := strings.Join(parts, ", ")
	if m.CPULimit != nil {
		text += fmt.Sprintf(", limited to %g CPUs", *m.CPULimit)
	}
	switch {
	case t.Shared == nil:
	case *t.Shared:
		text += "; shared by the generator and the members"
	default:
		text += "; the generator's, the members are elsewhere"
	}
	return text
}
