//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// etcdCluster starts a real cluster that runs until the end of the test.
func etcdCluster(t *testing.T, members string) (endpoints string, playground *cluster.Playground) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster")
	up := exec.Command("quorumbench", "cluster", "up", "--dir", dir, "--members", members)
	out, err := up.Output()
	if err != nil {
		t.Fatalf("cannot start the cluster: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("quorumbench", "cluster", "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("cannot stop the cluster: %v %s", err, out)
		}
	})
	endpoints, _, _ = strings.Cut(string(out), "\n")
	p, err := cluster.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return endpoints, p
}

// patient sets a long dial timeout, because other tests keep the machine busy.
var patient = []string{"--dial-timeout", "1m"}

// checks runs a check and returns its exit code and output. The check may fail on a busy machine,
// so checks accepts any exit code.
func checks(t *testing.T, into any, args ...string) (code int, stdout string) {
	t.Helper()
	c := exec.Command("quorumbench", append(append([]string{"check"}, args...), patient...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the caller checks the exit code
	t.Logf("%v\n%s%s", c.Args, out.String(), errs.String())
	if into != nil {
		if err := json.Unmarshal(out.Bytes(), into); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
	}
	return c.ProcessState.ExitCode(), out.String()
}

// perfJSON and scaleJSON hold the fields that tests read from the output of --format json.
type perfJSON struct {
	State    string `json:"state"`
	NotKnown string `json:"not_known"`
	Due      uint64 `json:"due"`
	Members  int    `json:"members"`
	Errors   []any  `json:"errors"`
	Cleanup  record.Cleanup
}

// exitCode returns the exit code that belongs to the result.
func (p *perfJSON) exitCode() int {
	switch {
	case p.NotKnown != "":
		return command.ExitUndecided
	case p.State == "pass":
		return command.ExitSuccess
	}
	return command.ExitFailed
}

type scaleJSON struct {
	State   string
	Written uint64
	Cleanup record.Cleanup
	Members []struct {
		MemoryBefore *int64 `json:"memory_bytes_before"`
		MemoryAfter  *int64 `json:"memory_bytes_after"`
		DiskBefore   *int64 `json:"database_bytes_before"`
		DiskAfter    *int64 `json:"database_bytes_after"`
	}
}

func TestCheckPerfOfARealCluster(t *testing.T) {
	t.Parallel()
	endpoints, _ := etcdCluster(t, "3")
	var got perfJSON
	code, _ := checks(t, &got, "perf", "--endpoints", endpoints, "--rate", "100", "--clients", "20", "--duration", "2s", "--format", "json")
	if code != got.exitCode() || got.Due != 200 || got.Members != 3 || len(got.Errors) > 0 || got.Cleanup.Deleted < 150 {
		t.Errorf("exit code %d, %+v", code, got)
	}
	// The first check left no keys, so a second check can run. The second check compacts the
	// history and defragments the members.
	code, text := checks(t, nil, "perf", "--endpoints", endpoints, "--rate", "50", "--clients", "20", "--duration", "1s", "--auto-compact", "--auto-defrag")
	want := command.ExitFailed
	switch {
	case strings.Contains("\n"+text, "\nNOT KNOWN: "):
		want = command.ExitUndecided
	case strings.Contains("\n"+text, "\nPASS\n"):
		want = command.ExitSuccess
	}
	if code != want {
		t.Errorf("exit code %d, not %d", code, want)
	}
	for _, label := range []string{"Compacting with revision ", "Compacted with revision ", `Defragmenting "`, `Defragmented "`, "Space of member m1: "} {
		if !strings.Contains(text, "\n"+label) && !strings.HasPrefix(text, label) {
			t.Errorf("%q is not in\n%s", label, text)
		}
	}
	// Although only one of three endpoints is given, the check examines all members.
	first, _, _ := strings.Cut(endpoints, ",")
	_, text = checks(t, nil, "perf", "--endpoints", first, "--rate", "50", "--clients", "20", "--duration", "1s", "--target", "leader", "--verbose")
	for _, member := range []string{"member m1: fsync ", "member m2: fsync ", "member m3: fsync "} {
		if !strings.Contains(text, member) {
			t.Errorf("%q is not in\n%s", member, text)
		}
	}
}

// A check writes nothing where an API server of Kubernetes keeps its objects, even if the check may
// replace other keys.
func TestCheckPerfRefusesKeysOfKubernetes(t *testing.T) {
	t.Parallel()
	endpoints, _ := etcdCluster(t, "1")
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoints}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	put := func(key string) {
		t.Helper()
		if _, err := c.Put(t.Context(), key, "value"); err != nil {
			t.Fatal(err)
		}
	}
	const prefix = "/registry/configmaps/default/bench/"
	put("/registry/namespaces/default")
	args := []string{"perf", "--endpoints", endpoints, "--rate", "20", "--duration", "1s", "--prefix", prefix}
	if code, _ := checks(t, nil, args...); code != ExitNotEmpty {
		t.Errorf("exit code %d", code)
	}
	put(prefix + "other")
	if code, _ := checks(t, nil, append(args, "--overwrite-existing")...); code != ExitNotEmpty {
		t.Errorf("with --overwrite-existing: exit code %d", code)
	}
	if r, err := c.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || r.Count != 2 {
		t.Errorf("counting the keys returned %v and %d keys, want 2 keys", err, r.Count)
	}
}

// The check finds a stopped member, although that member's machine still accepts TCP connections.
func TestCheckPerfFindsAStalledMember(t *testing.T) {
	t.Parallel()
	endpoints, playground := etcdCluster(t, "1")
	pid := playground.Members[0].Process.PID
	b := start(t, "check", "perf", "--endpoints", endpoints, "--rate", "100", "--clients", "20", "--duration", "5s", patient[0], patient[1])
	b.await(t, "0 / 5 s")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	b.await(t, "draining") // the measurement window is over
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	code := b.end()
	text := b.stdout.String()
	for _, part := range []string{"FAIL: Throughput too low: ", "Slowest request took too long: ", "Bottlenecks:", "  member: member m1 ", " TCP connects took "} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if code != command.ExitFailed || !strings.HasSuffix(text, "\nFAIL\n") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

func TestInterruptedCheckRemovesWhatItWrote(t *testing.T) {
	t.Parallel()
	endpoints, _ := etcdCluster(t, "1")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for _, what := range []string{"perf", "datascale"} {
			b := start(t, "check", what, "--endpoints", endpoints, "--load", "xl", patient[0], patient[1])
			b.await(t, " / ") // the check is measuring
			if err := b.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			b.await(t, "interrupted; the written keys have been removed")
			if code := b.end(); code != command.ExitInterrupted {
				t.Errorf("%s, %v: exit code %d", what, signal, code)
			}
			if text := b.stdout.String(); !strings.Contains(text, "INTERRUPTED ") || strings.Contains(text, "PASS") {
				t.Errorf("%s, %v: %s", what, signal, text)
			}
		}
	}
	code, _ := checks(t, nil, "perf", "--endpoints", endpoints, "--rate", "10", "--clients", "5", "--duration", "1s")
	if code == ExitNotEmpty {
		t.Error("the check left keys in the store")
	}
}

func TestInterruptedDiskCheckRemovesItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, "check", "disk", dir, "--size", "64MiB", "--record-size", "16", "--duration", "10m")
	b.await(t, " records [")
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := b.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder contains %v after the check; %v", left, err)
	}
}

// After a disk check is killed, the next check removes the folder of the killed check and reports
// the removal. It does not remove the folder of a running check, or other folders with similar
// names.
func TestFilesOfKilledDiskCheckAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{"quorumbench-data-1/theirs", "quorumbench-fsync-1/theirs"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	check := func(says ...string) *background {
		b := start(t, "check", "disk", dir, "--size", "64MiB", "--record-size", "16", "--duration", "10m")
		for _, text := range append(says, " records [") {
			b.await(t, text)
		}
		return b
	}
	killed := check()
	_ = killed.Process.Kill() // the check is running
	killed.end()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Fatalf("the killed check left %v, %v", left, err)
	}
	going := check(", which a killed command left")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("the folder contains %v while a check runs; %v", left, err)
	}
	if code := start(t, "check", "disk", dir, "--records", "1").end(); code != command.ExitUndecided {
		t.Errorf("exit code %d", code)
	}
	_ = going.Process.Signal(os.Interrupt) // the check is running
	if code := going.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	for _, path := range []string{"quorumbench-data-1/theirs", "quorumbench-fsync-1/theirs"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder contains %v after the check; %v", left, err)
	}
}

func TestCheckDatascaleOfARealCluster(t *testing.T) {
	t.Parallel()
	members := 1
	if settle.Long() {
		members = 3
	}
	endpoints, _ := etcdCluster(t, strconv.Itoa(members))
	var got scaleJSON
	if code, _ := checks(t, &got, "datascale", "--endpoints", endpoints, "--format", "json"); code != command.ExitSuccess {
		t.Errorf("exit code %d", code)
	}
	if got.Written != 10_000 || got.Cleanup.Deleted != 10_000 || len(got.Members) != members || got.State != "pass" {
		t.Errorf("%+v", got)
	}
	for _, m := range got.Members {
		if m.MemoryBefore == nil || m.DiskAfter == nil || *m.MemoryAfter <= 0 || *m.DiskAfter <= *m.DiskBefore {
			t.Errorf("%+v", m)
		}
	}
}

func TestCheckDatascalePrintsEtcdctlLines(t *testing.T) {
	t.Parallel()
	endpoints, _ := etcdCluster(t, "1")
	code, text := checks(t, nil, "datascale", "--endpoints", endpoints, "--load", "small")
	lines := strings.Split(text, "\n")
	if code != command.ExitSuccess || lines[0] != "Start data scale check for work load [10000 key-value pairs, 1024 bytes per key-value, 50 concurrent clients]." ||
		!strings.HasPrefix(lines[1], "PASS: Approximate system memory used : ") || !strings.HasSuffix(lines[1], " MB.") || !strings.HasPrefix(lines[2], "Member m1: memory ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

func TestBarIsPlainWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	b := &bar{Display: command.NewDisplay(&out, nil), total: 60, unit: " s", requestNoun: "writes"}
	for at := range 25 {
		b.seconds(checkProgress(at))
	}
	want := "0 / 60 s [                                        ] 0.0%, 0 writes, 0 errors\n" +
		"10 / 60 s [======                                  ] 16.7%, 1,000 writes, 0 errors\n" +
		"20 / 60 s [=============                           ] 33.3%, 2,000 writes, 0 errors\n"
	if out.String() != want {
		t.Errorf("the output is\n%s, want\n%s", out.String(), want)
	}
	out.Reset()
	b = &bar{Display: command.NewDisplay(&out, func() int { return 30 }), total: 60, unit: " s", requestNoun: "writes"}
	b.seconds(checkProgress(30))
	if shown := program.Screen(out.String()); shown[0] != "30 / 60 s [==================" {
		t.Errorf("the terminal shows %q", shown)
	}
	if b.Clear(); strings.Join(program.Screen(out.String()), "\n") != "" {
		t.Errorf("after Clear, the output is %q", out.String())
	}
}

func checkProgress(second int) runner.Progress {
	return runner.Progress{Stage: runner.Measuring, WindowElapsed: time.Duration(second) * time.Second, Succeeded: uint64(100 * second)}
}
