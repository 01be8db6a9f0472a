package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// DefaultSeed is the seed of a file that sets no seed, so that runs are repeatable by default.
const DefaultSeed = 1

// MaxRepeats is the maximum number of repeats of a trial.
const MaxRepeats = 1000

// ParseFile parses a scenario file. The text of an error is one sentence, or one sentence per line.
// Errors in the file's contents have type file.Errors, and their lines begin with FILE:LINE:COLUMN.
func ParseFile(path string, c Catalog, o Options) (*Scenario, error) {
	data, err := files.Read(path, file.MaxBytes)
	if err != nil {
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		err = fmt.Errorf("cannot read the scenario file %s: %w", path, err)
		if !errors.Is(err, os.ErrNotExist) { // if the file is missing, the caller suggests what to do
			err = fmt.Errorf("%w; name a scenario file that this user can read", err)
		}
		return nil, err
	}
	return Parse(path, data, c, o)
}

// ReadText reads the text of a scenario, for example from standard input. It returns an error if
// the text is larger than a scenario may be.
func ReadText(in io.Reader) ([]byte, error) { return files.ReadAll(in, file.MaxBytes) }

// Parse parses a scenario from data. The parameter name is the name of the file in errors. If the
// file does not set the scenario's name, the base name of the file is used. Errors in data have
// type Errors. Parse never panics, whatever data contains.
func Parse(name string, data []byte, c Catalog, o Options) (*Scenario, error) {
	if o.Scale != 0 {
		if err := CheckScale(o.Scale); err != nil {
			return nil, err
		}
	}
	if o.Exec != "" && o.Version != "" {
		return nil, newProblem("exec", "--exec and --version both select the server; give only one of them")
	}
	if o.RunningCluster != nil && (o.Exec != "" || o.Version != "") {
		return nil, newProblem("exec", "--endpoints names a running cluster, but a version or --exec applies only to clusters that quorumbench starts; remove one of them")
	}
	apps := c.Applications()
	p := &fileParser{file: name, catalog: c, apps: apps, keys: byKey(Parameters(apps)), options: o}
	s := p.scenario(data)
	if len(p.errs) > 0 {
		return nil, p.errs.Sorted()
	}
	return s, nil
}

func (p *fileParser) scenario(data []byte) *Scenario {
	root, err := file.Parse(data)
	if err != nil {
		p.fail(file.Position{}, err)
		return nil
	}
	if root == nil {
		p.failf(file.Position{}, "the file is empty; a scenario needs trials, each with a store and an operation")
		return nil
	}
	o := p.outline(root)
	p.readAssignments()
	if len(p.errs) > 0 {
		return nil
	}
	p.hosts = o.Hosts
	trials := p.expand(o)
	if len(p.errs) > 0 {
		return nil
	}
	p.checkExec(trials)
	p.checkAssignments(trials)
	p.checkRateSources(trials, o.Ordered)
	p.applyRepeatRule(o, trials)
	s := &o.Scenario
	s.Source, s.Scale = p.redact(data), p.options.Scale
	for _, b := range trials {
		s.Trials = append(s.Trials, b.trial)
	}
	s.Reseed(s.Seed)
	p.checkRepeatRule(s)
	s.Warnings = p.warnings
	return s
}

func (p *fileParser) outline(root *file.Node) *outline {
	o := &outline{Scenario: Scenario{Name: baseName(p.file), Seed: DefaultSeed}, repeats: 1, defaults: layer{}}
	read := map[string]func(*file.Node) error{
		"name":        func(n *file.Node) (err error) { o.Name, err = n.SingleLine("name"); o.namePos = n.Pos; return err },
		"description": func(n *file.Node) (err error) { o.Description, err = n.ScalarText("description"); return err },
		"seed":        func(n *file.Node) (err error) { o.Seed, err = readSeed(n); return err },
		"order":       func(n *file.Node) (err error) { o.Ordered, err = file.ParseWord(n, "order", parseOrder); return err },
		"repeats": func(n *file.Node) (err error) {
			o.repeats, err = readRepeats(n, "repeats")
			o.repeatsPos = n.Pos
			return err
		},
		"until":    func(n *file.Node) (err error) { o.repeatRule, err = readRepeatRule(n); return err },
		"hosts":    func(n *file.Node) (err error) { o.Hosts, err = readHosts(n); return err },
		"defaults": func(n *file.Node) error { o.defaults = p.readLayer(n, inDefaults); return nil },
		"trials":   func(n *file.Node) error { o.trialNodes = p.trialList(n); return nil },
	}
	for _, pair := range root.Pairs {
		set, ok := read[pair.Key]
		switch {
		case !ok:
			p.failUnknownKey(pair, inFile)
		case pair.Value.Kind == file.Null:
			p.failMissingValue(pair)
		default:
			if err := set(pair.Value); err != nil {
				p.fail(pair.Pos, err)
			}
		}
	}
	if len(p.errs) == 0 && len(o.trialNodes) == 0 {
		p.failf(root.Pos, "the scenario has no trials; list them under the key \"trials\"")
	}
	if o.namePos.Line > 0 && !validName.MatchString(o.Name) {
		p.failf(o.namePos, "%s", invalidNameText(o.Name))
	}
	return o
}

func (p *fileParser) trialList(n *file.Node) []*file.Node {
	if n.Kind != file.List {
		p.failf(n.Pos, "trials must be a list, in which each entry begins with a dash, not %s", n.Describe())
		return nil
	}
	for _, t := range n.Items {
		p.readLayer(t, inTrial)
	}
	return n.Items
}

// applyRepeatRule determines the rule for repeating the scenario's trials.
func (p *fileParser) applyRepeatRule(o *outline, trials []*builder) {
	u := p.options.RepeatRule.mergedOver(o.repeatRule)
	if u.Precision == 0 {
		return
	}
	at := o.repeatsPos
	for _, b := range trials {
		if s, ok := b.layer["repeats"]; ok && at == (file.Position{}) {
			at = s.Pos
		}
		b.trial.Repeats = 0
	}
	switch {
	case at.Assignment != "":
		p.failf(at, "until-precision also determines how often trials are repeated; give only one of them")
	case at != (file.Position{}) && o.repeatRule.Precision != 0:
		p.failf(at, "repeats and until both determine how often trials are repeated; give only one of them")
	case at != (file.Position{}):
		p.warn("--until-precision replaces repeats")
	}
	if u.TimeLimit = cmp.Or(u.TimeLimit, DefaultTimeLimit); len(u.Metrics) == 0 {
		u.Metrics = defaultMetrics()
	}
	if o.Ordered {
		p.warn("order: written determines the order of the first round; trials that are repeated until they are precise run in reverse order in every second round")
	}
	o.RepeatRule = &u
}

// checkRepeatRule rejects a time limit that is too short for a single round.
func (p *fileParser) checkRepeatRule(s *Scenario) {
	if s.RepeatRule == nil {
		return
	}
	if roundDuration, _ := s.EstimatedDuration(); roundDuration > s.RepeatRule.TimeLimit {
		p.failf(file.Position{}, "a round of the trials takes %s, not counting the time to start clusters, but the time limit is %s; set a longer limit", text.FormatDuration(roundDuration), text.FormatDuration(s.RepeatRule.TimeLimit))
	}
}

func readSeed(n *file.Node) (uint64, error) {
	i, err := n.Integer("seed")
	if err == nil && i < 0 {
		err = n.Pos.Errorf("seed is %d, but must be at least 0", i)
	}
	return uint64(max(i, 0)), err
}

func readRepeats(n *file.Node, key string) (int, error) {
	i, err := n.Int(key)
	if err == nil && (i < 1 || i > MaxRepeats) {
		return 0, n.Pos.Errorf("%s is %d, but must be from 1 to %d", key, i, MaxRepeats)
	}
	return i, err
}

func parseOrder(s string) (bool, error) {
	switch s {
	case "random":
		return false, nil
	case "written":
		return true, nil
	}
	return false, fmt.Errorf("there is no order %q; choose random or written", s)
}
