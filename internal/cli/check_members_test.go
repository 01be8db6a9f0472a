//go:build linux

package cli

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// membersJSON holds the fields that tests read from the output of `check members --format json`.
type membersJSON struct {
	State   string
	Absent  []struct{ Endpoint string } `json:"absent_members"`
	Members []struct {
		Name  string
		Read  map[string]float64 `json:"read_seconds"`
		Write map[string]float64 `json:"write_seconds"`
		Fsync *float64           `json:"fsync_p99_seconds"`
		Slow  []string
	}
}

// stutter stops a process for 120 ms of every 240 ms until stop is called.
func stutter(t *testing.T, pid int) (stop func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // the process may have ended
		ticker := time.NewTicker(120 * time.Millisecond)
		defer ticker.Stop()
		next, other := syscall.SIGSTOP, syscall.SIGCONT
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				_ = syscall.Kill(pid, next)
				next, other = other, next
			}
		}
	}()
	return func() { close(end); <-ended }
}

// follower returns a member that is not the leader.
func follower(t *testing.T, endpoints string, p *cluster.Playground) (name, endpoint string, pid int) {
	t.Helper()
	out, err := exec.Command("quorumbench", "cluster", "status", "--dir", p.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "follower" {
			at := slices.IndexFunc(p.Members, func(m cluster.PlaygroundMember) bool { return m.Name == f[0] })
			return f[0], f[1], p.Members[at].Process.PID
		}
	}
	t.Fatalf("no follower in %s of %s", out, endpoints)
	return "", "", 0
}

// measuredMember matches the line of a measured member in the first table.
var measuredMember = regexp.MustCompile(`(?m)^\S+( \*)? +(leader|follower)`)

func TestCheckMembersMarksTheSlowMember(t *testing.T) {
	endpoints, p := etcdCluster(t, "3")
	name, endpoint, pid := follower(t, endpoints, p)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		stop := stutter(t, pid)
		var c membersJSON
		code, _ := checks(t, &c, "members", "--endpoints", endpoints, "--duration", "6s", "--format", "json")
		stop()
		if code != 1 || c.State != "fail" || len(c.Members) != 3 {
			r.Errorf("the check ended with exit code %d and the result %+v", code, c)
			return
		}
		for _, m := range c.Members {
			if slow := len(m.Slow) > 0; slow != (m.Name == name) || m.Read["p50"] <= 0 || m.Write["max"] <= 0 {
				r.Errorf("member %s has the reasons %q for being slow and the times %v and %v; the slow member is %s", m.Name, m.Slow, m.Read, m.Write, name)
			}
		}
	})

	// The check names a member that hangs, and measures the others.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("quorumbench", "check", "members", "--endpoints", endpoints, "--duration", "1s", "--dial-timeout", "2s")
	out, _ := c.Output()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	said := string(out)
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(said, endpoint+" does not answer") || len(measuredMember.FindAllString(said, -1)) < 2 {
		t.Errorf("the check ended with exit code %d and printed %s", code, said)
	}
	for line := range strings.Lines(said) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}
