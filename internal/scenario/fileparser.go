package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// fileParser parses one file.
type fileParser struct {
	file            string
	catalog         Catalog
	apps            []application.Application // the applications in the catalog
	namer           keyNamer
	commandCluster  *RunningCluster // the cluster that a command's flags select; nil for a file
	keys            map[string]*Parameter
	options         Options
	hosts           []Host
	assignmentLayer layer             // the layer of the assignments in Options.Assignments
	aliases         map[string]string // final names of trials, by their names before scaling
	errs            file.Errors
	secrets         []*file.Node // values of the key "user"
	warnings        []string
}

// fail adds err to the list of errors. If err is not an *Error, the parameter fallback is used as
// its position.
func (p *fileParser) fail(fallback file.Position, err error) {
	var located *file.Error
	if !errors.As(err, &located) {
		located = fallback.Errorf("%v", err)
	}
	if located.File == "" {
		located.File = p.file
	}
	p.errs.Add(located)
}

func (p *fileParser) failf(pos file.Position, format string, args ...any) {
	p.fail(pos, pos.Errorf(p.namer.fill(format), args...))
}

func (p *fileParser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

func (p *fileParser) newDraft() *draft {
	return &draft{parameters: p.keys, keyNamer: p.namer, load: fileLoad(), cluster: Cluster{Members: DefaultMembers}, consistency: kv.Linearizable}
}

// outline holds the contents of a file before its trials are expanded. Each key and value has been
// checked on its own.
type outline struct {
	Scenario   // without trials
	namePos    file.Position
	repeats    int
	repeatRule RepeatRule
	defaults   layer
	trialNodes []*file.Node // the trials as written
	// repeatsPos is the position of the key repeats in the file.
	repeatsPos file.Position
}

// filePart identifies the part of a file that contains a key.
type filePart string

const (
	inFile     filePart = "the file"
	inDefaults filePart = "defaults"
	inTrial    filePart = "a trial"
	inMatrix   filePart = "matrix"
)

// FileKey is a key that a scenario file can have at the top level.
type FileKey struct {
	Key, Meaning string
	schema       func() jsonSchema // nil for keys that contain parameters
}

// FileKeys returns the keys that a scenario file can have at the top level.
func FileKeys() []FileKey {
	return []FileKey{
		{"name", "name of the run", runNameSchema},
		{"description", "text for the report", textSchema},
		{"seed", "seed for all random choices", withDefault(integers(0, math.MaxInt64), DefaultSeed)},
		{"order", "order of the trials; with until, every second round runs in reverse order", withDefault(words("random", "written"), "random")},
		{"repeats", "number of repeats of each trial", withDefault(integers(1, MaxRepeats), 1)},
		{"until", "repeat the trials until their figures are precise; cannot be combined with repeats", repeatRuleSchema},
		{"hosts", "machines for members and workers", hostsSchema},
		{"defaults", "parameters of all trials", nil},
		{"trials", "list of trials", nil},
	}
}

// fileKeyNames returns the names of the keys at the top level.
func fileKeyNames() (names []string) {
	for _, k := range FileKeys() {
		names = append(names, k.Key)
	}
	return names
}

// trialKey returns the parameter for a key that a trial can have.
func (p *fileParser) trialKey(name string) (*Parameter, bool) {
	k, ok := p.keys[name]
	return k, ok && !strings.Contains(name, ".")
}

// trialKeys returns the keys that a trial can have, without the keys inside mappings.
func trialKeys(parameters map[string]*Parameter) []string {
	return slices.DeleteFunc(sortedKeys(parameters), func(key string) bool { return strings.Contains(key, ".") })
}

// findParameter returns the parameter for a key, and reports whether this part of the file may
// contain the key. If not, it adds an error.
func (p *fileParser) findParameter(pair file.Pair, part filePart) (*Parameter, bool) {
	k, ok := p.trialKey(pair.Key)
	switch {
	case !ok:
		p.failUnknownKey(pair, part)
	case k.trialOnly && part != inTrial, k.notInMatrix && part == inMatrix:
		p.failf(pair.Pos, "%s is a key for a trial, not for %s", pair.Key, part)
	case pair.Value.Kind == file.Null:
		p.failMissingValue(pair)
	default:
		return k, true
	}
	return k, false
}

func (p *fileParser) failUnknownKey(pair file.Pair, part filePart) {
	_, isTrialKey := p.trialKey(pair.Key)
	knownKeys := trialKeys(p.keys)
	if part == inFile {
		knownKeys = fileKeyNames()
	}
	switch {
	case part == inFile && isTrialKey:
		p.failf(pair.Pos, "%s is a key for a trial or for defaults, not for the top level of the file", pair.Key)
	case slices.Contains(fileKeyNames(), pair.Key):
		p.failf(pair.Pos, "%s is a key for the top level of the file, not for %s", pair.Key, part)
	default:
		p.failf(pair.Pos, "unknown key %q%s", pair.Key, cmp.Or(suggest(pair.Key, knownKeys), keysListed))
	}
}

// keysListed is the end of an error about an unknown key that is not similar to any known key.
const keysListed = "; docs/reference/scenarios.md lists the keys"

func (p *fileParser) failMissingValue(pair file.Pair) {
	p.failf(pair.Pos, "%s has no value; give it a value or remove the key", pair.Key)
}

// layer holds values by their keys: the values in defaults, or the values of a trial for one choice
// from its matrix and steps. Values in a higher layer replace values in a lower layer.
type layer map[string]file.Pair

func (l layer) hasKey(key string) bool {
	_, ok := l[key]
	return ok
}

// mergedOver returns l merged over the lower layer `base`. The result contains the values in l, and
// those values in `base` whose keys l neither has nor replaces.
func (l layer) mergedOver(base layer) layer {
	out := maps.Clone(base)
	for name, s := range l {
		for _, replacedKey := range replacedKeys(name, s.Value, base) {
			delete(out, replacedKey)
		}
	}
	maps.Copy(out, l)
	return out
}

// replacedKeys returns the other keys in the lower layer `base` that no longer apply if a higher
// layer sets `key` to `value`. For example, a trial with a total does not use the duration in
// defaults.
func replacedKeys(key string, value *file.Node, base layer) []string {
	switch key {
	case "duration":
		return []string{"total"}
	case "total":
		return []string{"duration"}
	case "operation":
		return []string{"mix"}
	case "mix":
		return []string{"operation"}
	case "endpoints":
		return startedClusterKeys
	case "exec":
		return slices.Concat(runningClusterKeys, []string{"version"})
	case "version":
		return slices.Concat(runningClusterKeys, []string{"exec"})
	case "members", "members-on", "settings", "env":
		return runningClusterKeys
	case "rate":
		if a, ok := base["arrival"]; ok && a.Value.Text == Closed.String() {
			return []string{"arrival"}
		}
	case "arrival":
		if value.Text == Closed.String() {
			return []string{"rate"}
		}
	case "store":
		if s, ok := base["store"]; ok && s.Value.Text != value.Text {
			return slices.Concat([]string{"exec", "version", "label", "settings", "env"}, runningClusterKeys)
		}
	}
	return nil
}

// hoistStoreKeys moves the keys in the mapping "store" to the layer that contains this mapping. It
// does nothing if the value of "store" is not a mapping. Errors in the mapping have already been
// reported.
func (p *fileParser) hoistStoreKeys(l layer) layer {
	s, ok := l["store"]
	if !ok || s.Value.Kind != file.Mapping {
		return l
	}
	delete(l, "store")
	for _, pair := range s.Value.Pairs {
		k := pair.Key
		if k == "name" {
			k = "store"
		}
		if _, twice := l[k]; twice {
			p.failf(pair.Pos, "%s is given both in store and outside it; give it only once", k)
		}
		l[k] = pair
	}
	return l
}

// startedClusterKeys lists the keys for clusters that quorumbench starts, and runningClusterKeys
// the keys for running clusters. Keys of the two groups exclude each other.
var (
	startedClusterKeys = []string{"members", "members-on", "exec", "version", "settings", "env"}
	runningClusterKeys = []string{"endpoints", "tls", "user", "dial-timeout", "data-dir"}
)

// checkExclusiveKeys rejects keys that exclude each other.
func (p *fileParser) checkExclusiveKeys(l layer) {
	all := [][2]string{{"duration", "total"}, {"operation", "mix"}, {"version", "exec"}}
	for _, key := range startedClusterKeys {
		all = append(all, [2]string{"endpoints", key})
	}
	for _, c := range all {
		a, first := l[c[0]]
		b, second := l[c[1]]
		if first && second {
			at := a.Pos
			if b.Pos.IsAfter(a.Pos) {
				at = b.Pos
			}
			p.failf(at, "<"+c[0]+"> and <"+c[1]+"> exclude each other; give only one of them")
		}
	}
}
