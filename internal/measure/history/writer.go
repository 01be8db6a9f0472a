package history

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxWaitingBlocks is the maximum number of full blocks that wait to be written to disk. If this
// number is reached, the loop that fills the blocks must wait. At 50,000 operations per second, 512
// blocks are filled in half a minute.
const maxWaitingBlocks = 512

// Writer writes the file for one loop. A separate goroutine compresses and writes the blocks.
type Writer struct {
	path  string
	f     *os.File
	full  chan *Block
	empty chan *Block
	done  chan struct{}

	// Until the channel `done` is closed, only the Writer's goroutine uses these fields.
	err   error
	bytes int64
}

// Create creates a history file and returns its Writer. It returns an error if the file already
// exists.
func Create(path string, h *Header) (*Writer, error) {
	header, err := json.Marshal(h)
	if err == nil && len(header) > maxHeader {
		err = fmt.Errorf("the header is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(BlockSize))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write the history: %w", err)
	}
	w := &Writer{
		path: path, f: f, full: make(chan *Block, maxWaitingBlocks),
		empty: make(chan *Block, maxWaitingBlocks), done: make(chan struct{}),
	}
	w.write(files.Append([]byte(magic), header, 0, len(header)))
	go w.run(encoder)
	return w, nil
}

// Recorder returns the recorder for the loop that fills this file. If the disk is too slow, the
// loop has to wait. Operations are never dropped, because a missing operation would look like a
// violation.
func (w *Writer) Recorder() *Recorder {
	return &Recorder{
		Take: func() *Block {
			select {
			case b := <-w.empty:
				return b
			default:
				return NewBlock()
			}
		},
		Deliver: func(b *Block) { w.full <- b },
	}
}

// Close completes and syncs the file. It returns the first error that occurred while the file was
// written. The recorder must have been flushed before, and must not be used afterwards.
func (w *Writer) Close() error { return w.close(true) }

// CloseIncomplete syncs and closes a file that does not contain all operations. Readers of the file
// will report that it ends prematurely.
func (w *Writer) CloseIncomplete() error { return w.close(false) }

// close stops the goroutine and closes the file. If `complete` is set, close first marks the file
// as complete.
func (w *Writer) close(complete bool) error {
	close(w.full)
	<-w.done
	if complete {
		w.write(files.Append(nil, nil, 0, 0))
	}
	for _, err := range []error{w.f.Sync(), w.f.Close()} {
		w.noteError(err)
	}
	return w.err
}

// Bytes returns the size of the file. It may be called only after Close.
func (w *Writer) Bytes() int64 { return w.bytes }

// run compresses and writes blocks until full is closed.
func (w *Writer) run(encoder *zstd.Encoder) {
	defer close(w.done)
	var packed, frame []byte
	for b := range w.full {
		packed = encoder.EncodeAll(b.Bytes(), packed[:0])
		frame = files.Append(frame[:0], packed, b.Len(), len(b.Bytes()))
		w.write(frame)
		b.Reset()
		select {
		case w.empty <- b:
		default:
		}
	}
}

// write appends b to the file. After an error it writes nothing, because a gap in the file would
// look like a violation.
func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.f.Write(b)
	w.bytes += int64(n)
	w.noteError(err)
}

// noteError records the first error.
func (w *Writer) noteError(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("cannot write the history: %w", err)
	}
}
