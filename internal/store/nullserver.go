package store

import (
	"context"
	"crypto/tls"
	"net"
)

// NullServed is an optional interface of a Store (kv.NullServer): it has a null
// server, which speaks the store's protocol with no store behind it.
type NullServed interface {
	// NullServer prepares a null server. Its error is one sentence about the
	// options, such as where a script is wrong and what is known there.
	NullServer(NullOptions) (NullServer, error)
}

// NullServer is a null server that is ready to serve.
type NullServer interface {
	// Serve serves one member of a null cluster on each listener, the first of
	// which leads, until ctx is done; then it closes everything and returns
	// nil. An error means that it could not go on.
	Serve(ctx context.Context, listeners []net.Listener) error
}

// NullOptions say how a null server behaves. The zero NullOptions remember
// nothing and answer everything at once.
type NullOptions struct {
	// Script is what happens to operations, in the language of null.Parse;
	// empty answers everything at once.
	Script string
	// Memory remembers what was written. Without it every key is there, with
	// the same value of ValueSize bytes.
	Memory    bool
	ValueSize int
	// TLS serves over TLS; nil is plain.
	TLS *tls.Config
	// User, NAME:PASSWORD, turns authentication on.
	User string
	// MaxStreams is how many requests one connection may have in flight, for
	// protocols that can say so; 0 for no limit.
	MaxStreams int
}
