package host_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func TestLocal(t *testing.T) {
	settle.LongOnly(t, "TestArgumentsAndResultsSurviveEncoding, which tests the same host")
	hosts.TestHost(t, host.NewLocal(nil, nil), t.TempDir())
}

// If a host has an address, all of its servers listen on this address.
func TestLocalAtAnAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	h := host.NewLocal(nil, nil).WithAddress("127.0.0.9")
	if settle.Long() {
		hosts.TestHost(t, h, t.TempDir())
	}
	l, err := h.Ports(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if l.Address != "127.0.0.9" {
		t.Errorf("the ports were leased at %s, want 127.0.0.9", l.Address)
	}
	if _, err := host.NewLocal(nil, nil).WithAddress("192.0.2.1").Ports(t.Context(), 1); err == nil {
		t.Error("ports were leased at the address of another machine")
	}
}

func TestFsyncInNoFolder(t *testing.T) {
	_, err := host.NewLocal(nil, nil).Fsync(t.Context(), []string{"/no/such/folder"}, 5)
	if err == nil || err.Error() != "cannot time fdatasync in /no/such/folder: no such file or directory" {
		t.Errorf("%v", err)
	}
}

// All arguments and results of a Host survive encoding and decoding unchanged.
func TestArgumentsAndResultsSurviveEncoding(t *testing.T) {
	hosts.TestHost(t, encoded{host.NewLocal(nil, nil)}, t.TempDir())
}

// cross encodes v and returns the decoded copy, which is what another machine would receive.
func cross[T any](v T) (out T) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// encoded is a host that encodes and decodes all of its arguments and results.
type encoded struct{ on host.Host }

func (e encoded) Describe(ctx context.Context) (host.Description, error) {
	d, err := e.on.Describe(ctx)
	return cross(d), err
}

func (e encoded) Start(ctx context.Context, c host.Command) (host.Process, error) {
	p, err := e.on.Start(ctx, cross(c))
	if err != nil {
		return nil, err
	}
	return encodedProcess{p}, nil
}

func (e encoded) Ports(ctx context.Context, count int) (*host.Lease, error) {
	l, err := e.on.Ports(ctx, cross(count))
	if err != nil {
		return nil, err
	}
	return &host.Lease{Address: cross(l.Address), Ports: cross(l.Ports), Release: l.Release}, nil
}

func (e encoded) Claim(ctx context.Context, parent string) (host.Claim, error) {
	c, err := e.on.Claim(ctx, cross(parent))
	if err != nil {
		return nil, err
	}
	return encodedClaim{c}, nil
}

func (e encoded) Limits(ctx context.Context, dir string) (measure.HostLimits, error) {
	p, err := e.on.Limits(ctx, cross(dir))
	return cross(p), err
}

func (e encoded) WriteLog(ctx context.Context, dir string, w probe.PacedWrites, second func(measure.WrittenSecond) bool) error {
	return e.on.WriteLog(ctx, cross(dir), cross(w), func(s measure.WrittenSecond) bool { return second(cross(s)) })
}

func (e encoded) Echo(ctx context.Context) (*host.Echo, error) { return e.on.Echo(ctx) }

func (e encoded) RoundTrips(ctx context.Context, address, token string, n int) (measure.RoundTrips, error) {
	r, err := e.on.RoundTrips(ctx, cross(address), cross(token), cross(n))
	return cross(r), err
}

func (e encoded) Empty(ctx context.Context, dir string) error {
	return e.on.Empty(ctx, cross(dir))
}

func (e encoded) Disk(ctx context.Context, self, dir string) (host.Disk, error) {
	return e.on.Disk(ctx, cross(self), cross(dir))
}

func (e encoded) MakeDir(ctx context.Context, path string) error {
	return e.on.MakeDir(ctx, cross(path))
}

func (e encoded) WriteFile(ctx context.Context, path string, contents []byte) error {
	return e.on.WriteFile(ctx, cross(path), cross(contents))
}

func (e encoded) Follow(ctx context.Context, paths []string) (host.Logs, error) {
	l, err := e.on.Follow(ctx, cross(paths))
	return encodedLogs{l}, err
}

func (e encoded) Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error) {
	r, err := e.on.Fsync(ctx, cross(dirs), cross(writes))
	return cross(r), err
}

func (e encoded) Sample(ctx context.Context, pids []int, machine bool) (host.Sample, error) {
	s, err := e.on.Sample(ctx, cross(pids), cross(machine))
	return cross(s), err
}

func (e encoded) MeasureFolders(ctx context.Context, dirs []string) ([]int64, time.Duration, error) {
	bytes, cost, err := e.on.MeasureFolders(ctx, cross(dirs))
	return cross(bytes), cross(cost), err
}

func (e encoded) CopyLog(ctx context.Context, path string, to io.Writer) (int64, error) {
	left, err := e.on.CopyLog(ctx, cross(path), to)
	return cross(left), err
}

type encodedProcess struct{ host.Process }

func (p encodedProcess) Identity() host.Identity { return cross(p.Process.Identity()) }
func (p encodedProcess) Exit() host.Exit         { return cross(p.Process.Exit()) }
func (p encodedProcess) Signal(ctx context.Context, s host.Signal) error {
	return p.Process.Signal(ctx, cross(s))
}

type encodedClaim struct{ host.Claim }

func (c encodedClaim) Note(ctx context.Context, id host.Identity) error {
	return c.Claim.Note(ctx, cross(id))
}

type encodedLogs struct{ host.Logs }

func (l encodedLogs) Read(ctx context.Context) ([]host.Line, bool, error) {
	lines, more, err := l.Logs.Read(ctx)
	return cross(lines), more, err
}
