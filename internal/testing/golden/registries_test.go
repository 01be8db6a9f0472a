package golden

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// entry writes a heading and indented lines. The parameter `lines` contains pairs of a label and a
// text. entry omits a pair whose text is empty.
func entry(to *strings.Builder, heading string, lines ...string) {
	to.WriteString(heading + "\n")
	for i := 0; i < len(lines); i += 2 {
		if lines[i+1] != "" {
			fmt.Fprintf(to, "  %s: %s\n", lines[i], lines[i+1])
		}
	}
}

// ifSo returns the word if the condition is true, and an empty string otherwise.
func ifSo(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

// TestParameters compares the parameters of trials with the golden file. TestReference compares the
// parameters' meanings, their ranges, and their defaults in scenario files with
// docs/reference/scenarios.md.
func TestParameters(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	of, stm := scenario.DefaultLoad(), scenario.DefaultSTM()
	of.STM, of.Watch = &stm, &scenario.Watch{Streams: 1}
	for _, p := range scenario.Parameters(load.Applications()) {
		features := make([]string, 0, len(p.Features))
		for _, f := range p.Features {
			features = append(features, f.String())
		}
		entry(&all, p.Key,
			"flag", "--"+p.FlagName(), "takes", p.Hint(), "meaning", p.Meaning, "differs as", p.DifferenceName, "note", p.Note,
			"store needs", strings.Join(features, ", "), "of a load", ifSo(p.BelongsToLoad(), "yes"), "open loop only", ifSo(p.OpenLoop, "yes"),
			"closed loop only", ifSo(p.ClosedLoop, "yes"), "default in flags", p.Text(&of), "range", p.Bounds())
	}
	compare(t, "parameters.txt", all.String())
}

// TestFigures compares the registry of figures with the golden file.
func TestFigures(t *testing.T) {
	t.Parallel()
	units := map[measure.Unit]string{
		measure.Nanoseconds: "nanoseconds", measure.Seconds: "seconds", measure.Length: "length in seconds", measure.Number: "number",
		measure.Ratio: "ratio", measure.Rate: "a second", measure.Share: "share", measure.Bytes: "bytes",
	}
	better := map[figures.Direction]string{figures.LowerIsBetter: "less", figures.HigherIsBetter: "more"}
	var all strings.Builder
	for _, f := range figures.All() {
		below := ""
		if f.ResolutionLimit > 0 {
			below = fmt.Sprint(f.ResolutionLimit)
		}
		name, field, meaning := f.Name, f.Field, f.Meaning
		if f.Times != nil && field == "" {
			field = f.Times.Field
		}
		entry(&all, "figure "+name,
			"field", field, "column", f.Column, "title", f.Title, "interval line", f.IntervalKey, "unit", units[f.Unit], "better", better[f.Direction],
			"of all members", ifSo(f.SumsMembers, "yes"), "wide tables only", ifSo(f.Wide, "yes"), "in last interval line", ifSo(f.AtEnd, "yes"),
			"not shown below", below, "share of a whole", ifSo(f.Total != nil, "yes"), "has a requirement", ifSo(f.Requires != nil, "yes"),
			"missing because", f.MissingReason, "meaning", meaning)
	}
	compare(t, "figures.txt", all.String())
}

// TestVocabulary compares the words that files, flags and tables share with the golden file.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	all.WriteString("== operations\n")
	for k := range kv.NumKinds {
		entry(&all, k.String(), "writes", ifSo(k.Writes(), "yes"), "reads", ifSo(k.Reads(), "yes"), "one key", ifSo(k.HasOneKey(), "yes"),
			"has a value", ifSo(k.HasValue(), "yes"), "one request", ifSo(k.SingleRequest(), "yes"))
	}
	all.WriteString("\n== consistency levels\n")
	for c := range kv.NumConsistencies {
		fmt.Fprintf(&all, "%q\n", c)
	}
	all.WriteString("\n== outcomes\n")
	for o := range kv.NumOutcomes {
		entry(&all, o.String(), "an error", ifSo(o.Failed(), "yes"), "definite", ifSo(o.Definite(), "yes"))
	}
	all.WriteString("\n== roles\n")
	for r := range kv.NumRoles {
		all.WriteString(r.String() + "\n")
	}
	all.WriteString("\n== watch modes\n")
	for m := range kv.NumWatchModes {
		fmt.Fprintf(&all, "%q\n", m)
	}
	all.WriteString("\n== isolation levels and lockers\n")
	for i := range kv.NumIsolations {
		all.WriteString(i.String() + "\n")
	}
	for l := range kv.NumLockers {
		all.WriteString(l.String() + "\n")
	}
	all.WriteString("\n== features\n")
	for f := range kv.NumFeatures {
		all.WriteString(f.String() + "\n")
	}
	all.WriteString("\n== stores\n")
	for _, name := range registry.Names() {
		all.WriteString(name + "\n")
	}
	all.WriteString("\n== events of members' logs\n")
	for _, k := range store.SignalKinds() {
		entry(&all, string(k), "says", k.Predicate())
	}
	all.WriteString("\n== events of faults\n")
	for _, word := range []string{record.FaultBegan, record.FaultHealed, record.FaultReady, record.FaultUndone, record.FaultStep} {
		all.WriteString(word + "\n")
	}
	compare(t, "vocabulary.txt", all.String())
}

// TestFaults compares the fault kinds, and the result of parsing each form of a fault, with the
// golden file.
func TestFaults(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var all strings.Builder
	kinds := append(fault.All(), fault.Random)
	for _, k := range kinds {
		entry(&all, "fault "+k.String(),
			"needs a disk that fails", ifSo(k.NeedsDisk(), "yes"), "needs a network", ifSo(k.NeedsNetwork(), "yes"),
			"of a follower", ifSo(k.AffectsFollower(), "yes"), "of the cluster", ifSo(k.AffectsCluster(), "yes"), "changes the cluster", ifSo(k.ChangesCluster(), "yes"))
	}
	forms := []string{
		"KIND at 10s",
		"KIND leader at 10s",
		"KIND follower at 10s",
		"KIND leader at 10s for 3s",
		"KIND follower at 10s for 3s every 20s repeat 2",
		"KIND m2 at 10s for 3s every 20s",
		"KIND any at 10s for 3s",
		"KIND all at 10s for 3s",
		"KIND m4 at 10s for 3s",
		"KIND follower at 10s for 3s by 100ms",
		"KIND follower at 10s for 3s by 20%",
		"KIND follower at 10s for 3s by 100KB",
		"KIND follower at 10s by 1s",
		"KIND m2 at 10s for 3s by -1h",
		"KIND follower at 10s for 3s to 1MB/s",
		"KIND follower at 10s for 3s direction in",
		"KIND m1 at 10s for 3s from m2",
		"KIND m1 at 10s for 3s from clients",
		"KIND m1 at 10s to 3.7.0",
		"KIND all at 10s to default",
		"KIND any at 10s for 3s every 20s of kill/pause",
		"KIND leader at 10s for 3s of kill",
		"KIND leader at 58s for 10s",
		"KIND leader at 10s for 3s wrong 1",
	}
	all.WriteString("\n")
	for _, k := range kinds {
		fmt.Fprintf(&all, "== %s\n", k)
		for _, form := range forms {
			text := strings.Replace(form, "KIND", k.String(), 1)
			fmt.Fprintf(&all, "%s\n    %s\n", text, faultAnswer(text))
		}
	}
	compare(t, "faults.txt", all.String())
}

// faultAnswer returns the parsed fault of a scenario as text, or the error.
func faultAnswer(text string) string {
	file := fmt.Sprintf("trials:\n  - {name: a, store: etcd, members: 3, settings: {tls: true, quota-backend-bytes: 67108864}, operation: put, duration: 60s, faults: %q}\n", text)
	s, err := scenario.Parse("f.yaml", []byte(file), registry.Catalog{Apps: load.Applications}, scenario.Options{})
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "\n    ")
	}
	load := &s.Trials[0].Load
	b, err := load.Encode()
	if err != nil {
		return err.Error()
	}
	var recorded struct {
		Faults json.RawMessage `json:"faults"`
	}
	if err := json.Unmarshal(b, &recorded); err != nil {
		return err.Error()
	}
	answer := fmt.Sprintf("read as: %s\n    recorded as: %s", load.Faults[0], recorded.Faults)
	return strings.Join(append([]string{answer}, s.Warnings...), "\n    ")
}

// Each kind of JSON object has its own schema, which the code declares once.
func TestEachSchemaHasOneDeclaration(t *testing.T) {
	t.Parallel()
	schema := regexp.MustCompile(`"quorumbench/([a-z-]+)/[0-9]*"`)
	declared := map[string]string{}
	for _, root := range []string{"../../../cmd", "../../../internal", "../../../tools"} {
		must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range schema.FindAllSubmatch(source, -1) {
				kind := string(found[1])
				if first, exists := declared[kind]; exists {
					t.Errorf("%s and %s declare a schema quorumbench/%s", first, path, kind)
				}
				declared[kind] = path
			}
			return nil
		}))
	}
	if _, exists := declared["run"]; !exists || len(declared) < 8 {
		t.Errorf("found only the schemas %v", declared)
	}
}
