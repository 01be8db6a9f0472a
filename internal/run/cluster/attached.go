package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

var errNotOurs = errors.New("quorumbench did not start the cluster and does not know the members' processes")

// Attached is a cluster that quorumbench did not start.
type Attached struct{ StoreAccess store.Access }

// Access implements Running.
func (a Attached) Access() store.Access { return a.StoreAccess }

// Members implements Running. It returns nil, because the members' machines are unknown.
func (Attached) Members() []Member { return nil }

// Notes implements Running.
func (Attached) Notes() []string { return nil }

// Signal implements Running. It returns an error, because the processes are unknown.
func (Attached) Signal(_ context.Context, member string, s host.Signal) error {
	return fmt.Errorf("cannot send member %s the signal %s: %w", member, s, errNotOurs)
}

// AwaitEnd implements Running. It returns an error, because the processes are unknown.
func (Attached) AwaitEnd(_ context.Context, member string) error {
	return fmt.Errorf("cannot wait until member %s has exited: %w", member, errNotOurs)
}

// Restart implements Running. It returns an error, because it is unknown how the member was
// started.
func (Attached) Restart(_ context.Context, member string) error {
	return fmt.Errorf("cannot restart member %s: %w", member, errNotOurs)
}

// RestartWithServer implements Running. It returns an error, because it is unknown how the member
// was started.
func (a Attached) RestartWithServer(ctx context.Context, member string, _ Server) error {
	return a.Restart(ctx, member)
}

// RestartEmpty implements Running. It returns an error, because the data belongs to the user.
func (a Attached) RestartEmpty(ctx context.Context, member string) error {
	return a.Restart(ctx, member)
}

// Disk implements Running. It returns an error, because the member's disk is unknown.
func (Attached) Disk(member string) (host.Disk, error) {
	return nil, fmt.Errorf("cannot inject faults on the disk of member %s: %w", member, errNotOurs)
}

// NewCertificate implements Running. It returns an error, because the certificate files belong to
// the user.
func (Attached) NewCertificate(_ context.Context, member string) error {
	return fmt.Errorf("cannot replace the certificate of member %s: %w", member, errNotOurs)
}

// Spare implements Running. It returns an error, because no member can be added.
func (Attached) Spare() (Spare, error) {
	return nil, fmt.Errorf("cannot add a member: %w", errNotOurs)
}

// Network implements Running. It returns an error, because the network is unknown.
func (Attached) Network() (host.Network, error) {
	return nil, fmt.Errorf("cannot inject faults on the members' network: %w", errNotOurs)
}
