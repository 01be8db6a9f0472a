package agent

import (
	"context"
	"io"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Follow implements host.Host.
func (h *remoteHost) Follow(ctx context.Context, paths []string) (host.Logs, error) {
	st, _, err := h.open(ctx, request{Action: followAction, Paths: paths})
	if err != nil {
		return nil, err
	}
	return &remoteLogs{h: h, st: st, files: len(paths), jumps: h.Clock().Jumps}, nil
}

// remoteLogs implements host.Logs for files that an agent follows.
type remoteLogs struct {
	h     *remoteHost
	st    *stream
	files int
	jumps int // number of jumps of the agent's clock until the last Read
}

// maxLineBytes is the maximum size of a line in bytes.
const maxLineBytes = 64 << 10

// Read implements host.Logs.
func (l *remoteLogs) Read(ctx context.Context) (lines []host.Line, hasMore bool, err error) {
	requestSent := l.h.r.now()
	a, err := l.h.ask(ctx, l.st, request{Action: readLinesAction})
	if err != nil {
		return nil, false, err
	}
	for i := range a.Lines {
		line := &a.Lines[i]
		if line.File < 0 || line.File >= l.files || len(line.Text) > maxLineBytes {
			return nil, false, l.h.impossible("a line belongs to an unknown file")
		}
		line.At = l.h.r.toLocal(line.At, requestSent)
	}
	clock := l.h.Clock()
	for i := range a.Lines {
		a.Lines[i].Ahead, a.Lines[i].AheadUnknown = clock.Ahead, clock.Jumps != l.jumps
	}
	l.jumps = clock.Jumps
	return a.Lines, a.HasMore, nil
}

// Close implements host.Logs.
func (l *remoteLogs) Close() error {
	l.st.close()
	return nil
}

// maxCopyBytes is the maximum size of a copied log in bytes, including the line that reports the
// omitted part.
const maxCopyBytes = host.MaxLogBytes + 1<<10

// CopyLog implements host.Host. If it returns an error, it may already have written a part of the
// log.
func (h *remoteHost) CopyLog(ctx context.Context, path string, dst io.Writer) (omitted int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	st, a, err := h.open(ctx, request{Action: copyLogAction, Path: path})
	if err != nil {
		return 0, err
	}
	defer st.close()
	defer context.AfterFunc(ctx, st.close)()
	for size := 0; a.HasMore; {
		if size += len(a.Text); size > maxCopyBytes || len(a.Text) == 0 {
			return 0, h.impossible("the copy of the log is longer than requested")
		}
		if _, err := dst.Write(a.Text); err != nil {
			return 0, err
		}
		a, err = receiveJSON[reply](st)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err := h.replyError(a, err); err != nil {
			return 0, err
		}
	}
	if a.OmittedBytes < 0 {
		return 0, h.impossible("the omitted part of the log has a negative size")
	}
	return a.OmittedBytes, nil
}
