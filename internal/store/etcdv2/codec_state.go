package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec implements etcd's v2 keys API (https://etcd.io/docs/v2.3/api/) on one connection, with
// one operation in flight.
type codec struct {
	httpkv.Basic
	httpkv.Codec
	get, put, del, post *http1.Template

	// Fields for the operation in flight.
	redirected   bool      // the operation has already followed one redirect
	folder       []byte    // Range: the folder that was requested
	strayed      bool      // Range: the response contains a key outside that folder
	replayedPart call.Part // the last part of a recorded call, without its key and value

	buf  []byte // holds strings that were decoded from responses
	text []byte // text of an error
}
