package store

import (
	"context"
	"net"
	"sync"
	"time"
)

// lookupTime bounds the lookup of a name whose earlier address is known.
const lookupTime = time.Second

// Remembering returns a Dial that connects directly and remembers the address of each
// endpoint. If a name no longer resolves, it connects to the remembered address. TLS still
// verifies the server by its name.
func Remembering() Dial {
	r := &remembering{known: map[string]*place{}}
	return r.dial
}

// remembering holds the last address of each endpoint.
type remembering struct {
	mu    sync.Mutex
	known map[string]*place
}

// place is the address of an endpoint at its last connection.
type place struct {
	address string
	lost    bool // the name did not resolve after that, and is not looked up again
}

func (r *remembering) dial(ctx context.Context, endpoint string) (net.Conn, error) {
	r.mu.Lock()
	before := r.known[endpoint]
	r.mu.Unlock()
	to := endpoint
	lost := before != nil && (before.lost || !resolves(ctx, endpoint))
	if lost {
		to = before.address
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.known[endpoint] = &place{conn.RemoteAddr().String(), lost}
	case before != nil:
		r.known[endpoint] = &place{before.address, false} // it may have moved
	}
	return conn, err
}

// resolves reports whether the name of an endpoint leads anywhere.
func resolves(ctx context.Context, endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	_, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil
}
