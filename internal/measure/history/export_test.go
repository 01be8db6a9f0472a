package history

import "os"

// FillDisk makes all further writes fail, as on a full disk.
func (w *Writer) FillDisk() {
	_ = w.f.Close()
	w.f, _ = os.OpenFile("/dev/full", os.O_WRONLY, 0)
}
