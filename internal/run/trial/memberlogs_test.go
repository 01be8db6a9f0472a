package trial

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lastLine is a log that records whether its last line was read.
type lastLine struct {
	text []byte
	came bool
}

func (l *lastLine) Signal(line []byte) (store.Signal, bool) {
	l.came = l.came || bytes.Equal(line, l.text)
	return store.Signal{}, false
}

// ending is a log that stops its reader after the reader's first call of Read.
type ending struct {
	host.Logs
	stop func()
}

func (e *ending) Read(ctx context.Context) ([]host.Line, bool, error) {
	defer e.stop()
	return e.Logs.Read(ctx)
}

// The last lines are read even if the listener was stopped in the middle of a batch of lines.
func TestTheLastLinesAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	follow, err := host.NewLocal(nil, nil).Follow(t.Context(), []string{file})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follow.Close() }()
	write := func(b []byte) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	heard := &lastLine{text: []byte("the last")}
	w := &monitor{t: &Trial{}}
	w.t.logs = logs{signal: heard.Signal, followed: []hostLogs{{Logs: &ending{follow, stop}, members: []string{"m1"}}}}
	w.listener = signals.NewListener(heard.Signal, time.Time{})
	write(bytes.Repeat([]byte("much\n"), 1<<18))
	w.read(ctx)
	write([]byte("the last\n"))
	w.readLastLogs(context.WithoutCancel(ctx))
	if !heard.came {
		t.Error("the last line was not read")
	}
}
