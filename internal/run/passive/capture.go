package passive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// CaptureConfig configures a capture.
type CaptureConfig struct {
	Hosts     []netip.Addr // the member's addresses; if empty, any address
	Tap       TapConfig
	StartTime time.Time // start time of the recording
	// LowPriority makes all threads of the process run only on processors that are otherwise idle.
	// While at least a quarter of the buffer is waiting to be read, the threads use normal
	// scheduling.
	LowPriority bool
}

const (
	bufferBytes = 64 << 20 // maximum size in bytes of the packets that are waiting to be read
	// drainTimeout is how long a capture that is ending waits for packets that the kernel is still
	// collecting.
	drainTimeout = 4 * blockTimeout
)

// Packets collects the packets that are sent from or to a port, beginning with the call of Open.
type Packets struct {
	port uint16
	ring *ring
}

// Open starts collecting the packets that are sent from or to the given port at any address. The
// process must have the right to capture packets.
func Open(port uint16) (*Packets, error) { return openRoom(port, bufferBytes) }

func openRoom(port uint16, room int) (*Packets, error) {
	r, err := openRing(port, room)
	if err != nil {
		return nil, err
	}
	return &Packets{port: port, ring: r}, nil
}

// Close stops collecting. Do not call Close after passing the packets to Capture.Serve: Serve
// closes them when it returns.
func (p *Packets) Close() { p.ring.close() }

// Capture decodes captured packets.
type Capture struct {
	cfg             CaptureConfig
	ring            *ring
	table           *table
	prio            priority
	endTime         atomic.Int64 // time in nanoseconds on the recording's clock at which the recording ends; 0 if unknown
	unreportedDrops uint64       // number of lost packets that are not reported yet
	lastReport      int64        // time at which lost packets were last reported
}

// NewCapture returns a capture.
func NewCapture(cfg CaptureConfig) *Capture { return &Capture{cfg: cfg} }

// Summary summarizes the connections that a capture observed.
type Summary struct {
	Connections uint32
	AlreadyOpen uint32 // number of these connections that were not recorded because they were open before the capture began
	// OtherAddresses contains up to three addresses, other than the member's, at which the port is
	// used.
	OtherAddresses []netip.Addr
}

// Summary returns the capture's summary. Call it after Serve has returned.
func (c *Capture) Summary() Summary {
	return Summary{c.table.number, c.table.alreadyOpen, slices.SortedFunc(maps.Keys(c.table.otherAddresses), netip.Addr.Compare)}
}

// Serve captures packets until ctx is canceled. It returns after it has decoded all packets that
// were captured before the cancellation.
func (c *Capture) Serve(ctx context.Context, p *Packets) error {
	c.ring = p.ring
	c.table = newTable(&c.cfg.Tap, p.port, func(a netip.Addr) bool { return len(c.cfg.Hosts) == 0 || slices.Contains(c.cfg.Hosts, a) })
	defer c.ring.close()
	defer func() { c.table.finish(c.now()) }()
	stop := context.AfterFunc(ctx, func() {
		c.endTime.Store(c.now())
		c.ring.setDeadline(time.Now())
	})
	defer stop()
	if c.cfg.LowPriority {
		c.prio.setIdle(true)
		defer c.prio.setIdle(false)
	}
	for last := false; ; {
		err := c.ring.wait()
		switch {
		case err == nil && !c.read():
			return nil
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("capturing packets failed: %w", err)
		case last:
			c.read()
			c.reportDrops(true)
			return nil
		default: // ctx was canceled
			last = true
			c.ring.setDeadline(time.Now().Add(drainTimeout))
		}
	}
}

// read reads all waiting packets. It returns false if the capture has ended. Because packets may
// arrive as fast as read reads them, read stops at the first packet that was captured after ctx was
// canceled.
func (c *Capture) read() bool {
	for c.ring.ready() {
		ends := c.endTime.Load()
		if c.cfg.LowPriority && (ends != 0 || c.ring.isFilling()) {
			c.prio.setIdle(false)
		}
		ahead, now := c.clockAhead(), c.now()
		over := false
		c.ring.read(func(b []byte, length int, at int64) {
			// The system's clock may have been set back since the packet arrived.
			at = min(at+ahead, now)
			if ends != 0 && at > ends {
				over = true
				return
			}
			c.table.packet(b, length, at)
		})
		if c.reportDrops(over); over {
			return false
		}
	}
	if c.cfg.LowPriority && c.endTime.Load() == 0 {
		c.prio.setIdle(true)
	}
	return true
}

// reportDrops reports the number of lost packets: at most once per second, and once at the end.
func (c *Capture) reportDrops(end bool) {
	if c.unreportedDrops += c.ring.drops(); c.unreportedDrops == 0 {
		return
	}
	c.table.dropped = true
	if now := c.now(); end || now-c.lastReport >= second {
		c.table.drop(c.unreportedDrops)
		c.unreportedDrops, c.lastReport = 0, now
	}
}

// now returns the time on the recording's clock in nanoseconds.
func (c *Capture) now() int64 { return int64(time.Since(c.cfg.StartTime)) }

// clockAhead returns how far the recording's clock is ahead of the system's clock. This difference
// is not constant, because the system's clock may be set at any time. The difference is needed
// because the packets have timestamps from the system's clock. An interruption between the readings
// of the two clocks can only increase the measured difference, so clockAhead returns the smallest
// of three differences.
func (c *Capture) clockAhead() int64 {
	least := int64(math.MaxInt64)
	for range 3 {
		now := time.Now()
		least = min(least, int64(now.Sub(c.cfg.StartTime))-now.UnixNano())
	}
	return least
}
