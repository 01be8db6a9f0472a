// Package cetcd implements the store cetcd, a proxy that translates a part of Consul's HTTP API to
// etcd. It describes cetcd's capabilities and how to launch its members, administers the members,
// and contains cetcd's codec.
package cetcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Name identifies cetcd in --store and in scenario files.
const Name = "cetcd"

// Store implements store.Store for cetcd.
type Store struct{ etcdproxy.Store }

// New returns a Store.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store. The descriptions are specific to cetcd, because those of
// Consul do not apply to cetcd.
func (*Store) Capabilities() kv.Capabilities {
	can := etcdproxy.Capabilities(Name, "a GET request to the proxy", kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:   "PUT /v1/kv/KEY: an etcd transaction that reads the key's lock and writes the key's value and flags; cetcd retries the transaction after a conflict",
			kv.Get:   "GET /v1/kv/KEY, which returns JSON with the value in base64; ?raw is not used, because with it cetcd ends the connection if the key does not exist",
			kv.Range: "GET /v1/kv/PREFIX?recurse=true; of the returned keys, quorumbench counts those in the interval",
			kv.CAS:   "PUT /v1/kv/KEY?cas=MODIFYINDEX",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "GET ?consistent=true: an etcd transaction; etcd's leader confirms its leadership with a majority before the response",
			kv.Local:        "GET with or without ?stale: a serializable transaction on the proxy's etcd member, which responds from its applied state; the response may be stale",
		},
		NoOperations: map[kv.Kind]string{
			kv.Delete: "cetcd responds to a DELETE with true but deletes nothing, and the next GET of the key ends the connection",
			kv.Txn:    "cetcd ends the connection when it receives a transaction",
		},
		NoReads: map[kv.Consistency]string{
			kv.LeaderLease: "cetcd has no lease reads, because reads in its default mode may be stale; use local reads",
		},
		Ascending:   true,
		MaxInFlight: 1,
	})
	can.Features[kv.WriteOrder] = "a read returns a ModifyIndex, which is an etcd revision; a write returns no revision"
	return can
}

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	return store.HandBuiltServer(Name, "build it as described under stores in docs/reference/commands.md", version)
}

// Launch implements store.Store. Each member consists of an embedded etcd member and a cetcd
// process in front of it. spec.Exec is the path of cetcd's binary; it must be given, because no
// registry has the binary.
func (s *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	source, err := s.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec == "" {
		return store.Launch{}, source.NoRegistryError()
	}
	return etcdproxy.Launch(Name, spec.Exec, spec, func(address, etcdURL string) []string {
		return []string{"-consuladdr", address, "-etcd", etcdURL}
	})
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	return etcdproxy.NewAdmin(Name, a, probe)
}

// probe checks that a cetcd process serves requests. It reads a missing key, because cetcd has no
// /v1/status. The read costs etcd one local read.
func probe(ctx context.Context, a store.Access, endpoint string, _ bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/v1/kv/quorumbench/is/there?keys=true", nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := httpkv.Client(a).Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // ignore the error: the relevant part was read
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<10)); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it responded with status %d; is this cetcd?", response.StatusCode)
	}
	return nil
}

// Tap implements store.TapProvider.
func (s *Store) Tap(cfg store.TapConfig) store.Tap { return s.dialect().Tap(cfg) }

// CanReplay implements store.Replayer. It returns false for deletes, transactions, and sessions
// with their locks, because cetcd does not support them.
func (*Store) CanReplay(r *call.Call) bool { return consul.CanReplayKeys(r) }

// RequiredKey implements store.Replayer. It returns nil because no key depends on another key.
func (*Store) RequiredKey(*call.Part) []byte { return nil }

// Codecs implements store.Store. It returns Consul's codecs, restricted to the requests that cetcd
// supports. If etcd has no quorum, cetcd never responds to a PUT.
func (s *Store) Codecs(a store.Access) store.Codecs { return s.dialect().Codecs(a) }

// dialect describes how cetcd differs from Consul: for example, cetcd ignores parameters without a
// value.
func (s *Store) dialect() *consul.Dialect {
	return &consul.Dialect{AlwaysJSON: true, FailureOutcome: failureOutcome, StoreInfo: httpkv.StoreInfo{
		Operations: s.Capabilities().Operations, Name: Name,
		HTTP2: "is this the port of cetcd, and not of its etcd member?", TLS: "which cetcd does not",
	}}
}

// failureOutcome returns the outcome and text for a response with a status other than 200. A 400
// response to a write may hide an etcd error, so its outcome is indefinite. A redirect is a
// definite error.
func failureOutcome(r *http1.Response) (outcome kv.Outcome, text []byte) {
	text = httpkv.AppendText(nil, r)
	switch {
	case r.Status >= 300 && r.Status < 400:
		return kv.BadRequest, []byte("cetcd redirected the request: no segment of a key may be empty, . or ..")
	case r.Status == 404:
		return kv.BadRequest, []byte("the server has no /v1/kv: is this cetcd's port?")
	case string(text) == "Missing key name":
		return kv.BadRequest, text
	}
	return kv.StoreError, text
}
