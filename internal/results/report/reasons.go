package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// reasons writes why trials are not valid, and the notes. What several trials
// have alike is said once.
func reasons(b *bytes.Buffer, run *record.Run) {
	var why, notes said
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Failure != "" {
			why.add(t.Failure, analyze.Label(t))
		}
		if analyze.Measured(t) {
			for _, r := range t.Verdict.Reasons {
				why.add(r.String(), analyze.Label(t))
			}
		}
		for _, n := range t.Verdict.Notes {
			notes.add(n, analyze.Label(t))
		}
		for _, n := range t.Notes {
			notes.add(n, analyze.Label(t))
		}
		if n := analyze.Unsteady(t); n != "" {
			notes.add(n, analyze.Label(t))
		}
	}
	list(b, "Verdicts", why.lines(len(run.Trials)))
	list(b, "Notes", notes.lines(len(run.Trials)))
}

// said collects sentences and who they are about, in the order of coming.
type said struct {
	order []string
	who   map[string][]string
}

func (s *said) add(text, who string) {
	if s.who == nil {
		s.who = map[string][]string{}
	}
	if s.who[text] == nil {
		s.order = append(s.order, text)
	}
	s.who[text] = append(s.who[text], who)
}

func (s *said) lines(trials int) []string {
	lines := make([]string, 0, len(s.order))
	for _, text := range s.order {
		switch who := s.who[text]; {
		case len(who) == trials && trials > 1:
			lines = append(lines, "all trials: "+text)
		default:
			lines = append(lines, strings.Join(who, ", ")+": "+text)
		}
	}
	return lines
}

// list writes a numbered list under a heading, or nothing.
func list(b *bytes.Buffer, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", head)
	for i, line := range lines {
		fmt.Fprintf(b, "%3d. %s\n", i+1, line)
	}
}
