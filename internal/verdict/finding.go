package verdict

import (
	"fmt"
	"slices"
)

// finding is a rule's answer: how bad it is, and why. Valid with a text is a
// note: it happened, and moved nothing by as much as the limit.
type finding struct {
	state State
	text  string
	about []string // Reason.Figures
	// effect is how far what it found can have moved the headline, however little.
	effect Effect
}

// of restricts a finding to some figures.
func (one finding) of(figures ...string) finding {
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

// worstOf says all findings of the worst state that there is, with the effect of all.
func worstOf(all []finding) finding {
	worst, effect := fine(), Effect{}
	for _, one := range all {
		effect = effect.or(one.effect)
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

// bothAbout returns the figures that two findings together are about; nil, which is the
// whole trial, if either is.
func bothAbout(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// judged is what an effect of a cause makes of a result. What it says is the
// cause, a sentence without its end.
func (f *Figures) judged(e Effect, format string, args ...any) finding {
	e = f.within(e)
	found := finding{state: Valid, effect: e}
	most := e.most()
	if most < NotedEffect {
		return found
	}
	found.text = fmt.Sprintf(format, args...) + "; " + e.String()
	if most > SuspectEffect {
		found.state, found.about = Suspect, e.beyond(SuspectEffect)
	}
	return found
}
