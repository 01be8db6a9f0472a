//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The caller's environment does not affect members. The scenario's variables are recorded and
// reported.
func TestMembersGetACleanEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "ETCD_UNSAFE_NO_FSYNC=true", "ETCD_LISTEN_METRICS_URLS=http://127.0.0.1:1",
		"JAVA_TOOL_OPTIONS=-Dzookeeper.forceSync=no", "GODEBUG=madvdontneed=1", "HTTP_PROXY=http://127.0.0.1:1", "CONSUL_HTTP_TOKEN=secret")
	text := strings.Replace(long, "{store: etcd,", "{store: etcd, env: {ETCD_EXAMPLE: given},", 1)
	if text == long {
		t.Fatalf("the scenario has no defaults:\n%s", long)
	}
	dir := w.path("run")
	p := w.start(t, "run", w.file(t, "long.yaml", text), "--out", dir)
	p.measuring(t, dir, "trial-02-endless")
	members := 0
	for _, m := range w.members() {
		pid := m.pid
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(b) == 0 {
			continue
		}
		members++
		given := false
		for _, v := range bytes.Split(bytes.TrimRight(b, "\x00"), []byte{0}) {
			name, value, _ := strings.Cut(string(v), "=")
			given = given || name == "ETCD_EXAMPLE" && value == "given"
			if !slices.Contains([]string{"PATH", "HOME", "TMPDIR", "JAVA_HOME", "ETCD_EXAMPLE"}, name) && !strings.HasPrefix(name, "QUORUMBENCH_") {
				t.Errorf("member %d has the variable %s", pid, v)
			}
		}
		if !given {
			t.Errorf("the environment of member %d lacks the scenario's variable: %q", pid, b)
		}
	}
	if members == 0 {
		t.Error("no member was examined")
	}
	p.interrupt(t)
	p.exits(t, exitInterrupted)
	run := opened(t, dir)
	if len(run.Clusters) == 0 || run.Clusters[0].Env["ETCD_EXAMPLE"] != "given" || run.Trials[0].Env["ETCD_EXAMPLE"] != "given" {
		t.Errorf("the record has no environment: %+v", run.Clusters)
	}
	report := w.run(t, "report", dir)
	report.exits(t, exitDone)
	if !strings.Contains(report.stdout.String(), "with the environment ETCD_EXAMPLE=given") {
		t.Errorf("the report does not contain the environment:\n%s", report.stdout.String())
	}
}
