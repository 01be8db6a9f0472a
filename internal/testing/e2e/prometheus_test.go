//go:build linux

package e2e_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// bucketWidth is the ratio of the upper bound of a bucket in the native histograms to its lower
// bound, with schema 5. The steps of the recorded histograms add 0.1 %.
var bucketWidth = math.Exp2(1.0/32) * 1.001

// After a real Prometheus has scraped a run, the figures in Prometheus are exactly the recorded
// figures, and every query of the dashboard returns samples. Only the first repeat is compared,
// because Prometheus may miss the last moments of a run.
func TestPrometheusScrapesARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := servers.StartPrometheus(t)
	began := time.Now()
	dir := w.path("run")
	out := benchForPrometheus(t, w, dir, "--duration", "5s", "--repeats", "2", "--metrics", p.Target)
	if note := "metrics are served at http://" + p.Target + "/metrics until the run ends\n"; strings.Count(out.stderr.String(), note) != 1 {
		t.Errorf("stderr does not contain %q exactly once", note)
	}
	comparePrometheus(t, p, dir, 0, began, "")
	checkDashboard(t, p, began, "4s")
}

// In this run, agents generate the load, and the run pushes its metrics to a real Prometheus.
// Afterwards, the figures in Prometheus are exactly the recorded figures, including those of the
// last moments of the run. Each agent has its own CPU time and memory.
func TestPrometheusReceivesARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := servers.StartPrometheus(t)
	endpoint := w.nullServer(t, "--script", nullScript)
	var hosts []string
	for _, name := range []string{"gen1", "gen2"} {
		agent := w.start(t, "agent", "--listen", "unix:"+w.path(name+".sock"), "--dir", w.path(name), "--heartbeat", "10s")
		eventually(t, patience, "the agent "+name+" listens", func() bool { return strings.Contains(agent.stdout.String(), name+".sock") })
		defer func() {
			_ = syscall.Kill(agent.pid, syscall.SIGTERM) // if this fails, the next line fails
			agent.exits(t, exitDone)
		}()
		hosts = append(hosts, "{name: "+name+", address: 'unix:"+w.path(name+".sock")+"', via: agent}")
	}
	w.file(t, "agents.yaml", `
name: agents
order: written
hosts: [`+strings.Join(hosts, ", ")+`]
defaults: {store: etcd, endpoints: ['`+endpoint+`'], operation: put, rate: 500, connections: 4, key-space: 1000, warmup: 500ms, compact: {every: 1s, behind: 100}, cluster-wide: true}
trials:
- {name: put, workers: 2, workers-on: [gen1, gen2], duration: 7s}
- {name: one, workers-on: [gen1], duration: 3s}
`)
	began := time.Now()
	dir := w.path("run")
	out := w.run(t, "run", "agents.yaml", "--out", dir, "--push", p.URL+"/api/v1/write")
	checkMeasured(t, out)
	if said := out.stderr.String(); strings.Contains(said, "warning: ") {
		t.Errorf("pushes failed: %s", said)
	}
	const labels = `,job="quorumbench",instance!=""`
	comparePrometheus(t, p, dir, 0, began, labels)
	comparePrometheus(t, p, dir, 1, began, labels)
	compareAgents(t, p, dir, began)
	now := time.Now()
	for expression, want := range map[string]int{ // ended subjects have no current value
		`quorumbench_phase`: 1, `quorumbench_in_flight{trial="put"}`: 0, `quorumbench_in_flight{trial="one"}`: 1, `quorumbench_process_cpu_seconds_total{process="generator gen2"}`: 0,
	} {
		if all := p.Query(t, expression, now, now); len(all) != want {
			t.Errorf("at the end of the run, %s has %d series, not %d", expression, len(all), want)
		}
	}
	checkDashboard(t, p, began, "20s")
}

// compareAgents compares the resource use of the agents in Prometheus with the recorded samples.
// Prometheus must have the last sample of the agent that generated the load of the last trial.
func compareAgents(t *testing.T, p *servers.Prometheus, dir string, began time.Time) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := record.OpenMachines(dir, run.Trials[1].Folder)
	if err != nil {
		t.Fatal(err)
	}
	var last record.MachineRow
	for _, r := range rows {
		if r.Name == record.OtherGenerator("gen1") {
			last = r
		}
	}
	now := time.Now().Add(time.Second)
	for metric, want := range map[string]float64{"quorumbench_process_cpu_seconds_total": last.CPU(), "quorumbench_process_resident_memory_bytes": last.RSS} {
		all := p.Query(t, metric+`{process=~"generator gen[12]"}`, began, now)
		if len(all) != 2 {
			t.Errorf("%d agents have the series %s", len(all), metric)
		}
		for i := range all {
			if x := all[i].Last(); x <= 0 || all[i].Labels["process"] == last.Name && math.Abs(x-want) > 1e-6*want {
				t.Errorf("%s of %s is %v, but the last sample is %v", metric, all[i].Labels["process"], x, want)
			}
		}
	}
}

// nullScript makes a null server refuse some operations.
const nullScript = "delay=exponential(2ms); error=unavailable every 500"

// benchForPrometheus runs `bench put` on a null server that refuses some operations.
func benchForPrometheus(t *testing.T, w *world, dir string, args ...string) *startedProgram {
	t.Helper()
	endpoint := w.nullServer(t, "--script", nullScript)
	out := w.run(t, append([]string{
		"bench", "put", "--endpoints", endpoint, "--rate", "500", "--clients", "20", "--compact-interval", "1s", "--compact-index-delta", "100", "--out", dir,
	}, args...)...)
	checkMeasured(t, out)
	return out
}

// checkMeasured checks that a run was completed. On a busy machine, its verdict may be invalid.
func checkMeasured(t *testing.T, out *startedProgram) {
	t.Helper()
	if code := out.state.ExitCode(); code != exitDone && code != exitFailed {
		t.Fatalf("the exit code is %d: %s", code, out.stderr.String())
	}
}

// comparePrometheus compares the figures of a trial in Prometheus with the recorded figures. The
// parameter `index` is the index of the trial in the record, and `labels` contains further label
// matchers, each after a comma.
func comparePrometheus(t *testing.T, p *servers.Prometheus, dir string, index int, began time.Time, labels string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &run.Trials[index]
	selected := `{trial="` + r.Name + `",store="etcd",repeat="1"` + labels
	now := time.Now().Add(time.Second) // so that the last step of the query is after the last sample
	last := func(expression string) float64 {
		t.Helper()
		all := p.Query(t, expression, began, now)
		if len(all) != 1 {
			t.Fatalf("%s returns %d series", expression, len(all))
		}
		return all[0].Last()
	}
	want := map[string]uint64{
		`quorumbench_operations_due_total` + selected + `}`:                                                 r.Due,
		`quorumbench_operations_done_total` + selected + `,operation="put"}`:                                r.Completed,
		`sum(quorumbench_operations_total` + selected + `,operation="put"})`:                                r.Due,
		`quorumbench_operations_total` + selected + `,outcome="ok"}`:                                        r.Operations,
		`histogram_count(quorumbench_response_time_seconds` + selected + `})`:                               r.Operations,
		`histogram_count(quorumbench_service_time_seconds` + selected + `})`:                                r.Operations,
		`sum(quorumbench_operations_total` + selected + `,outcome!~"ok|miss|conflict|stale|unverifiable"})`: r.Errors,
	}
	for kind, n := range r.ErrorsByKind {
		want[`quorumbench_operations_total`+selected+`,outcome="`+kind+`"}`] = n
	}
	for expression, n := range want {
		if got := last(expression); got != float64(n) {
			t.Errorf("%s is %v, but the record has %d", expression, got, n)
		}
	}
	if r.Errors == 0 || r.Operations < 1000 { // a p99 needs 1,000 operations
		t.Errorf("the run has %d operations and %d errors", r.Operations, r.Errors)
	}
	for _, q := range []struct {
		name string
		p    float64
	}{{"0.5", 50}, {"0.9", 90}, {"0.99", 99}} {
		figure := r.SuccessResponseTime.Percentile(q.p)
		got := last(`histogram_quantile(` + q.name + `, quorumbench_response_time_seconds` + selected + `})`)
		if ratio := got * 1e9 / figure.NS; !figure.Known || ratio > bucketWidth || ratio < 1/bucketWidth {
			t.Errorf("p%v is %v s, but the record has %v ns (ratio %v)", q.p, got, figure, ratio)
		}
	}
}

// checkDashboard checks that every query of every panel of the dashboard returns samples.
func checkDashboard(t *testing.T, p *servers.Prometheus, began time.Time, rateInterval string) {
	t.Helper()
	b, err := os.ReadFile("../../../deploy/grafana/quorumbench.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) < 10 {
		t.Fatalf("the dashboard has only %d panels", len(dashboard.Panels))
	}
	substitute := strings.NewReplacer("$__rate_interval", rateInterval, "$trial", "put", "$store", "(etcd|consul)")
	now := time.Now().Add(time.Second) // so that the last step of the query is after the last sample
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			expression := substitute.Replace(target.Expr)
			known := 0
			for _, s := range p.Query(t, expression, began, now) {
				for _, x := range s.Values {
					if !math.IsNaN(x) {
						known++
					}
				}
			}
			if strings.Contains(expression, "$") || known == 0 {
				t.Errorf("the panel %q has %d samples for %s", panel.Title, known, expression)
			}
		}
	}
}
