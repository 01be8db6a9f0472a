package web

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// spike describes consecutive bad seconds in words.
type spike struct {
	Text      string
	Coincided []string
}

// spikesOf describes the worst seconds of a trial. If it finds none, note explains why.
func spikesOf(t *record.Trial) (out []spike, note string) {
	if analyze.HasFigures(t) && !limits.CanFindSpikes(t) {
		return nil, "Too few seconds to detect spikes."
	}
	all := limits.Spikes(t)
	for i := range all {
		s := spike{Text: spikeText(&all[i])}
		for _, c := range all[i].Coincided {
			words := c.Text
			switch {
			case c.Leader && !strings.HasPrefix(words, c.Member):
				words = c.Member + " (leader) " + words
			case c.Member != "" && !strings.HasPrefix(words, c.Member):
				words = c.Member + " " + words
			}
			s.Coincided = append(s.Coincided, words)
		}
		if all[i].OtherCoincidences > 0 {
			s.Coincided = append(s.Coincided, "and "+text.Plural(uint64(all[i].OtherCoincidences), "kind")+" of other events")
		}
		if len(s.Coincided) == 0 {
			s.Coincided = []string{"no recorded event occurred at this time"}
		}
		out = append(out, s)
	}
	if len(out) == 0 && analyze.HasFigures(t) {
		note = "No spikes. A spike is a second in which p99 (or the slowest operation) is at least twice its median, many operations failed, or throughput is below a quarter of its median."
	}
	return out, note
}

func spikeText(s *limits.Spike) string {
	worst := s.Worst.Text()
	words := fmt.Sprintf("%s: %s %s instead of %s, for %s", text.FixedSeconds(s.From, 1), s.Percentile, worst, s.Usual.Text(), text.Seconds(float64(s.Seconds)))
	if s.Errors > 0 {
		words += ", " + text.Plural(s.Errors, "error")
	}
	if s.UsualRate > 0 && !math.IsInf(s.LowestRate, 1) {
		words += fmt.Sprintf("; minimum throughput %s, usually %s", text.PerSecond(s.LowestRate), text.PerSecond(s.UsualRate))
	}
	return words
}
