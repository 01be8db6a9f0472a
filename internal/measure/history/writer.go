package history

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxWaitingBlocks is the number of full blocks that wait for the disk before the loop that
// fills them has to wait: half a minute of 50,000 operations per second.
const maxWaitingBlocks = 512

// Writer writes the file of one loop. Its own goroutine compresses and writes the blocks.
type Writer struct {
	path  string
	f     *os.File
	full  chan *Block
	empty chan *Block
	done  chan struct{}

	// The goroutine owns these fields until done is closed.
	err   error
	bytes int64
}

// Create creates a file, which must not exist yet.
func Create(path string, h *Header) (*Writer, error) {
	head, err := json.Marshal(h)
	if err == nil && len(head) > maxHeader {
		err = fmt.Errorf("its header is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	code, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(BlockSize))
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
	w.write(files.Append([]byte(magic), head, 0, len(head)))
	go w.run(code)
	return w, nil
}

// Recorder returns the recorder of the file's loop. If the disk cannot keep up, the loop waits,
// because a missing operation would look like a violation.
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

// Close completes and syncs the file, and returns the first error of the file. The recorder must
// have been flushed before, and must not be used afterwards.
func (w *Writer) Close() error { return w.close(true) }

// Leave syncs and closes a file that lacks operations. Readers of the file will report that it
// ends prematurely.
func (w *Writer) Leave() error { return w.close(false) }

// close ends the goroutine and closes the file. whole reports whether to mark it as complete.
func (w *Writer) close(whole bool) error {
	close(w.full)
	<-w.done
	if whole {
		w.write(files.Append(nil, nil, 0, 0))
	}
	for _, err := range []error{w.f.Sync(), w.f.Close()} {
		w.noteError(err)
	}
	return w.err
}

// Bytes returns the size of the file after Close.
func (w *Writer) Bytes() int64 { return w.bytes }

// run compresses and writes blocks until full is closed.
func (w *Writer) run(code *zstd.Encoder) {
	defer close(w.done)
	var packed, frame []byte
	for b := range w.full {
		packed = code.EncodeAll(b.Bytes(), packed[:0])
		frame = files.Append(frame[:0], packed, b.Len(), len(b.Bytes()))
		w.write(frame)
		b.Reset()
		select {
		case w.empty <- b:
		default:
		}
	}
}

// write appends to the file unless there was an error: a gap would look like a violation.
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
