package verdict

import (
	"fmt"
	"slices"
)

// finding is the result of a rule: a state and the reason for the state. If the state is valid and
// the text is not empty, the finding is a note, for example about an effect below the limit.
type finding struct {
	state   State
	text    string
	figures []string // Reason.Figures
	// effect holds how far the disturbance may have moved the printed figures, even if the effect
	// is below the limit.
	effect Effect
}

// restrictTo limits a suspect finding to the given figures.
func (f finding) restrictTo(figures ...string) finding {
	if f.state == Suspect {
		f.figures = figures
	}
	return f
}

func noFinding() finding { return finding{state: Valid} }

func suspect(format string, args ...any) finding {
	return finding{state: Suspect, text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) finding {
	return finding{state: Invalid, text: fmt.Sprintf(format, args...)}
}

// worstFinding joins the findings that have the worst state. The effect of the result covers all
// findings.
func worstFinding(all []finding) finding {
	worst, effect := noFinding(), Effect{}
	for _, one := range all {
		effect = effect.union(one.effect)
		switch {
		case one.text == "":
		case worst.text == "" || one.state.Worse(worst.state):
			worst = one
		case one.state == worst.state:
			worst.text += "; " + one.text
			worst.figures = unionFigures(worst.figures, one.figures)
		}
	}
	worst.effect = effect
	return worst
}

// unionFigures returns the figures that at least one of two findings affects. If one of the
// findings affects the whole trial, it returns nil, which means the whole trial.
func unionFigures(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// judgeEffect returns the finding for a disturbance with the given effect. The format and its
// arguments describe the disturbance; judgeEffect appends a description of the effect.
func (f *Figures) judgeEffect(e Effect, format string, args ...any) finding {
	e = f.limitEffect(e)
	found := finding{state: Valid, effect: e}
	most := e.largest()
	if most < NotedEffect {
		return found
	}
	found.text = fmt.Sprintf(format, args...) + "; " + e.String()
	if most > SuspectEffect {
		found.state, found.figures = Suspect, e.figuresAbove(SuspectEffect)
	}
	return found
}
