//go:build linux

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// BenchmarkSearchesAgree searches several times for the capacity of etcd with one member, each time
// on a new cluster. It reports three figures: the spread of the best estimates and the spread of
// the midpoints of the intervals (each as a share of its median), and the width of the intervals.
//
// QUORUMBENCH_LINK is the bandwidth of the member's link in Mbit/s, which determines the capacity.
// If it is 0, the link is not limited. The capacity then depends on how much of the machine the
// load generator and other programs leave to etcd. QUORUMBENCH_DATA is the data folder, which can
// be on a disk that no other program uses.
func BenchmarkSearchesAgree(b *testing.B) {
	searches, link := fromEnvironment(b, "QUORUMBENCH_SEARCHES", 10), fromEnvironment(b, "QUORUMBENCH_LINK", 80)
	until := cmp.Or(os.Getenv("QUORUMBENCH_UNTIL"), "6m")
	args := []string{"capacity", "--objective", "p99<100ms", "--set", "members=1", "--set", "value-size=16KiB", "--set", "key-space=100", "--until", until, "--format", "json"}
	if dir := os.Getenv("QUORUMBENCH_DATA"); dir != "" {
		args = append(args, "--data-dir", dir)
	}
	for range b.N {
		var estimates, middles, widths []float64
		lowest, highest, found := 0.0, math.Inf(1), 0
		for i := range searches {
			c := exec.Command("quorumbench", append(args, "--out", fmt.Sprintf("%s/%d", b.TempDir(), i))...)
			var out, said bytes.Buffer
			c.Stdout, c.Stderr = &out, &said
			if err := behindLink(link, c.Run); err != nil {
				b.Fatalf("%v: %s", err, said.String())
			}
			var got struct {
				Lower    float64  `json:"lower_per_second"`
				Upper    *float64 `json:"upper_per_second"`
				Estimate *float64 `json:"estimate_per_second"`
				Status   string   `json:"status"`
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				b.Fatalf("%v: %s", err, out.String())
			}
			if got.Upper == nil || got.Estimate == nil || got.Lower <= 0 {
				b.Fatalf("search %d has an open interval: %s", i+1, out.String())
			}
			b.Logf("search %d: the interval is %.5g to %.5g/s, the best estimate is %.5g/s, the status is %s", i+1, got.Lower, *got.Upper, *got.Estimate, got.Status)
			estimates = append(estimates, *got.Estimate)
			middles, widths = append(middles, math.Sqrt(got.Lower**got.Upper)), append(widths, 100*(*got.Upper/got.Lower-1))
			lowest, highest = max(lowest, got.Lower), min(highest, *got.Upper)
			if got.Status == "found" {
				found++
			}
		}
		slices.Sort(estimates)
		slices.Sort(middles)
		slices.Sort(widths)
		b.ReportMetric(100*(estimates[searches-1]-estimates[0])/estimates[searches/2], "%-apart")
		b.ReportMetric(100*(middles[searches-1]-middles[0])/middles[searches/2], "%-middles-apart")
		b.ReportMetric(widths[searches/2], "%-wide")
		b.ReportMetric(estimates[searches/2], "per-s")
		b.ReportMetric(float64(found), "found")
		b.ReportMetric(100*(lowest/highest-1), "%-gap") // above 0 if no rate is in all intervals
	}
}

// behindLink calls f in a separate network namespace. The loopback interface of this namespace
// carries at most mbit Mbit/s, in packets of the size that Ethernet uses. If mbit is 0, behindLink
// calls f in the machine's own network, without a limit.
func behindLink(mbit int, f func() error) error {
	if mbit == 0 {
		return f()
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: when the goroutine ends, its thread and namespace end, too
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = shapeLoopback(uint64(mbit) * 1e6 / 8)
		}
		if err == nil {
			err = f()
		}
		ended <- err
	}()
	return <-ended
}

// shapeLoopback brings up the loopback interface in the thread's network namespace, and limits its
// rate with a token bucket.
func shapeLoopback(bytesPerSecond uint64) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(lo, 1500); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	const burst, queue = 128 << 10, 64 << 20
	return netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytesPerSecond, Limit: queue, Buffer: netlink.Xmittime(bytesPerSecond, burst),
	})
}

// fromEnvironment returns the number in an environment variable, or the given default if the
// variable is not set.
func fromEnvironment(tb testing.TB, name string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		tb.Fatalf("%s is %q, want a number", name, text)
	}
	return n
}
