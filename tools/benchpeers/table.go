package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// WriteFigures writes a line for each case and each peer that has figures.
func WriteFigures(out io.Writer, r *Results, cases []Case, peers []string) error {
	rows := [][]string{{"work", "peer", "operations/s", "client CPU/operation", "service time p50", "resident"}}
	for _, c := range cases {
		title := c.Title
		for _, name := range peers {
			show := func(figure Figure, show func(float64) string) string {
				return showSpread(Summarize(r.Values(c.Name, name, figure)), show)
			}
			if speed := show(perSecond, showCount); speed != text.Dash {
				rows = append(rows, []string{title, name, speed, show(cpuPerOp, text.Duration), show(serviceP50, text.Duration), show(memory, showMemory)})
				title = ""
			}
		}
	}
	return text.Table(out, rows)
}

// WriteLateness writes quorumbench's lateness in the open loop, if the open loop was measured.
func WriteLateness(out io.Writer, r *Results) error {
	show := func(figure Figure) string {
		return showSpread(Summarize(r.Values(CaseOpen, Quorumbench, figure)), text.Duration)
	}
	p50 := show(func(f Figures) float64 { return f.LatenessP50 })
	if p50 == text.Dash {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nOpen loop, lateness (from an operation's due time to its send time): p50 %s, p99 %s, p99.9 %s\n", p50,
		show(func(f Figures) float64 { return f.LatenessP99 }), show(func(f Figures) float64 { return f.LatenessP999 }))
	return err
}

// WriteChecks writes the report of each run of the checks that several peers can run.
func WriteChecks(out io.Writer, r *Results, cases []Case) error {
	rows := [][]string{{"check", "round", "tool", "writes/s", "slowest", "stddev", "verdict"}}
	for _, c := range cases {
		title := c.Title
		for _, run := range r.Runs {
			if k := run.Check; k != nil && run.Case == c.Name && c.Tmpfs {
				rows = append(rows, []string{title, fmt.Sprint(run.Round + 1), run.Peer, showCount(run.PerSecond), text.Duration(k.Slowest), text.Duration(k.Stddev), k.Verdict()})
				title = ""
			}
		}
	}
	if len(rows) == 1 {
		return nil
	}
	_, err := fmt.Fprintln(out)
	return errors.Join(err, text.Table(out, rows))
}

// WriteGoals writes the goals that were measured.
func WriteGoals(out io.Writer, verdicts []Verdict) error {
	rows := [][]string{{"what", "median (min-max)", "goal", "reached"}}
	for _, v := range verdicts {
		if v.Known {
			rows = append(rows, []string{v.Title, showSpread(v.Spread, v.Show), v.goalText(), v.reachedText()})
		}
	}
	return text.Table(out, rows)
}

func (v Verdict) goalText() string {
	relation := "at least "
	if v.LowerIsBetter {
		relation = "at most "
	}
	text := relation + v.Show(v.Limit)
	if v.Aim != 0 {
		text += ", aim " + v.Show(v.Aim)
	}
	if v.JudgeWorstRound {
		text += ", always"
	}
	return text
}

func (v Verdict) reachedText() string {
	switch {
	case v.AimReached:
		return "yes, the aim too"
	case v.Reached:
		return "yes"
	}
	return "NO"
}

func showRatio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func showMemory(v float64) string { return text.Bytes(uint64(v)) }

func showCount(v float64) string { return text.Count(uint64(math.Round(v))) }

// showSpread formats "median (min-max)". It writes the unit of the minimum only if the maximum has
// another unit.
func showSpread(s Spread, show func(float64) string) string {
	if s.N == 0 {
		return text.Dash
	}
	median := show(s.Median)
	if s.N == 1 {
		return median
	}
	low, high := show(s.Min), show(s.Max)
	if number, unit, found := strings.Cut(low, " "); found && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return median + " (" + low + "-" + high + ")"
}
