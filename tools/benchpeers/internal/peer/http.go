package peer

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
)

// LocalRead is the target (path and query) of the GET that reads a key's value
// from the member itself, byte for byte as quorumbench asks for it. It is not
// ok for a store that does not speak HTTP/1.1.
func LocalRead(store, key string) (target string, ok bool) {
	switch store {
	case consul.Name:
		return "/v1/kv/" + key + "?raw&stale", true
	case etcdv2.Name:
		return "/v2/keys/" + key, true
	}
	return "", false
}

// doesLocalReads is what generators of HTTP/1.1 do: one request for ever, one
// at a time on each connection.
func doesLocalReads(c Case) bool {
	_, ok := LocalRead(c.Store, "")
	return ok && closed(c) && c.Kind == kv.Get && c.Consistency == kv.Local && c.Clients == c.Connections
}

// url is where such a generator asks.
func (w Work) url() string {
	target, _ := LocalRead(w.Store, w.Key)
	return "http://" + w.Endpoint + target
}
