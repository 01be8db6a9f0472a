package consul

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// Header fields in Consul's responses.
const (
	nullPlain = "Content-Type: text/plain; charset=utf-8\r\n"
	nullJSON  = "Content-Type: application/json\r\n"
	nullMeta  = "Vary: Accept-Encoding\r\nX-Consul-Default-Acl-Policy: allow\r\n"
	nullRead  = nullMeta + "X-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\n"
)

// nullEntry is a key in a null cluster.
type nullEntry = null.Entry[nullLock]

// nullMember is one member of a null cluster.
type nullMember struct {
	number        int
	members       []net.Listener
	token         string
	errors        map[string][2]string
	memory        *null.Space[nullLock] // nil: every key exists, and its value is in the field `value`
	value         []byte
	raw           []byte // complete response to a read, used if memory is nil
	writeResponse []byte // complete response to a write, used if memory is nil
	queries       *nullQueries
	catalog       *nullCatalog // nil: the member acknowledges writes to the catalog but discards them
	sessionTable  *nullSessionTable
}

const nullPrefix = "/v1/kv/"

// appendJSONResponse appends a response whose body is the parameter `content`, encoded as JSON. The
// encoding must not fail.
func appendJSONResponse(b []byte, fields string, content any) []byte {
	body, _ := json.Marshal(content)
	return null.AppendResponse(b, "200 OK", fields, string(body))
}

func nullName(i int) string { return fmt.Sprintf("null%d", i+1) }

func nullID(i int) string { return fmt.Sprintf("6e756c6c-0000-%04d-0000-000000000000", i+1) }

func indexFields(kind string, index int64) string {
	return kind + nullRead + "X-Consul-Index: " + strconv.FormatInt(index, 10) + "\r\n"
}

func appendEntries(b []byte, list []*nullEntry, index int64, raw bool, wrong null.Kind) []byte {
	if len(list) == 0 {
		return null.AppendHead(b, "404 Not Found", indexFields("", index), 0)
	}
	if raw {
		e := list[0]
		b = null.AppendHead(b, "200 OK", indexFields(nullPlain, index), len(e.Value))
		if wrong == null.WrongKey || wrong == null.WrongValue {
			return null.AppendDamaged(b, e.Value)
		}
		return append(b, e.Value...)
	}
	pairs := make([]*api.KVPair, len(list))
	for i, e := range list {
		pairs[i] = toKVPair(e, wrong)
	}
	return appendJSONResponse(b, indexFields(nullJSON, index), pairs)
}

// toKVPair converts an entry to the type in Consul's client library. In this type an empty value is
// nil.
func toKVPair(e *nullEntry, wrong null.Kind) *api.KVPair {
	p := &api.KVPair{LockIndex: uint64(e.Data.index), Session: e.Data.session, Key: e.Key, CreateIndex: uint64(e.Created), ModifyIndex: uint64(e.Changed)}
	if len(e.Value) > 0 {
		p.Value = e.Value
	}
	switch wrong {
	case null.WrongKey:
		p.Key += "!"
	case null.WrongValue:
		p.Value = null.AppendDamaged(nil, p.Value)
	}
	return p
}

// nullInstance holds the state of a node in the catalog. The node's value is the description of its
// instance.
type nullInstance struct {
	service, status string
}

// nullCatalog is the catalog of a null cluster. Each node has one instance and one check. The
// catalog's indexes are independent of the indexes of the keys.
type nullCatalog struct {
	*null.Space[nullInstance]
	queries nullQueries // queries about any service
}

type nullNode = null.Entry[nullInstance]

// nullSessionTable holds the sessions of a null cluster. They never expire; clients must destroy
// them.
type nullSessionTable struct {
	mu     sync.Mutex
	lastID int
	ttl    map[string]string // TTL by session ID
}

// nullLock is the lock state of a key.
type nullLock struct {
	index   int64  // how often the lock was acquired
	session string // the session that holds the lock, or ""
}

// nullQueries holds the blocking queries that wait in a null cluster. The caller must have locked
// the cluster's memory.
type nullQueries struct {
	byKey    map[string][]func() // queries for one key
	prefixes map[string][]func()
}
