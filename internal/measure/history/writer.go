package history

import "github.com/quorumbench/quorumbench/internal/files"

// maxWaitingBlocks is the maximum number of full blocks that wait to be written to disk. If this
// number is reached, the loop that fills the blocks must wait. At 50,000 operations per second, 512
// blocks are filled in half a minute.
const maxWaitingBlocks = 512

// Writer writes the file for one loop. A separate goroutine compresses and writes the blocks.
type Writer struct {
	file  *files.BlockWriter // used only by the goroutine until the channel `done` is closed
	full  chan *Block
	empty chan *Block
	done  chan struct{}
}

// Create creates a history file and returns its Writer. It returns an error if the file already
// exists.
func Create(path string, h *Header) (*Writer, error) {
	file, err := files.CreateBlocks(path, signature, "the history", h, BlockSize)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, full: make(chan *Block, maxWaitingBlocks), empty: make(chan *Block, maxWaitingBlocks), done: make(chan struct{})}
	go w.run()
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

// close stops the goroutine and closes the file.
func (w *Writer) close(complete bool) error {
	close(w.full)
	<-w.done
	return w.file.Close(complete)
}

// Bytes returns the size of the file. It may be called only after Close.
func (w *Writer) Bytes() int64 { return w.file.Bytes() }

// run compresses and writes blocks until full is closed.
func (w *Writer) run() {
	defer close(w.done)
	for b := range w.full {
		w.file.WriteBlock(b.Bytes(), b.Len())
		b.Reset()
		select {
		case w.empty <- b:
		default:
		}
	}
}
