package passive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// blockSize is the ring's unit. The largest packet that a loopback interface has, of
	// 64 KiB, fits into one.
	blockSize = 128 << 10
	// gathers is how long the system lets packets gather in a block: a wake-up costs more
	// than it takes to read what one says.
	gathers = 50 * time.Millisecond
)

// ring is memory that the system shares with us, in which it puts copies of packets
// (TPACKET_V3 in the kernel's documentation of packet_mmap).
type ring struct {
	f   *os.File
	raw syscall.RawConn
	mem []byte
	at  int // the block that is read next
}

// openRing begins to capture segments of a port.
func openRing(port uint16, size int) (*ring, error) {
	// Of no protocol, so that nothing comes before the filter is there. SOCK_DGRAM leaves
	// the header of the link out.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New("packets cannot be captured without the right to read them: run it as root, or give the program the capability CAP_NET_RAW")
	}
	if err != nil {
		return nil, fmt.Errorf("packets cannot be captured: %w", err)
	}
	r := &ring{}
	if err := r.open(fd, port, max(size/blockSize, 2)); err != nil {
		if r.mem != nil {
			_ = unix.Munmap(r.mem)
		}
		_ = unix.Close(fd) // the error that matters is that one
		return nil, fmt.Errorf("packets cannot be captured: %w", err)
	}
	r.f = os.NewFile(uintptr(fd), "packets")
	if r.raw, err = r.f.SyscallConn(); err != nil {
		r.close()
		return nil, fmt.Errorf("packets cannot be captured: %w", err)
	}
	return r, nil
}

func (r *ring) open(fd int, port uint16, blocks int) error {
	program, err := filter(port)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return err
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq3{
		Block_size: blockSize, Block_nr: uint32(blocks),
		Frame_size: blockSize, Frame_nr: uint32(blocks), // packets are as long as they are
		Retire_blk_tov: uint32(gathers.Milliseconds()),
	}); err != nil {
		return err
	}
	if r.mem, err = unix.Mmap(fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))})
}

func (r *ring) close() {
	_ = r.f.Close()
	_ = unix.Munmap(r.mem)
	r.mem = nil
}

func (r *ring) blocks() int { return len(r.mem) / blockSize }

// block is a block's description; the status in it says whose it is.
func (r *ring) block(i int) *unix.TpacketHdrV1 {
	const header = unsafe.Offsetof(unix.TpacketBlockDesc{}.Hdr)
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&r.mem[i*blockSize+int(header)]))
}

func (r *ring) ours(i int) bool {
	return atomic.LoadUint32(&r.block(i).Block_status)&unix.TP_STATUS_USER != 0
}

// ready reports whether there is a block to be read.
func (r *ring) ready() bool { return r.ours(r.at) }

// behind reports whether a quarter of the ring waits to be read.
func (r *ring) behind() bool { return r.ours((r.at + r.blocks()/4) % r.blocks()) }

// wait waits for a block. After what until says it returns os.ErrDeadlineExceeded.
func (r *ring) wait() error {
	return r.raw.Read(func(uintptr) bool { return r.ready() })
}

func (r *ring) until(at time.Time) { _ = r.f.SetReadDeadline(at) }

// read gives the packets of the next block, from their network headers on, how long they
// were, and when they passed, in nanoseconds of the system's clock. Then the block is the
// system's again.
func (r *ring) read(packet func(b []byte, length int, at int64)) {
	head := r.block(r.at)
	mem := r.mem[r.at*blockSize : (r.at+1)*blockSize]
	next := head.Offset_to_first_pkt
	for range head.Num_pkts {
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&mem[next]))
		b := mem[next+uint32(p.Net):]
		packet(b[:p.Snaplen:p.Snaplen], int(p.Len), int64(p.Sec)*second+int64(p.Nsec))
		next += p.Next_offset
	}
	atomic.StoreUint32(&head.Block_status, unix.TP_STATUS_KERNEL)
	r.at = (r.at + 1) % r.blocks()
}

// drops is for how many packets there was no room since it was asked last.
func (r *ring) drops() uint64 {
	var n uint64
	_ = r.raw.Control(func(fd uintptr) {
		if s, err := unix.GetsockoptTpacketStatsV3(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			n = uint64(s.Drops)
		}
	})
	return n
}
