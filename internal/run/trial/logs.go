package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// readInterval is the interval at which the members' logs are read. An event is also recorded with
// the trial if it happened at most eventLeadTime before the start of the load.
const (
	readInterval  = time.Second
	eventLeadTime = time.Second
	signalClock   = time.Millisecond // resolution of the times in logs
)

// logs contains the members' logs. The logs are followed from just before the preload. Both fields
// are nil if no logs are available, for example in a running cluster.
type logs struct {
	followed []hostLogs
	signal   signals.Signaller
}

// hostLogs contains the logs on one host.
type hostLogs struct {
	host.Logs
	logHost host.Host
	paths   []string
	members []string // the member to which each file belongs
}

func (l *logs) close() {
	for _, f := range l.followed {
		_ = f.Close() // they were only read
	}
}

// listener returns a listener for the events in the logs since shortly before the load began. It
// returns nil if no logs are available.
func (l *logs) listener(began time.Time) *signals.Listener {
	if l.followed == nil {
		return nil
	}
	return signals.NewListener(l.signal, began.Add(-eventLeadTime).Truncate(signalClock))
}
