package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TestLiveLeasesOfLargeKeysAreFound checks that leases are found if the keys' values are large. The
// admin limits its reads to 4 MiB at once and then 1 MiB per second, as a protection against a
// flood of unrequested data. This limit must not slow down the requested pages.
func TestLiveLeasesOfLargeKeysAreFound(t *testing.T) {
	l, _ := dialLive(t)
	admin := adminOf(t, store.Access{Endpoints: []string{l.endpoint}})
	leaser := admin.(store.Leaser)
	ids, err := leaser.Grant(t.Context(), 2, 600*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("v", 1<<20)
	for i := range 40 {
		lease := ids[i%2]
		if i == 39 {
			lease = 0
		}
		of := value
		if i < 4 { // the first keys are small, so the next page is too large for a message
			of = "v"
		}
		if _, err := l.client.Put(t.Context(), fmt.Sprintf("large/%02d", i), of, clientv3.WithLease(clientv3.LeaseID(lease))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	names, err := leaser.LeasesWithPrefix(ctx, []byte("large/"))
	want := []string{fmt.Sprint(ids[0]), fmt.Sprint(ids[1])}
	slices.Sort(names)
	slices.Sort(want)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("leases %q, %v; want %q", names, err, want)
	}
	if err := leaser.EndLeases(t.Context(), names); err != nil {
		t.Error(err)
	}
}

func TestNextPageFitsTheSizeOfKeys(t *testing.T) {
	const most = 1000
	for _, c := range []struct {
		n, size int
		want    int64
	}{{0, 0, firstPage}, {2, 200, most}, {4, 16 << 10, 256}, {4, 4 << 20, 1}, {1, 2 << 20, 1}} {
		if got := nextPage(c.n, c.size, most); got != c.want {
			t.Errorf("after %d keys of %d bytes, nextPage returns %d, want %d", c.n, c.size, got, c.want)
		}
	}
}
