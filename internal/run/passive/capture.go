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

// CaptureConfig is what a capture needs to know.
type CaptureConfig struct {
	Hosts []netip.Addr // at which the member is reached; none: at any
	Tap   TapConfig
	Began time.Time // when the recording's clock stood at 0
	// GiveWay has all threads of the process run only where a processor has nothing else
	// to do, until what waits to be read is a quarter of the room for it.
	GiveWay bool
}

const (
	room = 64 << 20 // bytes of packets that may wait to be read
	// lingers is how long is waited at the end for what the system still gathers.
	lingers = 4 * gathers
)

// Packets are those of a port: what passes from the moment on in which they are opened.
type Packets struct {
	port uint16
	ring *ring
}

// Open begins to gather the packets of a member's port, at whatever address. It needs the
// right to read packets.
func Open(port uint16) (*Packets, error) { return openRoom(port, room) }

func openRoom(port uint16, room int) (*Packets, error) {
	r, err := openRing(port, room)
	if err != nil {
		return nil, err
	}
	return &Packets{port: port, ring: r}, nil
}

// Close ends it, where no Capture serves it; Serve does when it returns.
func (p *Packets) Close() { p.ring.close() }

// Capture hears packets.
type Capture struct {
	cfg   CaptureConfig
	ring  *ring
	table *table
	prio  priority
	ends  atomic.Int64 // when the last packet is wanted, by the recording's clock; 0: not known
	drops uint64       // packets that are not said to be missing yet
	said  int64        // when that was said last
}

// NewCapture returns a capture.
func NewCapture(cfg CaptureConfig) *Capture { return &Capture{cfg: cfg} }

// Heard is what a capture has heard of.
type Heard struct {
	Connections uint32
	WereOpen    uint32 // of which were open before it began, and are not recorded
	// Elsewhere are some addresses at which the port is used and which are none of the
	// member's.
	Elsewhere []netip.Addr
}

// Heard is what the capture has heard of, when Serve has returned.
func (c *Capture) Heard() Heard {
	return Heard{c.table.number, c.table.open, slices.SortedFunc(maps.Keys(c.table.elsewhere), netip.Addr.Compare)}
}

// Serve hears until ctx ends, and returns when all that passed until then is understood.
func (c *Capture) Serve(ctx context.Context, p *Packets) error {
	c.ring = p.ring
	c.table = newTable(&c.cfg.Tap, p.port, func(a netip.Addr) bool { return len(c.cfg.Hosts) == 0 || slices.Contains(c.cfg.Hosts, a) })
	defer c.ring.close()
	defer func() { c.table.finish(c.now()) }()
	stop := context.AfterFunc(ctx, func() {
		c.ends.Store(c.now())
		c.ring.until(time.Now())
	})
	defer stop()
	if c.cfg.GiveWay {
		c.prio.giveWay(true)
		defer c.prio.giveWay(false)
	}
	for last := false; ; {
		err := c.ring.wait()
		switch {
		case err == nil && !c.read():
			return nil
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("packets cannot be captured any more: %w", err)
		case last:
			c.read()
			c.missed(true)
			return nil
		default: // ctx has ended
			last = true
			c.ring.until(time.Now().Add(lingers))
		}
	}
}

// read takes all that is there, and reports whether more may be wanted: when ctx has ended,
// packets may come as fast as they are read.
func (c *Capture) read() bool {
	for c.ring.ready() {
		ends := c.ends.Load()
		if c.cfg.GiveWay && (ends != 0 || c.ring.behind()) {
			c.prio.giveWay(false)
		}
		ahead, now := c.ahead(), c.now()
		over := false
		c.ring.read(func(b []byte, length int, at int64) {
			// The system's clock may have been set back since the packet passed.
			at = min(at+ahead, now)
			if ends != 0 && at > ends {
				over = true
				return
			}
			c.table.packet(b, length, at)
		})
		if c.missed(over); over {
			return false
		}
	}
	if c.cfg.GiveWay && c.ends.Load() == 0 {
		c.prio.giveWay(true)
	}
	return true
}

// missed says, once in a second and at the end, how many packets are missing.
func (c *Capture) missed(end bool) {
	if c.drops += c.ring.drops(); c.drops == 0 {
		return
	}
	c.table.dropped = true
	if now := c.now(); end || now-c.said >= second {
		c.table.drop(c.drops)
		c.drops, c.said = 0, now
	}
}

// now is the time of the recording's clock, in nanoseconds.
func (c *Capture) now() int64 { return int64(time.Since(c.cfg.Began)) }

// ahead is how far the recording's clock is ahead of the system's, which packets have and
// which may be set at any time. Who is interrupted between the readings of the two, of which
// that of the system's is the first, has them too far apart.
func (c *Capture) ahead() int64 {
	least := int64(math.MaxInt64)
	for range 3 {
		now := time.Now()
		least = min(least, int64(now.Sub(c.cfg.Began))-now.UnixNano())
	}
	return least
}
