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
	Hosts []netip.Addr // the member's addresses; none: any address
	Tap   TapConfig
	Began time.Time // the zero of the recording's clock
	// GiveWay makes all threads of the process run only on idle processors, until a quarter
	// of the buffer is waiting to be read.
	GiveWay bool
}

const (
	room = 64 << 20 // bytes of packets that may wait to be read
	// lingers is how long the capture waits at the end for packets that the kernel is still
	// collecting.
	lingers = 4 * gathers
)

// Packets collects a port's packets from the moment of opening.
type Packets struct {
	port uint16
	ring *ring
}

// Open starts to collect the packets of a member's port at any address. It needs the right
// to read packets.
func Open(port uint16) (*Packets, error) { return openRoom(port, room) }

func openRoom(port uint16, room int) (*Packets, error) {
	r, err := openRing(port, room)
	if err != nil {
		return nil, err
	}
	return &Packets{port: port, ring: r}, nil
}

// Close stops collecting. Do not call it if a Capture serves the packets: Serve closes them
// when it returns.
func (p *Packets) Close() { p.ring.close() }

// Capture decodes captured packets.
type Capture struct {
	cfg   CaptureConfig
	ring  *ring
	table *table
	prio  priority
	ends  atomic.Int64 // the time of the last wanted packet, by the recording's clock; 0: unknown
	drops uint64       // lost packets that are not reported yet
	said  int64        // when lost packets were last reported
}

// NewCapture returns a capture.
func NewCapture(cfg CaptureConfig) *Capture { return &Capture{cfg: cfg} }

// Heard summarizes what a capture observed.
type Heard struct {
	Connections uint32
	WereOpen    uint32 // of these, the connections that were open before the capture began and are not recorded
	// Elsewhere holds some addresses at which the port is used and which are not the
	// member's.
	Elsewhere []netip.Addr
}

// Heard returns the capture's summary. Call it after Serve has returned.
func (c *Capture) Heard() Heard {
	return Heard{c.table.number, c.table.open, slices.SortedFunc(maps.Keys(c.table.elsewhere), netip.Addr.Compare)}
}

// Serve captures until ctx ends, and returns when all packets up to then are decoded.
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
			return fmt.Errorf("the capture of packets failed: %w", err)
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

// read reads all waiting packets, and reports whether more may be wanted. After ctx has
// ended, packets may arrive as fast as they are read, so it stops at the first later one.
func (c *Capture) read() bool {
	for c.ring.ready() {
		ends := c.ends.Load()
		if c.cfg.GiveWay && (ends != 0 || c.ring.behind()) {
			c.prio.giveWay(false)
		}
		ahead, now := c.ahead(), c.now()
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
		if c.missed(over); over {
			return false
		}
	}
	if c.cfg.GiveWay && c.ends.Load() == 0 {
		c.prio.giveWay(true)
	}
	return true
}

// missed reports the number of lost packets, at most once per second and at the end.
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

// now returns the time of the recording's clock in nanoseconds.
func (c *Capture) now() int64 { return int64(time.Since(c.cfg.Began)) }

// ahead returns how far the recording's clock is ahead of the system's clock, which
// timestamps the packets and may be set at any time. An interruption between the readings
// of the two clocks can only increase the difference, so ahead takes the smallest of three.
func (c *Capture) ahead() int64 {
	least := int64(math.MaxInt64)
	for range 3 {
		now := time.Now()
		least = min(least, int64(now.Sub(c.cfg.Began))-now.UnixNano())
	}
	return least
}
