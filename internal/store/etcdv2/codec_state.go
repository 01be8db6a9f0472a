package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec implements etcd's v2 keys API on one connection with one operation in
// flight (https://etcd.io/docs/v2.3/api/).
type codec struct {
	httpkv.Basic
	httpkv.Codec
	get, put, del, post *http1.Template

	// The operation in flight.
	redirected bool      // one redirect was followed
	folder     []byte    // Range: the requested folder
	strayed    bool      // Range: a key of the response is outside of the folder
	again      call.Part // the last part of a recorded call, without its texts

	buf  []byte // holds decoded parts of responses
	text []byte // of an error
}
