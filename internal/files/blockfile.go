package files

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// A file of compressed blocks starts with a signature and a frame with a JSON header. Each further
// frame contains a compressed block of records. The last frame is empty. If it is missing, the file
// is incomplete.

const (
	headSize  = 16
	maxHeader = 1 << 16 // maximum size of a file's header in bytes
	// maxFrame is the maximum size of a frame in bytes, before and after decompression.
	maxFrame = 1 << 20
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a frame to b. The parameter `count` is the number of records in the payload,
// and `size` is their total size in bytes when decompressed.
func appendFrame(b, payload []byte, count, size int) []byte {
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
// ended, ErrDamaged if the frame is damaged, and any other error of the input unchanged.
func (f *Frame) Read(in io.Reader) error {
	var head [headSize]byte
	if err := readFull(in, head[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(head[:])
	f.Count = int(binary.LittleEndian.Uint32(head[4:]))
	f.Size = int(binary.LittleEndian.Uint32(head[8:]))
	if n > maxFrame || f.Size > maxFrame || f.Count > f.Size {
		return ErrDamaged
	}
	if cap(f.Payload) < int(n) {
		f.Payload = make([]byte, n)
	}
	f.Payload = f.Payload[:n]
	if err := readFull(in, f.Payload); err != nil {
		return err
	}
	if checksum(head[:], f.Payload) != binary.LittleEndian.Uint32(head[headSize-4:]) {
		return ErrDamaged
	}
	return nil
}

// readFull fills b. It returns ErrIncomplete if the input ends before, and any other error unchanged.
func readFull(in io.Reader, b []byte) error {
	_, err := io.ReadFull(in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrIncomplete
	}
	return err
}

// BlockWriter writes a file of compressed blocks. After an error it writes nothing more, because
// readers could not detect a gap in the file.
type BlockWriter struct {
	f             *os.File
	content       string // name of the contents, for errors
	encoder       *zstd.Encoder
	packed, frame []byte
	bytes         int64
	err           error
}

// CreateBlocks creates a file of compressed blocks, and writes its signature and its header. It
// returns an error if the file already exists. `content` names the file's contents in
// error messages, such as "history". `blockSize` is the usual size of a block in bytes.
func CreateBlocks(path, signature, content string, header any, blockSize int) (*BlockWriter, error) {
	head, err := json.Marshal(header)
	if err == nil && len(head) > maxHeader {
		err = errors.New("the header is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	w := &BlockWriter{content: content, encoder: encoder}
	if w.f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		w.noteError(err)
		return nil, w.err
	}
	w.write(appendFrame([]byte(signature), head, 0, len(head)))
	return w, nil
}

// WriteBlock compresses and writes a block with the given number of records. Close returns the
// error.
func (w *BlockWriter) WriteBlock(block []byte, records int) {
	w.packed = w.encoder.EncodeAll(block, w.packed[:0])
	w.frame = appendFrame(w.frame[:0], w.packed, records, len(block))
	w.write(w.frame)
}

// Close syncs and closes the file. If `complete` is set, it first marks the file as complete. It
// returns the first error that occurred while the file was written.
func (w *BlockWriter) Close(complete bool) error {
	if complete {
		w.write(appendFrame(nil, nil, 0, 0))
	}
	w.noteError(w.f.Sync())
	w.noteError(w.f.Close())
	return w.err
}

// Bytes returns the size of the file.
func (w *BlockWriter) Bytes() int64 { return w.bytes }

// write appends b to the file, unless an error occurred earlier.
func (w *BlockWriter) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.f.Write(b)
	w.bytes += int64(n)
	w.noteError(err)
}

// noteError records the first error.
func (w *BlockWriter) noteError(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("cannot write %s: %w", w.content, err)
	}
}

// ErrUnreadableHeader is the error for a header that is not damaged but has invalid fields.
var ErrUnreadableHeader = errors.New("the header cannot be read")

// ReadBlockHeader reads the signature and the header of a file of compressed blocks. If the file has
// a different signature, ReadBlockHeader returns the error errForeign. It returns an error of the
// input unchanged.
func ReadBlockHeader(in io.Reader, signature string, errForeign error, header any) error {
	first := make([]byte, len(signature))
	switch err := readFull(in, first); {
	case errors.Is(err, ErrIncomplete), err == nil && string(first) != signature:
		return errForeign
	case err != nil:
		return err
	}
	var f Frame
	switch err := f.Read(in); {
	case errors.Is(err, ErrIncomplete), errors.Is(err, ErrDamaged):
		return errors.New("the header is damaged")
	case err != nil:
		return err
	}
	if json.Unmarshal(f.Payload, header) != nil {
		return ErrUnreadableHeader
	}
	return nil
}

// NewBlockDecoder returns a decoder for Unpack. `concurrency` is the number of blocks that it can
// decode at the same time, or 0 for one per processor.
func NewBlockDecoder(concurrency int) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderMaxMemory(maxFrame))
}

// Unpack decompresses the block in the frame, and reuses the memory of `into`. It returns ErrDamaged
// if the block is damaged.
func (f *Frame) Unpack(decoder *zstd.Decoder, into []byte) ([]byte, error) {
	block, err := decoder.DecodeAll(f.Payload, into[:0])
	if err != nil || len(block) != f.Size {
		return block, ErrDamaged
	}
	return block, nil
}
