package host

import (
	"context"
	"fmt"
	"io"
	"os"
)

// MostLog is the maximum number of bytes that CopyLog copies from a log. It is far more than a
// member writes in a day, and fits on any disk.
const MostLog = 32 << 20

// CopyLog implements Host.
func (l *Local) CopyLog(ctx context.Context, path string, to io.Writer) (left int64, err error) {
	left, err = l.copyLog(ctx, path, to, MostLog)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("cannot read the log %s: %w", path, Cause(err))
	}
	return left, err
}

// copyLog is CopyLog with a limit of most bytes.
func (l *Local) copyLog(ctx context.Context, path string, to io.Writer, most int64) (left int64, err error) {
	f, info, err := l.openFile(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	end := info.Size()               // do not follow a log that is still being written
	begin := min(end, most/2)
	if left = max(end-most, 0); left == 0 {
		begin = end
	}
	if err := copyPart(ctx, to, f, 0, begin); err != nil || left == 0 {
		return left, err
	}
	if _, err := fmt.Fprintf(to, "\n[quorumbench left out %d bytes here]\n", left); err != nil {
		return left, err
	}
	return left, copyPart(ctx, to, f, begin+left, end)
}

// copyPart copies the bytes between offsets from and until. It stops earlier if the file ends
// earlier.
func copyPart(ctx context.Context, to io.Writer, f *os.File, from, until int64) error {
	part := make([]byte, 64<<10)
	for from < until && ctx.Err() == nil {
		n, err := f.ReadAt(part[:min(int64(len(part)), until-from)], from)
		from += int64(n)
		if _, writing := to.Write(part[:n]); writing != nil {
			return writing
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
