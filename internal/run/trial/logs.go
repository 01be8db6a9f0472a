package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// readEvery is the interval at which the members' logs are read. eventsFrom limits how long before
// the load an event may have happened to be recorded with the trial.
const (
	readEvery   = time.Second
	eventsFrom  = time.Second
	signalClock = time.Millisecond // resolution of the times in logs
)

// logs contains the members' logs, which are followed from just before the preload. Both fields are
// nil if there are no logs, for example in a running cluster.
type logs struct {
	followed []hostLogs
	signal   signals.Signaller
}

// hostLogs contains the logs on one host.
type hostLogs struct {
	host.Logs
	on      host.Host
	paths   []string
	members []string // name of each file's member
}

func (l *logs) close() {
	for _, f := range l.followed {
		_ = f.Close() // they were only read
	}
}

// listener returns a listener for the events in the logs since shortly before the load began, or
// nil if there are no logs.
func (l *logs) listener(began time.Time) *signals.Listener {
	if l.followed == nil {
		return nil
	}
	return signals.NewListener(l.signal, began.Add(-eventsFrom).Truncate(signalClock))
}
