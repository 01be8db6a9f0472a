package limits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// generatorPaused reports whether the load generator's longest pause in the trial is at least half
// as long as a measured time, and longer than limitPause. Such a pause may explain that time, so
// neither a member nor the network is blamed.
func generatorPaused(t *record.Trial, took time.Duration) bool {
	pause := time.Duration(t.LongestPauseNS)
	return pause > limitPause && pause >= took/2
}

// machine checks whether the CPUs of the load generator's machine were busy. Members and other
// programs may share these CPUs.
func machine(t *record.Trial) *Cause {
	if t.BusyShare == nil || *t.BusyShare <= limitBusy || t.Machine == nil {
		return nil
	}
	c := &Cause{Kind: CauseGenerator, Figure: *t.BusyShare, Limit: limitBusy}
	c.Text = fmt.Sprintf("the %d CPUs of this machine were %s busy (limit %s)", t.Machine.CPUs, text.Share(*t.BusyShare), text.Share(limitBusy))
	if t.SharesMachine != nil && *t.SharesMachine {
		c.Kind = CauseCPU
		c.Text += "; members and load generator share them"
	}
	if t.ForeignShare != nil && *t.ForeignShare > limitForeign {
		c.Text += fmt.Sprintf("; other programs used %s", text.Share(*t.ForeignShare))
		if names := programsUsed(t); names != "" {
			c.Text += " (" + names + ")"
		}
		// without the other programs, the machine would not have been full
		if *t.BusyShare-*t.ForeignShare <= limitBusy {
			c.Kind = CauseOthers
		}
	}
	switch c.Kind {
	case CauseOthers:
		c.Text += "; stop them"
	case CauseCPU:
		c.Text += "; run the generator on another machine to measure the store alone"
	}
	return c
}

// loops checks whether the load generator's event loops were too busy or had to wait.
func loops(t *record.Trial) []*Cause {
	window := t.Seconds * float64(t.Loops) * 1e9
	if window <= 0 {
		return nil
	}
	share := func(ns int64, limit float64, sentence string) *Cause {
		figure := float64(ns) / window
		return causeIfExceeded(CauseGenerator, "", figure, limit, fmt.Sprintf(sentence, text.Share(min(figure, 1)), text.Share(limit)))
	}
	pause := time.Duration(t.LongestPauseNS)
	out := []*Cause{
		share(t.LoopCPUNS, limitBusy, "the event loops were busy %s of the time (limit %s); add loops with --threads"),
		share(t.RunDelayNS, limitRunDelay, "it waited for a CPU %s of the time (limit %s); reserve CPUs for it"),
		causeIfTooLong(CauseGenerator, "", pause, limitPause, fmt.Sprintf("it did not run for %s (limit %s)", durationText(pause), durationText(limitPause))),
	}
	if t.ThrottledNS != nil {
		held := time.Duration(*t.ThrottledNS)
		out = append(out, causeIfTooLong(CauseGenerator, "", held, limitPause, "its CPU quota paused it for "+durationText(held)+"; raise the quota"))
	}
	return out
}

// programsUsed lists the other programs that used the most CPU time in the window, in descending
// order. The values are shares of all CPUs, such as "cc1 21 %, dockerd 3 %".
func programsUsed(t *record.Trial) string {
	if t.Opened == nil || t.Machine == nil || t.Machine.CPUs < 1 || t.Seconds <= 0 {
		return ""
	}
	window := samples.WindowOf(t)
	total := map[string]float64{}
	var names []string
	for i := range t.Machines {
		r := &t.Machines[i]
		name, ok := record.GeneratorProgram(r.Name)
		if seconds := window.OverlapSeconds(samples.Span{From: r.Since(), To: r.Time}); ok && r.Processors > 0 && seconds > 0 {
			names = analyze.AppendNew(names, name)
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
		if total[name] >= minForeignShare {
			parts = append(parts, fmt.Sprintf("%s %s", name, text.Share(total[name])))
		}
	}
	return strings.Join(parts, ", ")
}

// minForeignShare is the share of all CPUs that a program must have used to be listed.
const minForeignShare = 0.02
