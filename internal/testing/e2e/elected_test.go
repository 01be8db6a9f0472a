//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If quorumbench does not read a cluster's logs, it detects elections through status requests, even
// if the leader changes without a failure. The event has the time of the status request, and its
// text says so. The election is counted once, and no member is reported as lost. CI tests one of
// the stores.
func TestMovedLeadershipIsDetected(t *testing.T) {
	t.Parallel()
	for _, name := range settle.Sample(t, 1, []string{"etcd", "consul"}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			endpoints := w.upOf(t, st, server(t, st))
			dir := w.path("run")
			p := w.start(t, "bench", "get", "--store", name, "--endpoints", endpoints, "--consistency", "s", "--target", "all",
				"--conns", "3", "--clients", "3", "--key-space-size", "100", "--duration", "6s", "--out", dir, "--dial-timeout", patience.String(), "--format", "json")
			p.measuring(t, dir, "trial-01-get")
			leader, moved := moveLeader(t, st, strings.Split(endpoints, ","))
			p.end(t) // the verdict does not matter
			trial := result(t, p)
			var elections []record.Event
			for _, e := range events(t, dir, trial) {
				t.Logf("%v: %s: %s", e.Time.Sub(moved), e.Kind, e.Text)
				if e.Kind == string(store.Elected) {
					elections = append(elections, e)
				}
			}
			if len(elections) == 0 || trial.TermChanges != len(elections) || len(trial.LostMembers) > 0 {
				t.Fatalf("the trial has %d term changes, the lost members %v and the elections %+v", trial.TermChanges, trial.LostMembers, elections)
			}
			// On a busy machine, members may elect a leader on their own. Each election must be
			// reported once: its old term must be the previous election's new term.
			before := ""
			for _, e := range elections {
				terms := electedTerms.FindStringSubmatch(e.Text)
				if terms == nil || before != "" && terms[2] != before {
					t.Fatalf("the terms of the elections are not consecutive: %+v", elections)
				}
				before = terms[1]
			}
			e := elections[0]
			if e.Member != leader || e.Line != "" || !strings.Contains(e.Text, "(seen at ") || e.Time.Before(moved) || e.Time.Sub(moved) > 5*time.Second {
				t.Errorf("%s became leader at %v, but the first election is %+v", leader, moved, e)
			}
		})
	}
}

var electedTerms = regexp.MustCompile(`became leader in term (\d+), after term (\d+) `)

// moveLeader makes another member leader, and returns that member's name and the time of the
// request.
func moveLeader(t *testing.T, st store.Store, endpoints []string) (name string, asked time.Time) {
	t.Helper()
	admin, err := st.Admin(store.Access{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	status, err := admin.Status(t.Context())
	if err != nil || status.Leader() == nil {
		t.Fatalf("%+v, %v", status, err)
	}
	for _, m := range status.Members {
		if m.ID == status.Leader().ID {
			continue
		}
		asked = time.Now()
		if err := admin.(store.Operator).MoveLeader(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		return m.Name, asked
	}
	t.Fatal("no member is a follower")
	return "", asked
}

// leaderByLogs returns the member whose log has the newest election. The test reads logs because a
// proxy does not report to which server it forwards.
func leaderByLogs(t *testing.T, st store.Store, logs string) (name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the log files are %v, %v", files, err)
	}
	var newest time.Time
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			s, ok := st.Signal(bytes.TrimSuffix(line, []byte("\n")))
			if ok && s.Kind == store.Elected && s.Time.After(newest) {
				newest = s.Time
				name, _, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".log"), "-")
			}
		}
	}
	if name == "" {
		t.Fatal("no log contains an election")
	}
	return name
}
