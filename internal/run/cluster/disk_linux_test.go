package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// onDisks starts a cluster of three members on disks on which faults can be injected.
func onDisks(t *testing.T, members int, settings any) *Cluster {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	return start(t, Spec{Members: members, Disks: true, Settings: settings})
}

// acknowledge writes numbered keys until the context is canceled. It closes the channel `enough`
// after about 100 writes. It returns the acknowledged values.
func acknowledge(ctx context.Context, t *testing.T, c *Cluster, enough chan<- struct{}) map[string]string {
	t.Helper()
	client := clientOf(t, c.Access().Endpoints...)
	defer func() { _ = client.Close() }()
	acknowledged := map[string]string{}
	for i := 0; ; i++ {
		key, value := fmt.Sprint("k", i%50), fmt.Sprint(i)
		if _, err := client.Put(ctx, key, value); err != nil {
			return acknowledged
		}
		acknowledged[key] = value
		if i == 100 {
			close(enough)
		}
	}
}

func clientOf(t *testing.T, endpoints ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// powerLoss simulates a power loss of all members during writes, and restarts them. It returns the
// values that were acknowledged before the power loss, and the number of files that lost data.
func powerLoss(t *testing.T, c *Cluster) (acknowledged map[string]string, lost int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough, all := make(chan struct{}), make(chan map[string]string, 1)
	go func() { all <- acknowledge(ctx, t, c, enough) }()
	select {
	case <-enough:
	case early := <-all:
		t.Fatalf("a write failed before the power loss, after %d keys had been written", len(early))
	}
	for _, m := range c.Members() {
		if err := c.Signal(ctx, m.Name, host.Kill); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range c.Members() {
		if err := c.AwaitEnd(ctx, m.Name); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	acknowledged = <-all
	for _, m := range c.Members() {
		d, err := c.Disk(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := d.PowerLoss(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lost += n
	}
	for _, m := range c.Members() {
		if err := c.Restart(t.Context(), m.Name); err != nil {
			t.Fatal(err)
		}
	}
	return acknowledged, lost
}

// A store that syncs before it acknowledges loses no acknowledged write.
func TestPowerLossOfAllLosesNothingAcknowledged(t *testing.T) {
	c := onDisks(t, 3, nil)
	acknowledged, lost := powerLoss(t, c)
	settle.Eventually(t, "the cluster is whole again", func() bool {
		status, err := c.Status(t.Context())
		return err == nil && CheckReady(&status) == nil
	})
	client := clientOf(t, c.Access().Endpoints...)
	defer func() { _ = client.Close() }()
	for key, want := range acknowledged {
		got, err := client.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		// The store may have executed the write that was in flight during the power loss.
		if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want && !later(string(got.Kvs[0].Value), want) {
			t.Errorf("key %s was acknowledged with the value %s, but the store returns %v", key, want, got.Kvs)
		}
	}
	if lost == 0 {
		t.Error("no file lost data, although the database is not synced with each write")
	}
	t.Logf("%d files lost data", lost)
}

// later reports whether a value was written after another value. Values are ascending numbers.
func later(got, than string) bool { return len(got) > len(than) || len(got) == len(than) && got > than }

// A store that does not sync loses acknowledged writes, or even fails to start.
func TestPowerLossOfAllLosesUnsyncedWrites(t *testing.T) {
	c := onDisks(t, 1, &etcd.Settings{UnsafeNoFsync: true})
	acknowledged, _ := powerLoss(t, c)
	client := clientOf(t, c.Access().Endpoints...)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	missing := 0
	for key, want := range acknowledged {
		got, err := client.Get(ctx, key)
		if err != nil {
			t.Logf("the store does not respond after the power loss: %v", err)
			return
		}
		if len(got.Kvs) == 0 || string(got.Kvs[0].Value) != want {
			missing++
		}
	}
	if missing == 0 {
		t.Error("no acknowledged write was lost, although the store does not sync")
	}
	t.Logf("%d of %d keys lost their acknowledged value", missing, len(acknowledged))
}

// A cluster can be stopped in spite of a disk fault, and leaves no mount.
func TestDisksAreUnmountedWithTheirCluster(t *testing.T) {
	c := onDisks(t, 3, nil)
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	follower := c.Members()[0]
	if status.Leader().Endpoint == follower.Endpoint {
		follower = c.Members()[1] // a leader that waits for its disk remains leader, and the whole cluster waits
	}
	d, err := c.Disk(follower.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Set(t.Context(), disk.Faults{SyncDelay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, status.Leader().Endpoint) // the follower itself could not respond
	settle.Eventually(t, "a put completes without the follower", func() bool {
		_, err := client.Put(t.Context(), "k", "v")
		return err == nil
	})
	_ = client.Close()
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range c.Dirs() {
		if strings.Contains(string(mounts), dir) {
			t.Errorf("something is still mounted below %s", dir)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder %s was not removed: %v", dir, err)
		}
	}
	if _, err := c.Disk("m9"); err == nil {
		t.Error("an unknown member has a disk")
	}
}
