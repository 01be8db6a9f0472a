package store

import "time"

// Signalling is an optional interface of a Store (kv.LogSignals): its members'
// logs say what happens in them, so that a slow second can be shown beside its cause.
type Signalling interface {
	// Signal reads one line of a log of any process of a member (Process,
	// Process.Behind), without its end and perhaps cut after some thousand
	// bytes. It is a pure function that keeps nothing of line; ok is false for
	// a line that says nothing, which is most of them.
	Signal(line []byte) (s Signal, ok bool)
}

// Signal is what a line of a log reports.
type Signal struct {
	Kind SignalKind
	// Time is when the line says that it was written; zero if it does not say.
	Time time.Time
	// Duration is how long it took what had ended at Time; 0 if the line does
	// not say.
	Duration time.Duration
	// Term is that of an election; 0 if the line does not say.
	Term uint64
}

// SignalKind is what happened, in words that all stores share. It stands in
// events.jsonl as it is.
type SignalKind string

// The kinds. Elections have one Elected each; the others say what it was for
// the members around it.
const (
	ElectionStarted   SignalKind = "election_started"    // the member has no leader and stands for election
	Elected           SignalKind = "election"            // the member was elected and begins to lead; the duration is the election's
	LeaderLost        SignalKind = "leader_lost"         // the member has no leader any more
	VoteWon           SignalKind = "vote_won"            // the member won the vote, and is to bring others up to its state before it leads; the duration is the vote's
	LeaderFound       SignalKind = "leader_found"        // the member follows a new leader; the duration is that of looking for it
	Serving           SignalKind = "serving"             // the member has what it needs to serve clients: a leader, and its state
	SnapshotStarted   SignalKind = "snapshot_started"    //
	SnapshotDone      SignalKind = "snapshot_done"       //
	SnapshotSkipped   SignalKind = "snapshot_skipped"    // one was due while the one before was still being written
	SnapshotDeleted   SignalKind = "snapshot_deleted"    // an old one
	LogRolled         SignalKind = "log_rolled"          // a new file of the log that is synced was begun
	LogTruncated      SignalKind = "log_truncated"       // the consensus log's beginning was dropped, after a snapshot
	SlowFsync         SignalKind = "slow_fsync"          // a sync took longer than the store finds healthy
	SlowApply         SignalKind = "slow_apply"          // a request that was agreed on was applied slowly
	SlowRead          SignalKind = "slow_read"           // a linearizable read waited for the leader
	Compaction        SignalKind = "compaction"          // old revisions were removed
	Defragmentation   SignalKind = "defragmentation"     // the database was written anew
	QuotaReached      SignalKind = "quota_reached"       // no space left for writes
	GCPause           SignalKind = "gc_pause"            // all threads stood still for the garbage collector
	Overloaded        SignalKind = "overloaded"          // heartbeats came or went late
	FullStateSent     SignalKind = "full_state_sent"     // to a member too far behind for the log
	FullStateReceived SignalKind = "full_state_received" // by a member that was
)

// sentences are how Says has each kind, the ones that disturb most first.
var sentences = [...]struct {
	kind SignalKind
	says string
}{
	{Elected, "was elected leader"},
	{QuotaReached, "had used up its space quota"},
	{LeaderLost, "lost its leader"},
	{ElectionStarted, "stood for election"},
	{VoteWon, "won the vote for a leader"},
	{LeaderFound, "followed a new leader"},
	{Serving, "began to serve clients"},
	{FullStateReceived, "received the whole state from another member"},
	{FullStateSent, "sent its whole state to another member"},
	{SlowFsync, "synced its log slowly"},
	{Overloaded, "was overloaded: heartbeats were late"},
	{GCPause, "paused for garbage collection"},
	{SlowApply, "applied or read slowly"},
	{SlowRead, "waited for the leader before it could serve a read"},
	{Defragmentation, "defragmented its database"},
	{Compaction, "compacted its database"},
	{SnapshotSkipped, "skipped a snapshot, because the one before was still being written"},
	{SnapshotStarted, "began a snapshot"},
	{SnapshotDone, "wrote a snapshot"},
	{SnapshotDeleted, "deleted an old snapshot"},
	{LogRolled, "began a new log file"},
	{LogTruncated, "truncated its log"},
}

// SignalKinds lists all kinds, the ones that disturb most first.
func SignalKinds() (kinds []SignalKind) {
	for _, s := range sentences {
		kinds = append(kinds, s.kind)
	}
	return kinds
}

// Says completes a sentence that begins with the member's name, such as "was
// elected leader". A kind that is not known says its own name.
func (k SignalKind) Says() string {
	for _, s := range sentences {
		if s.kind == k {
			return s.says
		}
	}
	return "reported " + string(k)
}
