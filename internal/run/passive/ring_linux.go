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
	// blockSize is the size of a block in the ring, in bytes. Even the largest packets, which are
	// 64 KiB long on a loopback interface, fit in a block.
	blockSize = 128 << 10
	// blockTimeout is how long the kernel collects packets in a block before it wakes the reader. A
	// wake-up costs more than reading a packet.
	blockTimeout = 50 * time.Millisecond
)

// ring is memory that is shared with the kernel, which writes copies of packets into it. See
// TPACKET_V3 in the kernel's documentation of packet_mmap.
type ring struct {
	f         *os.File
	raw       syscall.RawConn
	mem       []byte
	nextBlock int // the block to read next
}

// openRing starts capturing the segments that are sent from or to a port.
func openRing(port uint16, size int) (*ring, error) {
	// The protocol is 0, so that no packet arrives before the filter is set. SOCK_DGRAM omits the
	// link-layer header.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New("quorumbench is not permitted to capture packets; run quorumbench as root, or give its binary the capability CAP_NET_RAW")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot capture packets: %w", err)
	}
	r := &ring{}
	if err := r.open(fd, port, max(size/blockSize, 2)); err != nil {
		if r.mem != nil {
			_ = unix.Munmap(r.mem)
		}
		_ = unix.Close(fd) // err is more important
		return nil, fmt.Errorf("cannot capture packets: %w", err)
	}
	r.f = os.NewFile(uintptr(fd), "packets")
	if r.raw, err = r.f.SyscallConn(); err != nil {
		r.close()
		return nil, fmt.Errorf("cannot capture packets: %w", err)
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
		Frame_size: blockSize, Frame_nr: uint32(blocks), // packets have variable lengths
		Retire_blk_tov: uint32(blockTimeout.Milliseconds()),
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

// block returns the header of a block. The header's status shows whether the block currently
// belongs to the kernel or to this process.
func (r *ring) block(i int) *unix.TpacketHdrV1 {
	const header = unsafe.Offsetof(unix.TpacketBlockDesc{}.Hdr)
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&r.mem[i*blockSize+int(header)]))
}

// filled reports whether the kernel has filled a block.
func (r *ring) filled(i int) bool {
	return atomic.LoadUint32(&r.block(i).Block_status)&unix.TP_STATUS_USER != 0
}

// ready reports whether a block can be read.
func (r *ring) ready() bool { return r.filled(r.nextBlock) }

// isFilling reports whether at least a quarter of the ring is waiting to be read.
func (r *ring) isFilling() bool { return r.filled((r.nextBlock + r.blocks()/4) % r.blocks()) }

// wait waits until a block can be read. It returns os.ErrDeadlineExceeded after the deadline that
// setDeadline has set.
func (r *ring) wait() error {
	return r.raw.Read(func(uintptr) bool { return r.ready() })
}

func (r *ring) setDeadline(at time.Time) { _ = r.f.SetReadDeadline(at) }

// read calls the function `handle` for each packet in the next block, and then returns the block to
// the kernel. The parameter b of `handle` contains the captured bytes, beginning with the network
// header. The parameter `length` is the length of the whole packet. The parameter `at` is the
// packet's time in nanoseconds on the system's clock.
func (r *ring) read(handle func(b []byte, length int, at int64)) {
	head := r.block(r.nextBlock)
	mem := r.mem[r.nextBlock*blockSize : (r.nextBlock+1)*blockSize]
	next := head.Offset_to_first_pkt
	for range head.Num_pkts {
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&mem[next]))
		b := mem[next+uint32(p.Net):]
		handle(b[:p.Snaplen:p.Snaplen], int(p.Len), int64(p.Sec)*second+int64(p.Nsec))
		next += p.Next_offset
	}
	atomic.StoreUint32(&head.Block_status, unix.TP_STATUS_KERNEL)
	r.nextBlock = (r.nextBlock + 1) % r.blocks()
}

// drops returns the number of packets that were lost since the last call because the ring was full.
func (r *ring) drops() uint64 {
	var n uint64
	_ = r.raw.Control(func(fd uintptr) {
		if s, err := unix.GetsockoptTpacketStatsV3(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			n = uint64(s.Drops)
		}
	})
	return n
}
