package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// lineOfSecond holds the fields that the test reads from a line printed with --interval.
type lineOfSecond struct {
	Schema, Phase, State, Verdict string
	Due                           uint64
}

// After SIGTERM, the last line contains the verdict on the results so far, and the table is on
// standard error.
func TestSIGTERMEndsIntervalLines(t *testing.T) {
	t.Parallel()
	endpoints := startNullServer(t, "--script", "delay=1ms")
	dir := filepath.Join(t.TempDir(), "run")
	b := start(t, "bench", "put", "--endpoints", endpoints, "--duration", "10m", "--out", dir, "--interval", "1s")
	b.await(t, "measuring")
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	// Waits until the first one-second interval is recorded.
	for deadline := time.Now().Add(patience); ; <-look.C {
		if run, err := record.Open(dir); err == nil && len(run.Trials) == 1 {
			if rows, err := record.OpenTimeline(dir, run.Trials[0].Folder); err == nil && len(rows) > 0 {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no one-second interval was recorded")
		}
	}
	if err := b.Process.Signal(os.Signal(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	b.await(t, "put on etcd")
	if code := b.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	var lines []lineOfSecond
	for text := range strings.Lines(b.stdout.String()) {
		var l lineOfSecond
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		lines = append(lines, l)
	}
	last := lines[len(lines)-1]
	if last.Schema != "quorumbench/end/1" || last.State != string(record.Interrupted) || last.Verdict == "" {
		t.Errorf("the last line is %+v", last)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, l := range lines[:len(lines)-1] {
		if l.Phase == "measured" {
			sum += l.Due
		}
	}
	if sum != run.Trials[0].Due || sum == 0 {
		t.Errorf("the lines have %d due operations, and the record has %d", sum, run.Trials[0].Due)
	}
}
