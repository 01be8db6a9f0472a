package host

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// want returns the lines into which a text must be split.
func want(text []byte) []string {
	var out []string
	for line := range bytes.Lines(text) {
		if line, whole := bytes.CutSuffix(line, []byte("\n")); whole {
			out = append(out, string(trimLine(line)))
		}
	}
	return out
}

// The resulting lines are the same, however the text is divided into pieces.
func TestLinesDoNotDependOnThePieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var text []byte
		for range rng.IntN(12) {
			n := rng.IntN(60)
			if rng.IntN(4) == 0 {
				n = maxLine - 2 + rng.IntN(5)
			}
			text = append(text, bytes.Repeat([]byte{byte('a' + rng.IntN(3))}, n)...)
			text = append(text, [...]string{"\n", "\r\n", "\n\n", "\r"}[rng.IntN(4)]...)
		}
		var got []string
		var s lineSplitter
		for rest := text; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 1+rng.IntN(3000)))
			s.add(rest[:n], func(line []byte) { got = append(got, string(line)) })
			rest = rest[n:]
		}
		if !slices.Equal(got, want(text)) {
			t.Fatalf("%q was split into %q", text, got)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), 1)
	f.Add(append(bytes.Repeat([]byte("x"), maxLine), "\r\ny\n"...), maxLine)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		var got []string
		var s lineSplitter
		for _, piece := range [][]byte{text[:cut], text[cut:]} {
			s.add(piece, func(line []byte) { got = append(got, string(line)) })
			if cap(s.part) > 4*maxLine {
				t.Fatalf("the splitter keeps %d bytes of a line", cap(s.part))
			}
		}
		if !slices.Equal(got, want(text)) {
			t.Fatalf("%q cut at %d was split into %q", text, cut, got)
		}
	})
}

// logFile is a growing log.
type logFile struct {
	t    *testing.T
	path string
}

func (l logFile) write(text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// lines returns all lines that can be read from the logs now, each as "FILE TEXT".
func lines(t *testing.T, l Logs) (out []string) {
	t.Helper()
	for {
		some, more, err := l.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range some {
			if line.At.IsZero() {
				t.Errorf("the line %q has no time", line.Text)
			}
			out = append(out, fmt.Sprintf("%d %s", line.File, line.Text))
		}
		if !more {
			return out
		}
	}
}

func followLogs(t *testing.T, logs ...logFile) Logs {
	t.Helper()
	var paths []string
	for _, l := range logs {
		paths = append(paths, l.path)
	}
	l, err := NewLocal(nil, nil).Follow(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

// The lines that are written after the call of Follow are read, each exactly once, even if a log is
// created later, rotated or truncated. Earlier lines are not read.
func TestLogsAreFollowed(t *testing.T) {
	dir := t.TempDir()
	a, b := logFile{t, filepath.Join(dir, "a.log")}, logFile{t, filepath.Join(dir, "b.log")}
	a.write("before\nhalf of ")
	l := followLogs(t, a, b)
	check(t, "lines before the first write", lines(t, l))
	a.write("a line\nnew")
	check(t, "lines after the end of a partial line and another partial line", lines(t, l))
	a.write(" line\nand one\n")
	b.write("from the beginning\n")
	check(t, "lines of two logs", lines(t, l), "0 new line", "0 and one", "1 from the beginning")
	check(t, "lines of a repeated read", lines(t, l))

	a.write("last of the old\n")
	if err := os.Rename(a.path, a.path+".1"); err != nil {
		t.Fatal(err)
	}
	a.write("first of the new\n")
	check(t, "lines after a rotation", lines(t, l), "0 last of the old", "0 first of the new")
	a.write("second\n")
	check(t, "lines of the new file", lines(t, l), "0 second")

	if err := os.Truncate(a.path, 0); err != nil {
		t.Fatal(err)
	}
	a.write("anew\n")
	check(t, "lines after a truncation", lines(t, l), "0 anew")
	if err := os.Remove(a.path); err != nil {
		t.Fatal(err)
	}
	check(t, "lines after the removal of the log", lines(t, l))
	a.write("back\n")
	check(t, "lines after the log was created again", lines(t, l), "0 back")
}

// A log that is longer than one buffer is read correctly across the buffer's end.
func TestLongLogs(t *testing.T) {
	a := logFile{t, filepath.Join(t.TempDir(), "a.log")}
	l := followLogs(t, a)
	var text strings.Builder
	var want []string
	for i := range 20_000 {
		line := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%97))
		text.WriteString(line + "\n")
		want = append(want, "0 "+line)
	}
	a.write(text.String())
	if got := lines(t, l); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

// The field At of a Line contains a time on the host's clock.
func TestLinesHaveTheHostsTime(t *testing.T) {
	at := time.Unix(1_000_000_000, 5)
	path := filepath.Join(t.TempDir(), "log")
	logs, err := NewLocal(func() time.Time { return at }, nil).Follow(t.Context(), []string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	if err := os.WriteFile(path, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, _, err := logs.Read(t.Context())
	if err != nil || len(lines) != 1 || !lines[0].At.Equal(at) {
		t.Errorf("%+v, %v", lines, err)
	}
}

// If the machine's clock differs from ours, each line contains the difference. Lines that are read
// just after the clock was set are marked as unsure.
func TestLinesReportThatTheClockWasSet(t *testing.T) {
	ahead := time.Duration(0)
	path := filepath.Join(t.TempDir(), "log")
	logs, err := NewLocal(nil, nil).WithClockAhead(func() time.Duration { return ahead }).Follow(t.Context(), []string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for i, want := range []Line{{}, {Ahead: time.Hour, AheadUnknown: true}, {Ahead: time.Hour}, {Ahead: time.Hour + time.Microsecond}} {
		if _, err := file.WriteString("a line\n"); err != nil {
			t.Fatal(err)
		}
		ahead = want.Ahead
		lines, _, err := logs.Read(t.Context())
		if err != nil || len(lines) != 1 || lines[0].Ahead != want.Ahead || lines[0].AheadUnknown != want.AheadUnknown {
			t.Errorf("line %d: %+v, %v", i, lines, err)
		}
	}
}
