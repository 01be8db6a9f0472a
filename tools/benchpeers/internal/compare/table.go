package compare

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// WriteFigures writes a line for each case and peer that has figures.
func WriteFigures(out io.Writer, r *Results, cases []peer.Case, peers []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := printer{w: w}
	p.line("work", "peer", "operations/s", "client CPU/operation", "service time p50", "resident")
	for _, c := range cases {
		title := c.Title
		for _, name := range peers {
			show := func(figure Figure, show func(float64) string) string {
				return showSpread(Summarize(r.Values(c.Name, name, figure)), show)
			}
			speed := show(perSecond, showCount)
			if speed == "-" {
				continue
			}
			p.line(title, name, speed, show(cpuPerOp, readable.Duration), show(serviceP50, readable.Duration), show(memory, showMemory))
			title = ""
		}
	}
	return p.flush()
}

// WriteLateness writes how late an open loop sent, if there was one.
func WriteLateness(out io.Writer, r *Results) error {
	show := func(figure Figure) string {
		return showSpread(Summarize(r.Values(CaseOpen, peer.Quorumbench, figure)), readable.Duration)
	}
	p50 := show(func(f peer.Figures) float64 { return f.LatenessP50 })
	if p50 == "-" {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nOpen loop, sent after due: p50 %s, p99 %s, p99.9 %s\n", p50,
		show(func(f peer.Figures) float64 { return f.LatenessP99 }), show(func(f peer.Figures) float64 { return f.LatenessP999 }))
	return err
}

// WriteChecks writes what checks said of themselves, run by run, for the cases
// that are checks of several peers.
func WriteChecks(out io.Writer, r *Results, cases []peer.Case) error {
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	head := false
	for _, c := range cases {
		title := c.Title
		for _, run := range r.Runs {
			if run.Case != c.Name || run.Check == nil || !c.Tmpfs {
				continue
			}
			if !head {
				head = true
				p.line("\ncheck", "round", "tool", "writes/s", "slowest", "stddev", "verdict")
			}
			k := run.Check
			p.line(title, fmt.Sprint(run.Round+1), run.Peer, showCount(run.PerSecond), readable.Duration(k.Slowest), readable.Duration(k.Stddev), k.Verdict())
			title = ""
		}
	}
	return p.flush()
}

// WriteGoals writes the goals that something was measured for.
func WriteGoals(out io.Writer, verdicts []Verdict) error {
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	p.line("what", "median (min-max)", "goal", "reached")
	for _, v := range verdicts {
		if v.Known {
			p.line(v.Title, showSpread(v.Spread, v.Show), v.goalText(), v.reachedText())
		}
	}
	return p.flush()
}

func (v Verdict) goalText() string {
	relation := "at least "
	if v.AtMost {
		relation = "at most "
	}
	text := relation + v.Show(v.Limit)
	if v.Aim != 0 {
		text += ", aim " + v.Show(v.Aim)
	}
	if v.Worst {
		text += ", always"
	}
	return text
}

func (v Verdict) reachedText() string {
	switch {
	case v.Aimed:
		return "yes, the aim too"
	case v.Reached:
		return "yes"
	}
	return "NO"
}

// printer writes lines of a table and keeps its first error.
type printer struct {
	w   *tabwriter.Writer
	err error
}

func (p *printer) line(cells ...string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.Join(cells, "\t"))
	}
}

func (p *printer) flush() error {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
	return p.err
}
