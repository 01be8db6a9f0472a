package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	comparing "github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestCSV compares the columns of every CSV file with the golden file. For most metrics, package
// report tests the columns of comparisons.csv; this test covers the metrics that have other
// columns. It does not run in parallel with other tests, so with -update, csv.txt is written before
// TestReference reads the file.
func TestCSV(t *testing.T) {
	var all strings.Builder
	columns := func(file string, head []byte) {
		line, _, _ := strings.Cut(string(head), "\n")
		fmt.Fprintf(&all, "== %s\n%s\n", file, strings.ReplaceAll(line, ",", "\n"))
	}
	w, err := record.Create(t.TempDir(), "golden", noon, record.Run{Name: "golden", Planned: 1})
	must(t, err)
	for _, watchers := range []bool{false, true} {
		c := record.Conditions{Number: 1, Name: "plain", Repeat: 1, Repeats: 1}
		of := ""
		if watchers {
			c.Number, c.Name, c.Watch, of = 2, "watched", &scenario.Watch{Watchers: 1}, ", with watchers"
		}
		tw, err := w.Trial(c, noon)
		must(t, err)
		must(t, tw.Begin(measure.Measured, noon))
		second := &measure.Second{Phase: measure.Measured}
		must(t, tw.Second(second))
		must(t, tw.Machines([]*record.MachineRow{{Time: noon, Name: "m1"}}))
		must(t, tw.Store(&record.StoreRow{Time: noon, Name: "m1"}))
		for _, name := range []string{"timeline.csv", "machines.csv", "stores.csv"} {
			if watchers && name != "timeline.csv" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(tw.Dir(), name))
			must(t, err)
			columns(name+of, b)
		}
		must(t, tw.Abort(record.Complete, ""))
	}
	must(t, w.Finish(record.Complete, "", noon))

	run := &record.Run{Name: "golden", Trials: []record.Trial{{}}}
	var b bytes.Buffer
	must(t, report.CSV(&b, report.Trials(run, scenario.Parameters(load.Applications()))))
	columns("report --format csv", b.Bytes())
	whole := &record.Run{Name: "golden", Trials: []record.Trial{*filled[record.Trial]()}}
	whole.Trials[0].State = record.Complete
	for _, of := range []struct {
		file  string
		write func(*record.Run) report.Finding
	}{{"faults.csv", report.Faults}, {"calls.csv", report.Calls}} {
		b.Reset()
		must(t, report.CSV(&b, of.write(whole)))
		columns("report --format csv --out, "+of.file, b.Bytes())
	}
	b.Reset()
	by, err := comparing.ParseMetrics([]string{"ops", "p99.9", "gap", "errors", "store-cpu"})
	must(t, err)
	compared, err := comparing.Compare(run, run, by)
	must(t, err)
	must(t, report.CSV(&b, report.Comparison(compared)))
	columns("compare --format csv --metric ops --metric p99.9 --metric gap --metric errors --metric store-cpu", b.Bytes())
	compare(t, "csv.txt", all.String())
}

// TestJSON compares the keys and types in all JSON output with the golden file. It encodes values
// in which every field is set. The keys of loads come from the examples in the folder scenarios.
func TestJSON(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var all strings.Builder
	keys := func(what string, found map[string]string) {
		fmt.Fprintf(&all, "== %s\n", what)
		for _, path := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&all, "%s %s\n", path, found[path])
		}
	}
	of := func(what string, value any) {
		b, err := json.Marshal(value)
		must(t, err)
		found := map[string]string{}
		paths(t, b, found)
		keys(what, found)
	}
	run := filled[record.Run]()
	trial, capacity := run.Trials[0], run.Capacity
	run.Trials, run.Capacity, run.CapacityByParameter.Searches = nil, nil, nil
	of("run.json, without the parts listed below", run)
	of("trial", trial)
	of("capacity", capacity)
	of("events.jsonl", filled[record.Event]())
	of("slots.jsonl", filled[measure.WindowSecond]())
	of("check machine --format json", filled[record.Calibration]())

	written := func(what string, f report.Finding) {
		var b bytes.Buffer
		must(t, report.JSON(&b, f))
		found := map[string]string{}
		paths(t, b.Bytes(), found)
		keys(what, found)
	}
	two := &record.Run{Name: "golden", Started: noon, Trials: []record.Trial{{Conditions: record.Conditions{Name: "put", Number: 1, Repeat: 1, Repeats: 1}}}}
	by, err := comparing.ParseMetrics([]string{"ops", "p99.9", "errors"})
	must(t, err)
	compared, err := comparing.Compare(two, two, by)
	must(t, err)
	comparing.Judge(0.03, compared)
	written("compare --format json", report.Comparison(compared))
	written("report --format json of several runs, with trials of which nothing is known", report.Runs([]*record.Run{two}))
	capacities := filled[size.CapacityFindings]()
	written("capacity --over --format json", report.Capacity(capacities, "runs/golden"))
	capacities.Parameter = ""
	written("capacity --format json", report.Capacity(capacities, "runs/golden"))
	sized := filled[size.Sized]()
	sized.FirstExhausted = 0
	written("size --format json", report.Sizes([]*size.Sized{sized}))
	written("check disk --format json", report.DiskCheck(filled[limits.DiskCheck]()))
	written("check hosts --format json", report.HostsCheck(filled[preflight.Check]()))
	perf := filled[limits.PerfCheck]()
	perf.Pass = false
	written("check perf --format json, failed", report.PerfCheck(perf, "s", false))
	written("break --format json", report.Effect(filled[faults.Effect]()))
	written("check members --format json", report.MembersCheck(filled[limits.MembersCheck]()))
	written("check datascale --format json", report.ScaleCheck(filled[limits.ScaleCheck](), "s", false))

	encoded := map[string]string{}
	files, err := filepath.Glob("../../../scenarios/*.yaml")
	must(t, err)
	scenarios := []*scenario.Scenario{}
	for _, file := range files {
		s, err := scenario.ParseFile(file, registry.Catalog{Apps: load.Applications}, scenario.Options{})
		must(t, err)
		scenarios = append(scenarios, s)
	}
	s, err := scenario.Parse("loads.yaml", []byte(loads), registry.Catalog{Apps: load.Applications}, scenario.Options{})
	must(t, err)
	for _, s := range append(scenarios, s) {
		for i := range s.Trials {
			b, err := s.Trials[i].Load.Encode()
			must(t, err)
			paths(t, b, encoded)
		}
	}
	keys("load of a trial, as the examples and the loads of this test have it", encoded)
	compare(t, "json.txt", all.String())
}

// loads is a scenario with the parameters that are in no example.
const loads = `
trials:
  - {name: a, store: etcd, operation: range, range-key: a, range-end: b, range-limit: 5, total: 100, allow-volatile: true, require-memory: true}
  - {name: b, store: etcd, operation: put, rate: 100, arrival: poisson, max-in-flight: 10, duration: 60s, compact: {every: 1s, behind: 100}, compact-first: true,
     cleanup: true, cleanup-compact: true, cleanup-defragment: true, compare-hashes: true, distribution: "hotspot:0.1:0.9", prefix: p/, verify: true, threads: 1}
  - {name: c, store: etcd, operation: cas, duration: 60s, distribution: "zipfian:0.9", target: "member:2",
     faults: ["delay follower at 1s for 2s by 100ms direction in", "random any at 10s for 3s every 20s of kill/pause", "rolling-upgrade at 50s to default"]}
  - {name: d, store: etcd, operation: txn, txn-keys: 3, duration: 5s, overwrite-existing: true, cluster-wide: true}
  - {name: e, store: zookeeper, operation: put, duration: 5s, watch: {watchers: 2, mode: persistent}}
`

// filled returns a value in which every field is set.
func filled[T any]() *T {
	var v T
	fill(reflect.ValueOf(&v).Elem())
	return &v
}

// paths adds the path and the type of each value in a JSON text to the map. The path of a list
// element contains [].
func paths(t *testing.T, b []byte, to map[string]string) {
	t.Helper()
	var value any
	must(t, json.Unmarshal(b, &value))
	var walk func(path string, value any)
	walk = func(path string, value any) {
		kind := "null"
		switch v := value.(type) {
		case map[string]any:
			kind = "object"
			for key, below := range v {
				walk(path+"."+key, below)
			}
		case []any:
			kind = "list"
			for _, below := range v {
				walk(path+"[]", below)
			}
		case string:
			kind = "string"
		case float64:
			kind = "number"
		case bool:
			kind = "boolean"
		}
		if path == "" {
			return
		}
		if before := to[path]; before != "" && before != kind {
			words := append(strings.Split(before, "|"), kind)
			slices.Sort(words)
			kind = strings.Join(slices.Compact(words), "|")
		}
		to[path] = kind
	}
	walk("", value)
}

// fill sets every exported field that is encoded as JSON, except loads. Pointers point to a filled
// value, and maps have one entry. Numbers are 1 and may be indices, so slices have two elements.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(noon))
		return
	case scenario.Load:
		return
	case json.RawMessage:
		v.SetBytes([]byte("{}"))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("KEY")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	default:
		switch {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		}
	}
}
