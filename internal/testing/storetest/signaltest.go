package storetest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// SignalLines reads a file of captured log lines. It returns the lines, and for each line the
// signal that a store should find. In the file, a line "= KIND DURATION TIME" or "= nothing"
// precedes each log line. DURATION has Go's format, or is "-" if the signal has no duration.
func SignalLines(t testing.TB, path string) (lines [][]byte, wants []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range bytes.Lines(b) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if text, ok := bytes.CutPrefix(line, []byte("= ")); ok {
			want = string(text)
			continue
		}
		if want == "" {
			t.Fatalf("%s does not match this line: %s", path, line)
		}
		lines, wants, want = append(lines, line), append(wants, want), ""
	}
	return lines, wants
}

// CheckSignals tests a store with a file of captured log lines. It tests each line completely, and
// cut off at every position. The store may find no signal in a cut line, but it must not find a
// different signal.
func CheckSignals(t *testing.T, st store.Store, path string) {
	t.Helper()
	lines, want := SignalLines(t, path)
	if len(lines) == 0 {
		t.Fatalf("%s has no lines", path)
	}
	for i, line := range lines {
		if got := FormatSignal(st.Signal(line)); got != want[i] {
			t.Errorf("the line %s\nresults in %s\nwant %s", line, got, want[i])
		}
		kind, _, _ := strings.Cut(want[i], " ")
		for n := range line {
			s, ok := st.Signal(line[:n:n])
			if ok && string(s.Kind) != kind {
				t.Errorf("the prefix %s\nof a line results in %s, but the whole line results in %s", line[:n], s.Kind, kind)
			}
		}
	}
}

// FormatSignal formats a signal as in a file of captured log lines.
func FormatSignal(s store.Signal, ok bool) string {
	if !ok {
		return "nothing"
	}
	took := "-"
	if s.Duration > 0 {
		took = s.Duration.String()
	}
	return fmt.Sprintf("%s %s %s", s.Kind, took, s.Time.Format(time.RFC3339Nano))
}

// Fuzz checks the signals that a store finds in arbitrary lines. The store must not panic, must
// return the same result for the same line, and must not change or keep the line. A signal must
// have one of the defined kinds, a time in UTC, and no negative duration.
func Fuzz(f *testing.F, st store.Store, path string) {
	lines, _ := SignalLines(f, path)
	for _, line := range lines {
		f.Add(line)
	}
	known := map[store.SignalKind]bool{}
	for _, k := range store.SignalKinds() {
		known[k] = true
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		s, ok := st.Signal(line)
		if !bytes.Equal(line, before) {
			t.Fatalf("the line %q was changed to %q", before, line)
		}
		if again, okAgain := st.Signal(before); okAgain != ok || again != s {
			t.Fatalf("the line %q first resulted in %+v, then in %+v", line, s, again)
		}
		switch {
		case !ok && s.Kind != "":
			t.Errorf("the line %q is no signal, but has the kind %q", line, s.Kind)
		case ok && (!known[s.Kind] || s.Duration < 0 || s.Time.Location() != time.UTC):
			t.Errorf("the line %q resulted in the invalid signal %+v", line, s)
		}
	})
}
