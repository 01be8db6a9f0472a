package files

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

const (
	headSize = 16
	// MaxFrame is the maximum size of a frame in bytes, before and after decompression.
	MaxFrame = 1 << 20
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Append appends a frame to b. The parameter `count` is the number of records in the payload, and
// `size` is their total size in bytes when decompressed.
func Append(b, payload []byte, count, size int) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, uint32(count))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[start:], payload))
	return append(b, payload...)
}

func checksum(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:headSize-4], crcTable), crcTable, payload)
}

// Reasons why a frame cannot be read.
var (
	ErrIncomplete = errors.New("the file ends without a complete frame")
	ErrDamaged    = errors.New("the file contains a damaged frame")
)

// Frame contains the last frame that Read has read. The next call of Read reuses the memory of
// Payload.
type Frame struct {
	Payload     []byte
	Count, Size int // number of records, and their total size in bytes when decompressed
}

// Read reads the next frame. It returns ErrIncomplete if the frame is incomplete or the input has
// ended, and ErrDamaged if the frame is damaged.
func (f *Frame) Read(in io.Reader) error {
	var head [headSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return ErrIncomplete
	}
	n := binary.LittleEndian.Uint32(head[:])
	f.Count = int(binary.LittleEndian.Uint32(head[4:]))
	f.Size = int(binary.LittleEndian.Uint32(head[8:]))
	if n > MaxFrame || f.Size > MaxFrame || f.Count > f.Size {
		return ErrDamaged
	}
	if cap(f.Payload) < int(n) {
		f.Payload = make([]byte, n)
	}
	f.Payload = f.Payload[:n]
	if _, err := io.ReadFull(in, f.Payload); err != nil {
		return ErrIncomplete
	}
	if checksum(head[:], f.Payload) != binary.LittleEndian.Uint32(head[headSize-4:]) {
		return ErrDamaged
	}
	return nil
}
