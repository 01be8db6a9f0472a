package etcd

import (
	"bytes"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Signal implements store.Store. etcd writes one JSON object per log line. The object has the
// fields level, ts, logger (optional), caller and msg, followed by fields that depend on the
// message. Durations have Go's format. Signal does not use a JSON parser, because the line may be
// truncated, and because very few lines report an event.
func (*Store) Signal(line []byte) (store.Signal, bool) {
	if !bytes.HasPrefix(line, []byte(`{"level":"`)) {
		return store.Signal{}, false
	}
	msg, ok := logField(line, "msg")
	if !ok {
		return store.Signal{}, false
	}
	s, ok := raftSignal(line, msg)
	if !ok {
		s, ok = serverSignal(line, msg)
	}
	if !ok {
		return store.Signal{}, false
	}
	s.Time = logTime(line)
	return s, true
}

// pattern maps a log message to a signal. durationField is the name of the field that contains the
// signal's duration, or "" if the line contains no duration.
type pattern struct {
	msg           string
	kind          store.SignalKind
	durationField string
}

// serverMessages are the exact texts of messages in etcd 3.5 to 3.7.
var serverMessages = [...]pattern{
	{"ready to serve client requests", store.Serving, ""}, // the cluster has a leader, which accepted the member's registration
	{"slow fdatasync", store.SlowFsync, "took"},
	{"apply request took too long", store.SlowApply, "took"},
	{"waiting for ReadIndex response took too long, retrying", store.SlowRead, "retry-timeout"},
	{"timed out waiting for read index response (local node might have slow network)", store.SlowRead, "timeout"},
	{"triggering snapshot", store.SnapshotStarted, ""},
	{"saved snapshot", store.SnapshotDone, ""}, // in etcd 3.5
	{"saved snapshot to disk", store.SnapshotDone, ""},
	{"compacted Raft logs", store.LogTruncated, ""}, // etcd 3.6 and later log this message at the level debug
	{"created a new WAL segment", store.LogRolled, ""},
	{"finished scheduled compaction", store.Compaction, "took"},
	{"finished defragmenting directory", store.Defragmentation, "took"},
	{"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk", store.Overloaded, "exceeded-duration"},
	{"dropped internal Raft message since sending buffer is full (overloaded network)", store.Overloaded, ""},
	{"dropped internal Raft message since receiving buffer is full (overloaded network)", store.Overloaded, ""},
	{"message exceeded backend quota; raising alarm", store.QuotaReached, ""},
	{"received and saved database snapshot", store.FullStateReceived, "download-took"},
	{"sent database snapshot", store.FullStateSent, ""},
}

func serverSignal(line, msg []byte) (store.Signal, bool) {
	for i := range serverMessages {
		t := &serverMessages[i]
		if string(msg) != t.msg {
			continue
		}
		s := store.Signal{Kind: t.kind}
		if t.durationField != "" {
			s.Duration = logDuration(line, t.durationField)
		}
		return s, true
	}
	return store.Signal{}, false
}

// raftSignal recognizes messages from the Raft library, such as "raft.node: 8e9e elected leader
// 91bc at term 2". A newly elected leader logs its election twice: as "became leader", and
// then as "elected leader" with its own ID. The second message is skipped.
func raftSignal(line, msg []byte) (store.Signal, bool) {
	if !bytes.Contains(line, []byte(`"logger":"raft"`)) {
		return store.Signal{}, false
	}
	words := bytes.Fields(msg)
	if len(words) > 1 && string(words[0]) == "raft.node:" {
		words = words[1:]
	}
	if len(words) < 4 {
		return store.Signal{}, false
	}
	self := words[0]
	switch {
	case bytes.Contains(msg, []byte(" became leader at term ")):
		return store.Signal{Kind: store.Elected, Term: termOf(msg)}, true
	case bytes.Contains(msg, []byte(" is starting a new election at term ")), bytes.Contains(msg, []byte("] received MsgTimeoutNow ")):
		return store.Signal{Kind: store.ElectionStarted}, true
	case hasPrefix(words[1:], "lost", "leader"):
		return store.Signal{Kind: store.LeaderLost}, true
	case hasPrefix(words[1:], "elected", "leader") && !bytes.Equal(words[3], self),
		hasPrefix(words[1:], "changed", "leader", "from") && len(words) > 6 && !bytes.Equal(words[6], self):
		return store.Signal{Kind: store.LeaderFound}, true
	}
	return store.Signal{}, false
}

// termOf returns the number that follows the last "term" in a message, or 0 if there is none.
func termOf(msg []byte) uint64 {
	i := bytes.LastIndex(msg, []byte(" term "))
	if i < 0 {
		return 0
	}
	number, _, _ := bytes.Cut(msg[i+len(" term "):], []byte(" "))
	term, _ := strconv.ParseUint(string(number), 10, 64)
	return term
}

// hasPrefix reports whether the slice words begins with the words in want.
func hasPrefix(words [][]byte, want ...string) bool {
	if len(words) < len(want) {
		return false
	}
	for i, w := range want {
		if string(words[i]) != w {
			return false
		}
	}
	return true
}

// logField returns the contents of a string field. It does not decode escape sequences. Quotes
// inside a JSON string are escaped, so a quoted name that is followed by a colon is always a
// field's name.
func logField(line []byte, name string) ([]byte, bool) {
	_, rest, found := bytes.Cut(line, []byte(`"`+name+`":"`))
	if !found {
		return nil, false
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return rest[:i], true
		}
	}
	return nil, false
}

// logTime returns the timestamp of a line. etcd 3.6 and later write timestamps in UTC; older
// versions use other time zones.
func logTime(line []byte) time.Time {
	text, _ := logField(line, "ts")
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999Z0700"} {
		if at, err := time.Parse(layout, string(text)); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// logDuration returns the duration in a field, or 0 if the field is missing or invalid.
func logDuration(line []byte, name string) time.Duration {
	text, _ := logField(line, name)
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return 0
	}
	return d
}
