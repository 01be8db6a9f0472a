package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

var errNotOurs = errors.New("the cluster was not started here, and its processes are not known")

// Attached is a cluster that ran already.
type Attached struct{ Via store.Access }

// Access implements Running.
func (a Attached) Access() store.Access { return a.Via }

// Members implements Running: where they run is not known.
func (Attached) Members() []Member { return nil }

// Notes implements Running.
func (Attached) Notes() []string { return nil }

// Signal implements Running: it is not ours to signal.
func (Attached) Signal(_ context.Context, member string, s host.Signal) error {
	return fmt.Errorf("member %s cannot be sent %s: %w", member, s, errNotOurs)
}

// AwaitEnd implements Running: its processes are not known.
func (Attached) AwaitEnd(_ context.Context, member string) error {
	return fmt.Errorf("the end of member %s cannot be awaited: %w", member, errNotOurs)
}

// StartAgain implements Running: how it was started is not known.
func (Attached) StartAgain(_ context.Context, member string) error {
	return fmt.Errorf("member %s cannot be started again: %w", member, errNotOurs)
}

// StartAs implements Running: how it was started is not known.
func (a Attached) StartAs(ctx context.Context, member string, _ Server) error {
	return a.StartAgain(ctx, member)
}

// StartEmpty implements Running: its data are not ours.
func (a Attached) StartEmpty(ctx context.Context, member string) error {
	return a.StartAgain(ctx, member)
}

// Disk implements Running: what it was started with is not known.
func (Attached) Disk(member string) (host.Disk, error) {
	return nil, fmt.Errorf("member %s has no disk that fails on request: %w", member, errNotOurs)
}

// NewCertificate implements Running: its files are not ours.
func (Attached) NewCertificate(_ context.Context, member string) error {
	return fmt.Errorf("the certificate of member %s cannot be replaced: %w", member, errNotOurs)
}

// Spare implements Running: nothing is started beside it.
func (Attached) Spare() (Spare, error) {
	return nil, fmt.Errorf("no further member can join: %w", errNotOurs)
}

// Network implements Running: it is not ours.
func (Attached) Network() (host.Network, error) {
	return nil, fmt.Errorf("the members' network does not fail on request: %w", errNotOurs)
}
