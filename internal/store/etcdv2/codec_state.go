package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec is etcd's v2 keys API on one connection, which has one operation in
// flight (https://etcd.io/docs/v2.3/api/).
type codec struct {
	httpkv.Basic
	httpkv.Codec
	get, put, del, post *http1.Template

	// The operation in flight.
	redirected bool      // one hop is followed
	folder     []byte    // Range: what is asked for
	strayed    bool      // Range: a key of the answer lies outside of it
	again      call.Part // of a recorded call: what it does, without its texts

	buf  []byte // what answers decode to
	text []byte // of an error
}
