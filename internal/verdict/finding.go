package verdict

import (
	"fmt"
	"slices"
)

// finding is the result of a rule: a state and the reason for it. A valid finding with a text
// is a note about an effect below the limit.
type finding struct {
	state State
	text  string
	about []string // Reason.Figures
	// effect holds by how much the disturbance may have moved the headline, even if that is below
	// the limit.
	effect Effect
}

// restrictTo limits a suspect finding to some figures.
func (one finding) restrictTo(figures ...string) finding {
	if one.state == Suspect {
		one.about = figures
	}
	return one
}

func fine() finding { return finding{state: Valid} }

func suspect(format string, args ...any) finding {
	return finding{state: Suspect, text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) finding {
	return finding{state: Invalid, text: fmt.Sprintf(format, args...)}
}

// worstOf joins the findings that have the worst state, with the effects of all findings.
func worstOf(all []finding) finding {
	worst, effect := fine(), Effect{}
	for _, one := range all {
		effect = effect.union(one.effect)
		switch {
		case one.text == "":
		case worst.text == "" || one.state.Worse(worst.state):
			worst = one
		case one.state == worst.state:
			worst.text += "; " + one.text
			worst.about = bothAbout(worst.about, one.about)
		}
	}
	worst.effect = effect
	return worst
}

// bothAbout returns the figures that two findings together are about, or nil (the whole trial)
// if one of them is about the whole trial.
func bothAbout(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// judged returns the finding for a disturbance with an effect. The format describes the
// disturbance, and judged appends the effect.
func (f *Figures) judged(e Effect, format string, args ...any) finding {
	e = f.limitEffect(e)
	found := finding{state: Valid, effect: e}
	most := e.largest()
	if most < NotedEffect {
		return found
	}
	found.text = fmt.Sprintf(format, args...) + "; " + e.String()
	if most > SuspectEffect {
		found.state, found.about = Suspect, e.figuresBeyond(SuspectEffect)
	}
	return found
}
