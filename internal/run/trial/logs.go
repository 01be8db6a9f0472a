package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// How often the members' logs are read, and how long before the load what they
// reported still belongs to the trial.
const (
	readEvery   = time.Second
	eventsFrom  = time.Second
	signalClock = time.Millisecond // the resolution of times in logs
)

// logs are the members' logs, followed from where they ended before the
// preload. Without any, as of a cluster that ran already, both are nil.
type logs struct {
	followed []hostLogs
	signal   signals.Signaller
}

// hostLogs are those of one host.
type hostLogs struct {
	host.Logs
	on      host.Host
	paths   []string
	members []string // the name of the member whose each is
}

func (l *logs) close() {
	for _, f := range l.followed {
		_ = f.Close() // they were only read
	}
}

// listener returns a listener to what the logs have from shortly before a load
// on, which began at the given time; nil without logs.
func (l *logs) listener(began time.Time) *signals.Listener {
	if l.followed == nil {
		return nil
	}
	return signals.NewListener(l.signal, began.Add(-eventsFrom).Truncate(signalClock))
}
