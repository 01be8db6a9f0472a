package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// checkFails and checkPasses contain outputs of `etcdctl check perf --load l`. They do not include
// the progress bar, which etcdctl writes to standard error.
const (
	checkFails = `FAIL: Throughput too low: 6732 writes/s
PASS: Slowest request took 0.103912s
PASS: Stddev is 0.004049s
FAIL
`
	checkPasses = `PASS: Throughput is 7951 writes/s
PASS: Slowest request took 0.042101s
PASS: Stddev is 0.001250s
PASS
`
)

func TestParseEtcdctl(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Figures
	}{
		{"fails", checkFails, Figures{PerSecond: 6731, Check: &Check{Slowest: 103_912_000, Stddev: 4_049_000}}},
		{"passes", checkPasses, Figures{PerSecond: 7950, Check: &Check{Pass: true, Slowest: 42_101_000, Stddev: 1_250_000}}},
		{
			"fails in everything",
			"FAIL: too many errors\nFAIL: ERROR(etcdserver: request timed out) -> 12\n" + "FAIL: Throughput too low: 100 writes/s\n" +
				"Slowest request took too long: 5.000000s\nStddev too high: 1.500000s\nFAIL\n",
			Figures{PerSecond: 99, Check: &Check{Slowest: 5e9, Stddev: 1.5e9}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := parseEtcdctl(c.text, 8000)
			if err != nil {
				t.Fatal(err)
			}
			round := cmp.Transformer("whole", func(v float64) int64 { return int64(v + 0.5) })
			if d := cmp.Diff(c.want, f, round); d != "" {
				t.Error(d)
			}
		})
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no verdict"},
		{"keys are left", `Error: prefix "/etcdctl-check-perf/" has keys. Delete with 'etcdctl del' first`, "has keys"},
		{"no last line", strings.TrimSuffix(checkFails, "FAIL\n"), "no verdict"},
		{"another line format", strings.Replace(checkPasses, "Stddev is", "Deviation is", 1), "no verdict"},
		{"nothing written", strings.Replace(checkFails, "6732", "1", 1), "no operation was completed"},
		{"another load", strings.Replace(checkPasses, "7951", "79510", 1), "more than twice"},
		{"no number", strings.Replace(checkPasses, "0.042101", "0.0.4", 1), "no verdict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parseEtcdctl(c.text, 8000); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

const checkResult = `{
  "check": "perf", "load": "l", "store": "etcd", "rate": 8000, "clients": 500, "duration_seconds": 10,
  "state": "pass", "lines": ["PASS: Throughput is 8000 writes/s"], "seconds": 10, "due": 80000, "not_sent": 0,
  "writes_per_second": 7999.8, "slowest_seconds": 0.0125, "stddev_seconds": 0.0005, "errors": [], "causes": [],
  "cleanup": {"done": true}
}`

func TestParseCheck(t *testing.T) {
	f, err := parseCheck(checkResult)
	if err != nil {
		t.Fatal(err)
	}
	want := Figures{Operations: 79_998, PerSecond: 7999.8, Check: &Check{Pass: true, Slowest: 12.5e6, Stddev: 500_000}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	// A check that did not pass is also a result.
	if f, err = parseCheck(strings.Replace(checkResult, `"pass"`, `"fail"`, 1)); err != nil || f.Check.Pass {
		t.Errorf("parsing a failed check returned %+v, %v", f, err)
	}
	for name, bad := range map[string]string{
		"nothing":      "",
		"text":         "quorumbench: no",
		"interrupted":  strings.Replace(checkResult, `"pass"`, `"interrupted"`, 1),
		"nothing done": strings.Replace(checkResult, "7999.8", "0", 1),
	} {
		if _, err := parseCheck(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// quorumbench must receive the load by name, and must receive a duration only if the duration
// differs from checkSpan.
func TestCheckArguments(t *testing.T) {
	w := Work{Case: Case{Store: "etcd", Load: "l", Duration: checkSpan}, Endpoint: "127.0.0.1:2379"}
	if got := strings.Join(w.checkArguments(), " "); got != "check perf --store etcd --endpoints 127.0.0.1:2379 --load l --format json" {
		t.Errorf("got %q", got)
	}
	w.Duration = 10 * time.Second
	if got := strings.Join(w.checkArguments(), " "); !strings.HasSuffix(got, "--duration 10s") {
		t.Errorf("got %q", got)
	}
}

// etcdctl must have the same version as the built-in etcd server, and the versions of all its
// dependencies must be pinned.
func TestEtcdctlIsTheServersVersion(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "go.etcd.io/etcd/server/v3 v"+etcdctlVersion) {
		t.Errorf("go.mod does not require the server of etcd %s, which is the version of etcdctl", etcdctlVersion)
	}
	source, err := etcdctlSource()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"go.mod.txt": etcdctlModule + " v" + etcdctlVersion,
		"go.sum.txt": etcdctlModule + " v" + etcdctlVersion + " h1:",
	} {
		if b, err := fs.ReadFile(source.Files, file); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %q (%v)", file, want, err)
		}
	}
}

func TestEtcdctlIsMissingIfItCannotBeBuilt(t *testing.T) {
	cause := errors.New("no Go")
	if err := NewEtcdctl("", cause).Unavailable; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if err := NewEtcdctl("/bin/etcdctl", nil).Unavailable; err != nil {
		t.Error(err)
	}
}
