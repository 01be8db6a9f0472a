package host

import (
	"context"
	"fmt"
	"io"
	"os"
)

// MaxLogBytes is the maximum number of bytes that CopyLog copies from a log. The log of a member is
// much smaller even after a day, and a file of this size fits on any disk.
const MaxLogBytes = 32 << 20

// CopyLog implements Host.
func (l *Local) CopyLog(ctx context.Context, path string, dst io.Writer) (omitted int64, err error) {
	omitted, err = l.copyLog(ctx, path, dst, MaxLogBytes)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("cannot read the log %s: %w", path, Cause(err))
	}
	return omitted, err
}

// copyLog does the same as CopyLog, but copies at most limit bytes.
func (l *Local) copyLog(ctx context.Context, path string, dst io.Writer, limit int64) (omitted int64, err error) {
	f, info, err := l.openFile(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	end := info.Size()               // ignore data that is appended later
	begin := min(end, limit/2)
	if omitted = max(end-limit, 0); omitted == 0 {
		begin = end
	}
	if err := copyPart(ctx, dst, f, 0, begin); err != nil || omitted == 0 {
		return omitted, err
	}
	if _, err := fmt.Fprintf(dst, "\n[quorumbench left out %d bytes here]\n", omitted); err != nil {
		return omitted, err
	}
	return omitted, copyPart(ctx, dst, f, begin+omitted, end)
}

// copyPart copies the bytes from offset start to offset end. It stops at the end of the file if the
// file is shorter.
func copyPart(ctx context.Context, dst io.Writer, f *os.File, start, end int64) error {
	part := make([]byte, 64<<10)
	for start < end && ctx.Err() == nil {
		n, err := f.ReadAt(part[:min(int64(len(part)), end-start)], start)
		start += int64(n)
		if _, writing := dst.Write(part[:n]); writing != nil {
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
