package web

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// leaf sets a value in a JSON document.
type leaf func(value any)

// leaves returns the leaves of a document, in the order of its keys.
func leaves(of any) (all []leaf) {
	visit := func(child any, put leaf) {
		if more := leaves(child); len(more) > 0 {
			all = append(all, more...)
		}
		all = append(all, put) // also replace a whole object
	}
	switch v := of.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			visit(v[k], func(value any) { v[k] = value })
		}
	case []any:
		for i := range v {
			visit(v[i], func(value any) { v[i] = value })
		}
	}
	return all
}

// FuzzReports searches for a value in run.json that makes a report panic, breaks a page, or injects
// an element into a page.
func FuzzReports(f *testing.F) {
	settle.SkipUnderRace(f)
	dir := made{name: "fuzz", seconds: 3, trials: 2, open: true}.record(f)
	path := filepath.Join(dir, "run.json")
	whole, err := os.ReadFile(path)
	must(f, err)
	values := []string{`null`, `-1`, `1e308`, `9223372036854775807`, `"</title><img src=x onerror=alert(1)>"`, `[]`, `{}`, `[null]`, `""`, `true`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`}
	var document any
	must(f, json.Unmarshal(whole, &document))
	step := 23
	if settle.Long() {
		step = 1
	}
	for i := 0; i < len(leaves(document))*len(values); i += step {
		f.Add(uint16(i/len(values)), values[i%len(values)])
	}
	f.Fuzz(func(t *testing.T, place uint16, value string) {
		var document, replaced any
		must(t, json.Unmarshal(whole, &document))
		if json.Unmarshal([]byte(value), &replaced) != nil {
			return
		}
		all := leaves(document)
		all[int(place)%len(all)](replaced)
		b, err := json.Marshal(document)
		must(t, err)
		must(t, os.WriteFile(path, b, 0o600))
		run, err := record.Open(dir)
		if err != nil {
			if text := err.Error(); text == "" || strings.Contains(text, "\n") {
				t.Errorf("the error is no sentence: %q", text)
			}
			return
		}
		figures.ReadTrialFiles(run, dir)
		pageOfRun(t, run)
		charts, _ := Charts(run, nil, AllCharts)
		for _, c := range charts {
			wellFormed(t, c.Text)
		}
		var out bytes.Buffer
		must(t, report.Text(&out, report.Run(run, nil, dir), true))
		must(t, report.Markdown(&out, report.Run(run, nil, "")))
		must(t, report.CSV(&out, report.Trials(run, scenario.Parameters(nil))))
	})
}
