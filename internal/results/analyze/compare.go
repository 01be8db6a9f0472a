package analyze

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Pair is a trial and its baseline, each with its repeats.
type Pair struct {
	Name      string
	New, Base []*record.Trial // those that are compared; at least one each
	// AllNew and AllBase are all repeats, also those that were left out.
	AllNew, AllBase []*record.Trial
	// Dependent says that repeats of one side ran on one cluster, whose state
	// they share.
	Dependent bool

	Figures []Compared // as ComparedFigures has them
}

// LeftOut is how many repeats are not compared, here and in the baseline.
func (p *Pair) LeftOut() [2]int {
	return [2]int{len(p.AllNew) - len(p.New), len(p.AllBase) - len(p.Base)}
}

// Compared is a figure of a pair.
type Compared struct {
	Figure    record.Figure
	Title     string
	Now, Base record.Value // medians
	Change    Change
}

// ComparedFigures are the figures that comparisons show, and their titles there.
func ComparedFigures() []Compared {
	return []Compared{
		{Title: "QPS", Figure: record.Registered("ops")},
		{Title: "p90", Figure: record.Registered("p90")},
	}
}

// Comparison is a run beside its baseline.
type Comparison struct {
	Run, Base *record.Run // the same if the baseline is within the run
	Pairs     []Pair      // in the run's order
	// Differences are sentences about what beside the load was not the same.
	Differences []string
	// LeftOut says which repeats are in no median, and why.
	LeftOut []string
	// Trials that only one of the two has, or has figures of that count.
	OnlyNew, OnlyBase []string
}

// Compare puts the trials of a run beside those of the same name in another.
// Its error is a sentence that says why the two cannot be compared.
func Compare(run, base *record.Run) (*Comparison, error) {
	news, bases := byName(run), byName(base)
	c := &Comparison{Run: run, Base: base}
	for _, name := range bases.order {
		if news.of[name] == nil {
			c.OnlyBase = append(c.OnlyBase, name)
		}
	}
	for _, name := range news.order {
		of := bases.of[name]
		if of == nil {
			c.OnlyNew = append(c.OnlyNew, name)
			continue
		}
		if err := SameLoad(&news.of[name][0].Conditions, &of[0].Conditions); err != nil {
			return nil, err
		}
		c.add(name, news.of[name], of)
	}
	if len(c.OnlyNew) == len(news.order) {
		return nil, noneInCommon(news.order, bases.order)
	}
	c.findDifferences()
	return c, nil
}

// Comparable refuses a baseline that trials which are to run could not be
// compared with.
func Comparable(trials []record.Conditions, base *record.Run) error {
	bases := byName(base)
	var names []string
	common := false
	for i := range trials {
		names = append(names, trials[i].Name)
		if of := bases.of[trials[i].Name]; of != nil {
			common = true
			if err := SameLoad(&trials[i], &of[0].Conditions); err != nil {
				return err
			}
		}
	}
	if !common {
		return noneInCommon(names, bases.order)
	}
	return nil
}

// Within puts the trials of a run beside the baselines that its scenario gave
// them, in the same run; nil if it gave none.
func Within(run *record.Run) *Comparison {
	c := &Comparison{Run: run, Base: run}
	all := byName(run)
	for _, name := range all.order {
		of := all.of[name][0].BaselineOf
		if of == "" {
			continue
		}
		news := all.of[of]
		if news == nil {
			c.OnlyBase = append(c.OnlyBase, name)
			continue
		}
		if err := SameLoad(&news[0].Conditions, &all.of[name][0].Conditions); err != nil {
			c.Differences = append(c.Differences, "Beware: "+err.Error()+".")
		}
		c.add(of, news, all.of[name])
	}
	if len(c.Pairs)+len(c.OnlyBase)+len(c.OnlyNew) == 0 {
		return nil
	}
	c.findDifferences()
	return c
}

// noneInCommon says that two lists of trials have none in common.
func noneInCommon(news, bases []string) error {
	first := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return names[0]
	}
	return fmt.Errorf("the baseline is of another scenario: no trial is in both; the first here is %s and there %s", first(news), first(bases))
}

// add puts a trial beside its baseline, if both have figures that count.
func (c *Comparison) add(name string, news, bases []*record.Trial) {
	p := Pair{Name: name, New: c.counting(name+" here", news), Base: c.counting(name+" in the baseline", bases), AllNew: news, AllBase: bases}
	p.Dependent = shareCluster(c.Run, p.New) || shareCluster(c.Base, p.Base)
	switch {
	case len(p.New)+len(p.Base) == 0:
		return // LeftOut says it
	case len(p.New) == 0:
		c.OnlyBase = append(c.OnlyBase, name)
		return
	case len(p.Base) == 0:
		c.OnlyNew = append(c.OnlyNew, name)
		return
	}
	p.Figures = ComparedFigures()
	for i := range p.Figures {
		f := &p.Figures[i]
		now, base := values(&f.Figure, p.New), values(&f.Figure, p.Base)
		f.Now, f.Base, f.Change = Median(now, f.Figure.Better), Median(base, f.Figure.Better), ChangeOf(now, base, f.Figure.Better)
		if c.Run == c.Base && !interleaved(p.New, p.Base) {
			f.Change.Interval = false
		}
	}
	c.Pairs = append(c.Pairs, p)
}

// values are a figure of all repeats.
func values(f *record.Figure, trials []*record.Trial) []record.Value {
	all := make([]record.Value, 0, len(trials))
	for _, t := range trials {
		all = append(all, f.Of(t))
	}
	return all
}

// named is a run's trials by name, in the order of the scenario.
type named struct {
	order []string
	of    map[string][]*record.Trial
}

func byName(run *record.Run) named {
	n := named{of: map[string][]*record.Trial{}}
	for _, t := range InOrder(run) {
		if n.of[t.Name] == nil {
			n.order = append(n.order, t.Name)
		}
		n.of[t.Name] = append(n.of[t.Name], t)
	}
	return n
}

// SameLoad refuses two trials whose load is not the same with a sentence that
// names the first difference. A rate that is a share of another trial's
// throughput, which is another in every run, need only be a share of the same.
func SameLoad(now, base *record.Conditions) error {
	if what, a, b := scenario.Differ(&now.Load, &base.Load); what != "" {
		return differentLoad(now.Name, what, a, b)
	}
	return nil
}

func differentLoad(trial, what, now, base string) error {
	return fmt.Errorf("the baseline was made with another load: %s in %s: %s here, %s there; compare runs of the same scenario", what, trial, orNone(now), orNone(base))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
