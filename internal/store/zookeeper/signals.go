package zookeeper

import (
	"bytes"
	"net"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Signal implements store.Store. A log line is either from the server, in the format that our
// logback.xml defines, or from the Java virtual machine, in the format that gcLogging defines.
func (*Store) Signal(line []byte) (store.Signal, bool) {
	if bytes.HasPrefix(line, []byte("[")) {
		return parseJavaLine(line)
	}
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return store.Signal{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return store.Signal{}, false // a continuation of the previous line, such as a stack trace
	}
	// The thread name can contain brackets and other characters, but not " - ".
	head, msg, ok := bytes.Cut(rest, []byte(" - "))
	if !ok {
		return store.Signal{}, false
	}
	s, ok := parseServerLine(head, msg)
	s.Time = at.UTC()
	return s, ok
}

// pattern matches the beginning and end of a message and maps the message to a signal. If the
// field `suffix` is not empty, the text between `prefix` and `suffix` is a duration in whole
// milliseconds.
type pattern struct {
	logger         string // simple name of the class that logs the message
	prefix, suffix string
	kind           store.SignalKind
}

// quorumMessage is the beginning of the line that a new leader logs after a majority has received
// its state.
const quorumMessage = "Have quorum of supporters, sids: "

// parseEpoch returns the epoch of a new leader, from the zxid at the end of the line that begins
// with quorumMessage. It returns 0 if the line has no zxid.
func parseEpoch(msg []byte) uint64 {
	i := bytes.LastIndex(msg, []byte(" zxid: 0x"))
	if i < 0 {
		return 0
	}
	zxid, _ := strconv.ParseUint(string(bytes.TrimSpace(msg[i+len(" zxid: 0x"):])), 16, 64)
	return zxid >> 32
}

// serverMessages lists messages in the log of ZooKeeper 3.9.
var serverMessages = [...]pattern{
	{"Leader", "LEADING - LEADER ELECTION TOOK - ", " MS", store.VoteWon},
	{"Leader", quorumMessage, "", store.Elected}, // the leader serves no client before it logs this line
	{"Learner", "FOLLOWING - LEADER ELECTION TOOK - ", " MS", store.LeaderFound},
	{"QuorumPeer", "LOOKING", "", store.ElectionStarted},
	{"QuorumPeer", "Peer state changed: leading - broadcast", "", store.Serving},
	{"QuorumPeer", "Peer state changed: following - broadcast", "", store.Serving},
	{"FileTxnSnapLog", "Snapshotting: 0x", "", store.SnapshotStarted},
	{"ZooKeeperServer", "Snapshot taken in ", " ms", store.SnapshotDone},
	{"SyncRequestProcessor", "Too busy to snap, skipping", "", store.SnapshotSkipped},
	{"FileTxnLog", "Creating new log file: log.", "", store.LogRolled},
	{"LearnerHandler", "Sending snapshot last zxid of peer is ", "", store.FullStateSent},
	{"Learner", "Getting a snapshot from leader ", "", store.FullStateReceived},
}

func parseServerLine(head, msg []byte) (store.Signal, bool) {
	logger := head[bytes.LastIndexByte(head, '.')+1:]
	if string(logger) == "FileTxnLog" && bytes.HasPrefix(msg, []byte("fsync-ing the write ahead log in ")) {
		_, took, found := bytes.Cut(msg, []byte(" took "))
		took, _, whole := bytes.Cut(took, []byte("ms "))
		if !found || !whole {
			return store.Signal{}, false
		}
		return store.Signal{Kind: store.SlowFsync, Duration: milliseconds(took)}, true
	}
	for i := range serverMessages {
		t := &serverMessages[i]
		if string(logger) != t.logger || !bytes.HasPrefix(msg, []byte(t.prefix)) {
			continue
		}
		s := store.Signal{Kind: t.kind}
		if t.kind == store.Elected {
			s.Term = parseEpoch(msg)
		}
		if t.suffix == "" {
			return s, true
		}
		number, found := bytes.CutSuffix(bytes.TrimSpace(msg[len(t.prefix):]), []byte(t.suffix))
		if found {
			s.Duration = milliseconds(number)
		}
		return s, true
	}
	return store.Signal{}, false
}

// parseJavaLine parses a line such as
//
//	[2026-03-01T12:00:00.123+0000][info][gc] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(512M) 2.345ms
//
// The Java virtual machine writes one line per pause, at the end of the pause. Concurrent phases
// of the collector are not pauses.
func parseJavaLine(line []byte) (store.Signal, bool) {
	stamp, rest, ok := bytes.Cut(line[1:], []byte("]"))
	if !ok || !bytes.Contains(rest, []byte("[gc")) {
		return store.Signal{}, false
	}
	_, msg, ok := bytes.Cut(rest, []byte("] GC("))
	if !ok {
		return store.Signal{}, false
	}
	_, msg, ok = bytes.Cut(msg, []byte(") "))
	if !ok || !bytes.HasPrefix(msg, []byte("Pause ")) {
		return store.Signal{}, false
	}
	number, ok := bytes.CutSuffix(msg[bytes.LastIndexByte(msg, ' ')+1:], []byte("ms"))
	if !ok {
		return store.Signal{}, false // a line at the start of a pause (verbose log level)
	}
	at, err := time.Parse("2006-01-02T15:04:05.000-0700", string(stamp))
	if err != nil {
		return store.Signal{}, false
	}
	return store.Signal{Kind: store.GCPause, Time: at.UTC(), Duration: milliseconds(number)}, true
}

// milliseconds parses a number of milliseconds, with or without decimals. It accepts a decimal
// comma, which Java uses in some locales. It returns 0 if the number is invalid.
func milliseconds(b []byte) time.Duration {
	ms, err := strconv.ParseFloat(string(bytes.ReplaceAll(b, []byte(","), []byte("."))), 64)
	if err != nil || !(ms >= 0) || ms > 1e12 {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// prometheusPort is the default port of ZooKeeper's Prometheus metrics provider.
const prometheusPort = "7000"

// millisecond is the unit of ZooKeeper's timers.
const millisecond = 0.001

// Metrics implements store.Store. The first source is the four-letter word mntr at the client port,
// which members answer unless their configuration forbids it. With the Prometheus provider, the
// response includes the metrics of the Java virtual machine. The second source is the port of the
// Prometheus provider.
func (*Store) Metrics(_ store.Access, endpoint string) []store.MetricSource {
	sources := []store.MetricSource{{
		Command: "mntr",
		Names: append(metricNames("zk_"),
			// mntr uses these names with the default provider.
			store.MetricName{Metric: store.FsyncSeconds, Sum: "zk_sum_fsynctime", Count: "zk_cnt_fsynctime", Unit: millisecond},
		),
		Refusals: []store.MetricRefusal{{Text: notInWhitelist, Remedy: "add mntr to 4lw.commands.whitelist in the server's configuration"}},
	}}
	if host, _, err := net.SplitHostPort(endpoint); err == nil {
		sources = append(sources, store.MetricSource{
			URL: "http://" + net.JoinHostPort(host, prometheusPort) + "/metrics", Names: metricNames(""),
		})
	}
	return sources
}

// metricNames returns the names that the Prometheus provider uses for the metrics that all stores
// share.
func metricNames(prefix string) []store.MetricName {
	return []store.MetricName{
		{Metric: store.FsyncSeconds, Sum: prefix + "fsynctime_sum", Count: prefix + "fsynctime_count", Unit: millisecond},
		{Metric: store.CPUSeconds, Name: prefix + "process_cpu_seconds_total"},
		{Metric: store.ResidentBytes, Name: prefix + "process_resident_memory_bytes"},
		// looking_count is the number of times that the member looked for a leader.
		{Metric: store.LeaderChanges, Name: prefix + "looking_count"},
	}
}
