package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// How often the members' logs are read, and how long before the load an event may be to
// count as part of the trial.
const (
	readEvery   = time.Second
	eventsFrom  = time.Second
	signalClock = time.Millisecond // resolution of times in logs
)

// logs holds the members' logs, followed from their ends before the preload. Without logs,
// as for a running cluster, both fields are nil.
type logs struct {
	followed []hostLogs
	signal   signals.Signaller
}

// hostLogs holds the logs of one host.
type hostLogs struct {
	host.Logs
	on      host.Host
	paths   []string
	members []string // by file: its member's name
}

func (l *logs) close() {
	for _, f := range l.followed {
		_ = f.Close() // they were only read
	}
}

// listener returns a listener for the events in the logs since shortly before the load
// began, or nil without logs.
func (l *logs) listener(began time.Time) *signals.Listener {
	if l.followed == nil {
		return nil
	}
	return signals.NewListener(l.signal, began.Add(-eventsFrom).Truncate(signalClock))
}
