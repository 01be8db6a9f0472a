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

// Header fields of Consul's responses.
const (
	nullPlain = "Content-Type: text/plain; charset=utf-8\r\n"
	nullJSON  = "Content-Type: application/json\r\n"
	nullMeta  = "Vary: Accept-Encoding\r\nX-Consul-Default-Acl-Policy: allow\r\n"
	nullRead  = nullMeta + "X-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\n"
)

// nullEntry is a key of a null cluster, which locks all keys at once.
type nullEntry = null.Entry[nullLock]

// nullMember is a member of a null cluster.
type nullMember struct {
	number  int
	members []net.Listener
	token   string
	errors  map[string][2]string
	memory  *null.Space[nullLock] // nil: every key exists and has value
	value   []byte
	raw     []byte // the whole response to a read without memory
	yes     []byte // the whole response to a write
	waits   *nullWaits
	catalog *nullCatalog // nil: writes are acknowledged and discarded
	held    *nullHeld
}

const nullPrefix = "/v1/kv/"

// answerJSON appends a response with what as JSON, which must be encodable.
func answerJSON(b []byte, fields string, what any) []byte {
	body, _ := json.Marshal(what)
	return null.AppendAnswer(b, "200 OK", fields, string(body))
}

func nullName(i int) string { return fmt.Sprintf("null%d", i+1) }

func nullID(i int) string { return fmt.Sprintf("6e756c6c-0000-%04d-0000-000000000000", i+1) }

func indexFields(kind string, index int64) string {
	return kind + nullRead + "X-Consul-Index: " + strconv.FormatInt(index, 10) + "\r\n"
}

func answerEntries(b []byte, list []*nullEntry, index int64, raw bool, wrong null.Kind) []byte {
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
		pairs[i] = pairOf(e, wrong)
	}
	return answerJSON(b, indexFields(nullJSON, index), pairs)
}

// pairOf converts an entry to Consul's type; an empty value is null there.
func pairOf(e *nullEntry, wrong null.Kind) *api.KVPair {
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

// nullInstance holds the state of a catalog node besides its value, which is its
// instance's description.
type nullInstance struct {
	service, status string
}

// nullCatalog is the catalog of a null cluster: each node has one instance and
// one check. Its indexes are independent of the keys'.
type nullCatalog struct {
	*null.Space[nullInstance]
	waits nullWaits // of queries about any service
}

type nullNode = null.Entry[nullInstance]

// nullHeld holds the sessions of a null cluster, which never expire by
// themselves.
type nullHeld struct {
	mu   sync.Mutex
	last int
	ttl  map[string]string // by ID
}

// nullLock is a key's state as a lock.
type nullLock struct {
	index   int64  // how often it was acquired
	session string // its holder; "" for none
}

// nullWaits holds the waiting blocking queries of a null cluster. The cluster's
// memory must be locked.
type nullWaits struct {
	byKey    map[string][]func() // of one key
	prefixes map[string][]func()
}
