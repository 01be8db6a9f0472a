package consul

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// failureOutcome returns the outcome and text for a response with a status other than 200. Consul
// sends most errors with status 500 and an error text, which may be part of a longer text. So the
// error text takes precedence over the status. The outcome is a definite error only if the response
// proves that the data did not change.
func failureOutcome(r *http1.Response) (outcome kv.Outcome, text []byte) {
	outcome = httpkv.OutcomeOf(r.Status)
	for _, known := range texts {
		if bytes.Contains(r.Body, []byte(known.text)) {
			outcome = known.outcome
			break
		}
	}
	if r.Status >= 300 && r.Status < 400 {
		return outcome, []byte("Consul redirected the request: no segment of a key may be empty, . or ..")
	}
	return outcome, httpkv.AppendText(nil, r)
}

// texts lists parts of error texts from Consul and hashicorp/raft. The first match applies. So the
// text of an error that shows how far a request was processed is listed before more general texts,
// which may occur in the same message.
var texts = [...]struct {
	text    string
	outcome kv.Outcome
}{
	// raft.ErrLeadershipLost: the entry is in the log and may still be committed.
	{"leadership lost while committing log", kv.LeaderChanged},
	// raft.ErrAbortedByRestore and raft.ErrRaftShutdown: the entry may also still be committed.
	{"snapshot restored while committing log", kv.StoreError},
	{"raft is already shutdown", kv.StoreError},

	// Consul returns the following errors before it writes the request to its log.
	{"No cluster leader", kv.NoLeader},
	{"Raft leader not found in server lookup mapping", kv.NoLeader},
	{"node is not the leader", kv.Refused},
	{"leadership transfer in progress", kv.Refused},
	{"timed out enqueuing operation", kv.Refused},
	{"Not ready to serve consistent reads", kv.Refused},
	{"rate limit exceeded", kv.Refused},
	{"Your IP is issuing too many concurrent connections", kv.Refused},
	// The server could not open a stream to the leader, so it did not forward the request.
	{"rpc error getting client", kv.Refused},

	{"Permission denied", kv.Denied},
	{"ACL not found", kv.Denied},

	{"invalid session", kv.BadRequest},
	{"invalid key name", kv.BadRequest},
	{"empty key name", kv.BadRequest},
	{"Must provide", kv.BadRequest},

	{"no space left on device", kv.NoSpace},
	{"context deadline exceeded", kv.StoreTimeout},
	{"i/o deadline reached", kv.StoreTimeout},
	{"i/o timeout", kv.StoreTimeout},
}
