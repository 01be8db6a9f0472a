package scenario

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// maxTrials is the maximum number of trials into which a file may expand, including repeats.
const maxTrials = 10_000

// expand expands each trial in the file into one trial per choice.
func (p *fileParser) expand(o *outline) []*builder {
	var trials []*builder
	names := make(map[string]file.Position)
	runs := 0
	for _, t := range o.trialNodes {
		own, axes := p.splitAxes(t)
		n := countChoices(axes)
		if runs += n; n > maxTrials || runs > maxTrials {
			p.failf(t.Pos, "with this trial, the scenario expands to more than %d trials; use fewer values in matrix or steps", maxTrials)
			return nil
		}
		for i := range n {
			c := p.choiceAt(axes, i)
			for k, s := range own {
				if twice, ok := c.layer[k]; ok && !slices.Contains(c.axes, k) {
					p.failf(twice.Pos, "%s is given both in the trial and in its list of stores; give it only once", k)
				}
				c.layer[k] = s
			}
			for _, b := range p.build(t.Pos, o, c) {
				if runs += b.trial.Repeats - 1; b.trial.BaselineOf != "" {
					runs++
				}
				if runs > maxTrials {
					p.failf(t.Pos, "with this trial and the repeats, the scenario expands to more than %d trials; use fewer repeats or values", maxTrials)
					return nil
				}
				first, twice := names[b.trial.Name]
				switch {
				case twice && first == t.Pos && p.options.Scale != 0:
					continue // scaling made several steps equal
				case twice:
					p.failf(b.keyPosition("name"), "the name %s is already used by the trial in line %d; give each trial a unique name", b.trial.Name, first.Line)
				}
				names[b.trial.Name] = t.Pos
				b.trial.Number = len(trials) + 1
				trials = append(trials, b)
			}
		}
	}
	return trials
}

// splitAxes separates a trial's axes from its other keys. No key may be in both.
func (p *fileParser) splitAxes(t *file.Node) (layer, []axis) {
	own := layer{}
	var axes, steps []axis
	for _, pair := range t.Pairs {
		switch pair.Key {
		case "matrix":
			axes = p.matrix(pair.Value)
		case "steps":
			steps = p.steps(pair.Value)
		default:
			own[pair.Key] = pair
		}
	}
	own = p.hoistStoreKeys(own)
	axes = p.overrideAxes(append(axes, steps...))
	seen := make(map[string]bool)
	for _, a := range axes {
		if _, both := own[a.key]; both {
			p.failf(a.pos, "%s is given both as a value of the trial and as a list; give it only once", a.key)
		} else if seen[a.key] {
			p.failf(a.pos, "%s is given both in matrix and in steps; give it only once", a.key)
		}
		seen[a.key] = true
	}
	return own, axes
}

// countChoices returns the number of choices. If there are more than maxTrials, it may return any
// larger number.
func countChoices(axes []axis) int {
	n := 1
	for _, a := range axes {
		if n *= len(a.values); n > maxTrials {
			return n
		}
	}
	return n
}

// choiceAt returns the i-th choice. The value of the last axis changes fastest.
func (p *fileParser) choiceAt(axes []axis, i int) choice {
	c := choice{layer: layer{}, labels: make(map[string]string)}
	indices := make([]int, len(axes))
	for a := len(axes) - 1; a >= 0; a-- {
		indices[a] = i % len(axes[a].values)
		i /= len(axes[a].values)
	}
	for a, ax := range axes {
		v := ax.values[indices[a]]
		c.axes = append(c.axes, ax.key)
		c.layer[ax.key] = file.Pair{Key: ax.key, Pos: ax.pos, Value: v}
		c.labels[ax.key] = label(v, indices[a]+1)
		if ax.key == "store" {
			c.labels[ax.key] = storeLabel(ax.values, indices[a])
		}
	}
	c.layer = p.hoistStoreKeys(c.layer)
	return c
}
