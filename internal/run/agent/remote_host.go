package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/text"
)

// remoteHost is a host.Remote on an agent's machine. It validates every reply, because agents are not
// trusted.
type remoteHost struct{ r *Remote }

var _ host.Remote = (*remoteHost)(nil)

// Clock implements host.Remote.
func (h *remoteHost) Clock() host.Clock { return h.r.Offset() }

// Presence implements host.Remote.
func (h *remoteHost) Presence() context.Context { return h.r.ctx }

// describeError adds the agent's name to an error. If the agent is lost, it returns the reason for
// the loss instead, which already contains the name.
func (r *Remote) describeError(err error) error {
	switch {
	case err == nil:
		return nil
	case r.lost() != nil:
		return r.lost()
	}
	return fmt.Errorf("agent %s: %w", r.target.Name, err)
}

// ask sends a request on a stream and returns the reply. If ctx is canceled first, it closes the
// stream.
func (h *remoteHost) ask(ctx context.Context, st *stream, q request) (reply, error) {
	release := context.AfterFunc(ctx, st.close)
	err := sendJSON(st, q)
	var a reply
	if err == nil || errors.Is(err, io.EOF) { // after EOF, the received status contains the reason
		a, err = receiveJSON[reply](st)
	}
	if !release() && ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	return a, h.replyError(a, err)
}

// replyError returns the error in a reply, or err if no reply was received.
func (h *remoteHost) replyError(a reply, err error) error {
	if err == nil && a.Error != "" {
		err = errors.New(text.Line(a.Error, 4*text.MaxServerText))
	}
	return h.r.describeError(err)
}

// open sends a request on a new stream. The subject of the request exists as long as the stream.
func (h *remoteHost) open(ctx context.Context, q request) (*stream, reply, error) {
	if ctx.Err() != nil {
		return nil, reply{}, context.Cause(ctx)
	}
	st, err := h.r.open(hostMethod)
	if err != nil {
		return nil, reply{}, h.r.describeError(err)
	}
	a, err := h.ask(ctx, st, q)
	if err != nil {
		st.close()
		return nil, reply{}, err
	}
	return st, a, nil
}

// call sends a request that has a single reply.
func (h *remoteHost) call(ctx context.Context, q request) (reply, error) {
	st, a, err := h.open(ctx, q)
	if err == nil {
		st.close()
	}
	return a, err
}

// impossible returns an error about an impossible reply.
func (h *remoteHost) impossible(what string) error {
	return h.r.describeError(errors.New("the agent sent an impossible reply: " + what))
}

// closeUntrusted ends the session with an agent that reports impossible measurements. If the run
// continued without these measurements, its figures would seem complete.
func (h *remoteHost) closeUntrusted(reason error) error {
	err := h.impossible(reason.Error())
	h.r.recordLoss(fmt.Errorf("the agent reported a value that cannot have been measured: %w", reason))
	return err
}

// Describe implements host.Host.
func (h *remoteHost) Describe(ctx context.Context) (host.Description, error) {
	a, err := h.call(ctx, request{Action: describeAction})
	if err != nil {
		return host.Description{}, err
	}
	if a.Description == nil || !filepath.IsAbs(a.Description.Folder) {
		return host.Description{}, h.impossible("the description has no folder")
	}
	if err := text.CheckNumbers(a.Description); err != nil {
		return host.Description{}, h.impossible(err.Error())
	}
	text.SanitizeFields(a.Description)
	return *a.Description, nil
}

// Sample implements host.Host.
func (h *remoteHost) Sample(ctx context.Context, pids []int, machine bool) (host.Sample, error) {
	requestSent := h.r.now()
	a, err := h.call(ctx, request{Action: sampleAction, PIDs: pids, Machine: machine})
	if err != nil {
		return host.Sample{}, err
	}
	if a.Sample == nil || len(a.Sample.Processes) != len(pids) {
		return host.Sample{}, h.impossible("it does not describe the requested processes")
	}
	if err := text.CheckNumbers(a.Sample); err != nil {
		return host.Sample{}, h.closeUntrusted(err)
	}
	a.Sample.At = h.r.toLocal(a.Sample.At, requestSent)
	return *a.Sample, nil
}

// Fsync implements host.Host.
func (h *remoteHost) Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error) {
	a, err := h.call(ctx, request{Action: fsyncAction, Paths: dirs, Count: writes})
	if err != nil {
		return nil, err
	}
	for i := range a.Fsync {
		text.SanitizeFields(&a.Fsync[i])
		if err := text.CheckNumbers(a.Fsync[i]); err != nil {
			return nil, h.impossible(err.Error())
		}
		if f := &a.Fsync[i]; f.Count < 0 || f.Count > writes {
			return nil, h.impossible("the number of writes exceeds the requested number")
		}
	}
	return a.Fsync, nil
}

// MeasureFolders implements host.Host.
func (h *remoteHost) MeasureFolders(ctx context.Context, dirs []string) ([]int64, time.Duration, error) {
	a, err := h.call(ctx, request{Action: measureFoldersAction, Paths: dirs})
	if err != nil {
		return nil, 0, err
	}
	if len(a.Sizes) != len(dirs) || a.Cost < 0 || slices.ContainsFunc(a.Sizes, func(n int64) bool { return n < -1 }) {
		return nil, 0, h.impossible("it does not have a valid size for each requested folder")
	}
	return a.Sizes, a.Cost, nil
}

// CheckLaunch implements host.Remote.
func (h *remoteHost) CheckLaunch(ctx context.Context, l host.Launch) error {
	_, err := h.call(ctx, request{Action: checkLaunchAction, Launch: &l})
	return err
}

// Renew implements host.Remote.
func (h *remoteHost) Renew(ctx context.Context, l host.Launch) error {
	_, err := h.call(ctx, request{Action: renewAction, Launch: &l})
	return err
}

// MakeDir implements host.Host.
func (h *remoteHost) MakeDir(ctx context.Context, path string) error {
	_, err := h.call(ctx, request{Action: makeDirAction, Path: path})
	return err
}

// WriteFile implements host.Host.
func (h *remoteHost) WriteFile(ctx context.Context, path string, contents []byte) error {
	_, err := h.call(ctx, request{Action: writeFileAction, Path: path, Contents: contents})
	return err
}

// Ports implements host.Host.
func (h *remoteHost) Ports(ctx context.Context, count int) (*host.Lease, error) {
	st, a, err := h.open(ctx, request{Action: portsAction, Count: count})
	if err != nil {
		return nil, err
	}
	bad := slices.ContainsFunc(a.Ports, func(port int) bool { return port < 1 || port > 65535 })
	if net.ParseIP(a.Address) == nil || len(a.Ports) != count || bad {
		st.close()
		return nil, h.impossible("it does not have a valid address and the requested number of valid ports")
	}
	return &host.Lease{Address: a.Address, Ports: a.Ports, Release: st.close}, nil
}

// Claim implements host.Host.
func (h *remoteHost) Claim(ctx context.Context, parent string) (host.Claim, error) {
	st, a, err := h.open(ctx, request{Action: claimAction, Path: parent})
	if err != nil {
		return nil, err
	}
	if filepath.Dir(a.Path) != parent || filepath.Clean(a.Path) != a.Path {
		st.close()
		return nil, h.impossible("the folder is not in the requested parent folder")
	}
	return &remoteClaim{h: h, st: st, path: a.Path, env: a.Env}, nil
}

// remoteClaim is a folder that an agent claimed.
type remoteClaim struct {
	h         *remoteHost
	mu        sync.Mutex // serializes requests
	st        *stream
	path, env string
}

// Path implements host.Claim.
func (c *remoteClaim) Path() string { return c.path }

// Env implements host.Claim.
func (c *remoteClaim) Env() string { return c.env }

// Note implements host.Claim.
func (c *remoteClaim) Note(ctx context.Context, process host.Identity) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.h.ask(ctx, c.st, request{Action: noteProcessAction, Process: &process})
	return err
}

// Release implements host.Claim.
func (c *remoteClaim) Release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.st.close()
	_, err := c.h.ask(ctx, c.st, request{Action: releaseAction})
	return err
}

// Start implements host.Host.
func (h *remoteHost) Start(ctx context.Context, c host.Command) (host.Process, error) {
	st, a, err := h.open(ctx, request{Action: startAction, Command: &c})
	if err != nil {
		return nil, err
	}
	if a.Process == nil || a.Process.PID < 1 {
		st.close()
		return nil, h.impossible("the process has no ID")
	}
	p := &remoteProcess{h: h, st: st, id: *a.Process, exited: make(chan struct{}), signalReplies: make(chan reply, maxSignalReplies)}
	go p.listen()
	return p, nil
}

// remoteProcess is a process that an agent started.
type remoteProcess struct {
	h                *remoteHost
	st               *stream
	id               host.Identity
	exited           chan struct{}
	exit             host.Exit // written before exited is closed
	sending          sync.Mutex
	signalReplies    chan reply // replies to signals
	abandonedReplies int        // number of expected replies whose callers no longer wait
}

// maxSignalReplies is the maximum number of queued replies to signals.
const maxSignalReplies = 64

// listen receives replies until the process has exited or is lost.
func (p *remoteProcess) listen() {
	defer close(p.exited)
	defer p.st.close()
	for {
		a, err := receiveJSON[reply](p.st)
		switch {
		case err != nil:
			p.exit = host.Exit{At: p.h.r.now(), Code: -1, LossReason: p.h.r.describeError(err).Error()}
			return
		case a.Exit != nil:
			text.SanitizeFields(a.Exit)
			p.exit = *a.Exit
			p.exit.At = p.h.r.toLocal(p.exit.At, p.h.r.earliestSendTime()) // the agent reports an exit immediately
			return
		}
		select {
		case p.signalReplies <- a:
		default:
			p.exit = host.Exit{At: p.h.r.now(), Code: -1, LossReason: p.h.impossible("there are more replies than requests").Error()}
			return
		}
	}
}

// Identity implements host.Process.
func (p *remoteProcess) Identity() host.Identity { return p.id }

// Exited implements host.Process.
func (p *remoteProcess) Exited() <-chan struct{} { return p.exited }

// Exit implements host.Process.
func (p *remoteProcess) Exit() host.Exit {
	select {
	case <-p.exited:
		return p.exit
	default:
		return host.Exit{}
	}
}

// Signal implements host.Process.
func (p *remoteProcess) Signal(ctx context.Context, s host.Signal) error {
	return p.request(ctx, request{Action: signalAction, Signal: s})
}

// request sends a request about the process and waits for the reply.
func (p *remoteProcess) request(ctx context.Context, q request) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := sendJSON(p.st, q); err != nil && !errors.Is(err, io.EOF) {
		return p.h.r.describeError(err)
	}
	for {
		select {
		case a := <-p.signalReplies:
			if p.abandonedReplies > 0 {
				p.abandonedReplies--
				continue
			}
			return p.h.replyError(a, nil)
		case <-p.exited:
			return nil
		case <-ctx.Done():
			p.abandonedReplies++
			return context.Cause(ctx)
		}
	}
}
