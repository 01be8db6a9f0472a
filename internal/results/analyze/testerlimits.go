package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// stoodStill reports whether this program itself did not run for so long that a time which
// it measured by its own clock is no member's and no network's: half of it at least.
func stoodStill(t *record.Trial, took time.Duration) bool {
	pause := time.Duration(t.LongestPauseNS)
	return pause > limitPause && pause >= took/2
}

// machine judges the processors of this program's machine, which members may
// share, and others.
func machine(t *record.Trial) *Cause {
	if t.BusyShare == nil || *t.BusyShare <= limitBusy || t.Machine == nil {
		return nil
	}
	c := &Cause{What: CauseTester, Figure: *t.BusyShare, Limit: limitBusy}
	c.Text = fmt.Sprintf("the %d processors of this machine were in use %s of the time (limit %s)", t.Machine.CPUs, text.Share(*t.BusyShare), text.Share(limitBusy))
	if t.Shared != nil && *t.Shared {
		c.What = CauseCPU
		c.Text += ", which this program shares with the members"
	}
	if t.ForeignShare != nil && *t.ForeignShare > limitForeign {
		c.Text += fmt.Sprintf("; other programs used %s", text.Share(*t.ForeignShare))
		if names := programsUsed(t); names != "" {
			c.Text += " (" + names + ")"
		}
		if *t.BusyShare-*t.ForeignShare <= limitBusy { // without them it would not have been full
			c.What = CauseOthers
		}
	}
	return c
}

// loops judges this program.
func loops(t *record.Trial) []*Cause {
	window := t.Seconds * float64(t.Loops) * 1e9
	if window <= 0 {
		return nil
	}
	share := func(ns int64, limit float64, sentence string) *Cause {
		figure := float64(ns) / window
		return over(CauseTester, "", figure, limit, fmt.Sprintf(sentence, text.Share(min(figure, 1)), text.Share(limit)))
	}
	pause := time.Duration(t.LongestPauseNS)
	out := []*Cause{
		share(t.LoopCPUNS, limitBusy, "this program's event loops were busy %s of the time (limit %s): give it more of them with --threads"),
		share(t.RunDelayNS, limitRunDelay, "this program waited for a processor %s of the time (limit %s)"),
		overLimit(CauseTester, "", pause, limitPause, fmt.Sprintf("this program stood still for %s (limit %s)", spent(pause), spent(limitPause))),
	}
	if t.ThrottledNS != nil {
		held := time.Duration(*t.ThrottledNS)
		out = append(out, overLimit(CauseTester, "", held, limitPause, "a CPU limit on this program held it back for "+spent(held)))
	}
	return out
}

// programsUsed lists the mean use of foreign programs over the window, most first, as shares of
// the processors: "cc1 21 %, dockerd 3 %".
func programsUsed(t *record.Trial) string {
	if t.Opened == nil || t.Machine == nil || t.Machine.CPUs < 1 || t.Seconds <= 0 {
		return ""
	}
	window := WindowOf(t)
	total := map[string]float64{}
	var names []string
	for i := range t.Machines {
		r := &t.Machines[i]
		name, ok := record.ProgramHere(r.Name)
		if seconds := window.shared(Span{r.Since(), r.Time}); ok && r.Processors > 0 && seconds > 0 {
			names = AppendNew(names, name)
			total[name] += r.Processors * seconds / t.Seconds / float64(t.Machine.CPUs)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case total[a] > total[b]:
			return -1
		case total[a] < total[b]:
			return 1
		}
		return 0
	})
	var parts []string
	for _, name := range names[:min(len(names), 3)] {
		if total[name] >= leastForeign {
			parts = append(parts, fmt.Sprintf("%s %s", name, text.Share(total[name])))
		}
	}
	return strings.Join(parts, ", ")
}

// leastForeign is the share of the processors from which a program is named.
const leastForeign = 0.02
