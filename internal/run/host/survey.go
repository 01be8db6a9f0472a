package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Echo is a running echo server on a host.
type Echo struct {
	Address string // HOST:PORT
	Token   string // the first bytes that a client must send
	Close   func()
}

// longestTrips is the maximum duration of a measurement of round trips.
const longestTrips = 20 * time.Second

// errEnough reports that WriteLog's caller needs no more writes.
var errEnough = errors.New("enough was measured")

// Limits implements Host.
func (l *Local) Limits(_ context.Context, dir string) (measure.HostLimits, error) {
	folder, err := l.openFolder(dir)
	if err != nil {
		return measure.HostLimits{}, fmt.Errorf("cannot open the folder %s: %w", dir, Cause(err))
	}
	defer folder.Close()
	return probe.Limits(folder.root)
}

// WriteLog implements Host. If our process is killed, the next measurement in the folder
// removes the remaining files.
func (l *Local) WriteLog(ctx context.Context, dir string, w probe.PacedWrites, second func(measure.WrittenSecond) bool) error {
	if err := w.Check(); err != nil {
		return err
	}
	folder, err := l.openFolder(dir)
	if err != nil {
		return fmt.Errorf("cannot write in the folder %s: %w", dir, Cause(err))
	}
	defer folder.Close()
	if folder.protectsEntries() {
		_, _ = cleanBelow(folder, 1) // on an error, the next measurement tries again to remove the folder
	}
	_, need := w.Bytes()
	if err := probe.CheckRoom(folder.root, need, folder.path, "use a smaller --neighbor-load"); err != nil {
		return err
	}
	c, err := folder.claim()
	if err != nil {
		return fmt.Errorf("cannot write in the folder %s: %w", dir, err)
	}
	err = w.Run(ctx, c.folder.root, func(s measure.WrittenSecond) error {
		if !second(s) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, c.Release(context.WithoutCancel(ctx)))
}

// Echo implements Host.
func (l *Local) Echo(context.Context) (*Echo, error) {
	var e *probe.Echo
	err := l.runInNetwork(func() (err error) {
		e, err = probe.StartEcho(cmp.Or(l.address, "127.0.0.1"))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Echo{Address: e.Address, Token: e.Token, Close: e.Close}, nil
}

// RoundTrips implements Host.
func (l *Local) RoundTrips(ctx context.Context, address, token string, n int) (measure.RoundTrips, error) {
	return probe.RoundTrips(ctx, address, token, n, longestTrips)
}
