package agent

import (
	"context"
	"io"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Follow implements host.Host.
func (h *remoteHost) Follow(ctx context.Context, paths []string) (host.Logs, error) {
	st, _, err := h.open(ctx, request{Do: follow, Paths: paths})
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

// mostLine is the maximum size of a line in bytes.
const mostLine = 64 << 10

// Read implements host.Logs.
func (l *remoteLogs) Read(ctx context.Context) (lines []host.Line, next bool, err error) {
	asked := l.h.r.now()
	a, err := l.h.ask(ctx, l.st, request{Do: more})
	if err != nil {
		return nil, false, err
	}
	for i := range a.Lines {
		line := &a.Lines[i]
		if line.File < 0 || line.File >= l.files || len(line.Text) > mostLine {
			return nil, false, l.h.impossible("a line belongs to an unknown file")
		}
		line.At = l.h.r.toLocal(line.At, asked)
	}
	clock := l.h.Clock()
	for i := range a.Lines {
		a.Lines[i].Ahead, a.Lines[i].Unsure = clock.Ahead, clock.Jumps != l.jumps
	}
	l.jumps = clock.Jumps
	return a.Lines, a.More, nil
}

// Close implements host.Logs.
func (l *remoteLogs) Close() error {
	l.st.close()
	return nil
}

// mostCopied is the maximum size of a copied log in bytes, including the line that reports the
// omitted part.
const mostCopied = host.MostLog + 1<<10

// CopyLog implements host.Host. If it returns an error, it may already have written a part of the
// log.
func (h *remoteHost) CopyLog(ctx context.Context, path string, to io.Writer) (left int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	st, a, err := h.open(ctx, request{Do: copyLog, Path: path})
	if err != nil {
		return 0, err
	}
	defer st.close()
	defer context.AfterFunc(ctx, st.close)()
	for size := 0; a.More; {
		if size += len(a.Text); size > mostCopied || len(a.Text) == 0 {
			return 0, h.impossible("the copy of the log is longer than requested")
		}
		if _, err := to.Write(a.Text); err != nil {
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
	if a.Left < 0 {
		return 0, h.impossible("the omitted part of the log has a negative size")
	}
	return a.Left, nil
}
