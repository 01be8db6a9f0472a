package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Local implements Host for the machine that this process runs on.
type Local struct {
	now      func() time.Time
	pick     func(n int) int
	address  string         // address of all servers; if empty, each lease has its own address
	space    *network.Space // the servers' network; nil for the machine's own network
	folder   *Folder        // the folder that contains all files of the host; nil if files may be in any folder
	sampler  *probe.Sampler // nil if the system does not report resource usage
	describe func() Description
	ahead    func() time.Duration // how far the machine's clock is ahead of the clock `now`; nil if they are the same clock
}

var (
	_ Host            = (*Local)(nil)
	_ NetworkProvider = (*Local)(nil)
)

// NewLocal returns the local machine. The function `now` returns the current time, which is used
// for the times in Exit and Sample. The function `pick` returns a number from 0 to n-1, which
// determines where the search for free ports begins. If `now` is nil, the system's clock is used.
// If `pick` is nil, random numbers are used.
func NewLocal(now func() time.Time, pick func(n int) int) *Local {
	if now == nil {
		now = time.Now
	}
	if pick == nil {
		pick = rand.IntN
	}
	sampler, _ := probe.NewSampler()
	about := sync.OnceValue(func() Description {
		network, view := namespaces()
		return Description{Place: CurrentPlace(), Machine: probe.Machine(), Process: os.Getpid(), Network: network, NamespaceView: view}
	})
	return &Local{now: now, pick: pick, sampler: sampler, describe: about}
}

// WithClockAhead returns a copy of l for a machine whose clock differs from the clock that was
// passed to NewLocal. The function `ahead` must return how far the machine's clock is ahead of that
// other clock. Readers of members' logs need this difference, because the timestamps in the lines
// come from the machine's clock.
func (l *Local) WithClockAhead(ahead func() time.Duration) *Local {
	copied := *l
	copied.ahead = ahead
	return &copied
}

// WithAddress returns a copy of l whose servers all listen on the given IP address of the machine.
func (l *Local) WithAddress(address string) *Local {
	at := *l
	at.address = address
	return &at
}

// WithFolder returns a copy of l whose files are all inside the open folder f. The host opens every
// file relative to f and does not follow links, even if another program creates a link later. Only
// members and disk servers receive paths.
func (l *Local) WithFolder(f *Folder) *Local {
	in := *l
	in.folder = f
	return &in
}

// Describe implements Host.
func (l *Local) Describe(context.Context) (Description, error) { return l.describe(), nil }

// Empty implements Host.
func (l *Local) Empty(_ context.Context, dir string) error {
	folder, err := l.openFolder(dir)
	if err == nil {
		err = folder.removeContents()
		folder.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot empty the folder %s: %w", dir, Cause(err))
	}
	return nil
}

// Sample implements Host.
func (l *Local) Sample(_ context.Context, pids []int, machine bool) (Sample, error) {
	s := Sample{At: l.now()}
	if l.sampler == nil {
		s.Processes = make([]probe.ProcessUsage, len(pids))
		return s, nil
	}
	s.Cost = processorTime(func() {
		s.Processes = l.sampler.Processes(s.At, pids)
		if !machine {
			return
		}
		if m, ok := l.sampler.Machine(s.At, pids); ok {
			s.Machine = &m
		}
	})
	return s, nil
}

// MeasureFolders implements Host.
func (l *Local) MeasureFolders(_ context.Context, dirs []string) (bytes []int64, cost time.Duration, err error) {
	bytes = make([]int64, len(dirs))
	cost = processorTime(func() {
		for i, dir := range dirs {
			bytes[i] = -1
			folder, failed := l.openFolder(dir)
			if errors.Is(failed, errLink) {
				err = fmt.Errorf("cannot measure the size of the folder %s: %w", dir, failed)
			} else if failed == nil {
				bytes[i] = folder.DiskUsage()
				folder.Close()
			}
		}
	})
	return bytes, cost, err
}

// Disk implements Host.
func (l *Local) Disk(ctx context.Context, self, dir string) (Disk, error) {
	folder, err := l.makeFolder(dir)
	if err != nil {
		return nil, err
	}
	err = folder.checkPath()
	folder.Close()
	if err != nil {
		return nil, err
	}
	d, err := disk.Start(ctx, self, dir)
	if err != nil {
		return nil, err // nil, rather than a Disk interface that contains a nil pointer
	}
	return d, nil
}

// CheckNetworkSupport implements NetworkProvider.
func (*Local) CheckNetworkSupport(context.Context) error { return network.CheckSupport() }

// Network implements NetworkProvider.
func (l *Local) Network(ctx context.Context, self string, members []string) (Network, error) {
	n, err := network.Start(ctx, self, members)
	if err != nil {
		return nil, err // nil, rather than a Network interface that contains a nil pointer
	}
	return &localNetwork{n, l}, nil
}

// localNetwork implements Network on this machine.
type localNetwork struct {
	*network.Network
	host *Local
}

// Member implements Network.
func (n *localNetwork) Member(i int) Host {
	at := *n.host
	at.space = n.Space(i)
	at.address = at.space.Address()
	return &at
}

// runInNetwork calls the function `do` on a thread in the host's network namespace.
func (l *Local) runInNetwork(do func() error) error {
	if l.space == nil {
		return do()
	}
	return l.space.Run(do)
}

// processorTime calls the function `do` and returns the processor time of the call. The function
// must perform all of its work on the thread on which it is called.
func processorTime(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := probe.ThreadCPU()
	do()
	return probe.ThreadCPU() - before
}

// Fsync implements Host.
func (l *Local) Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error) {
	measured := map[uint64]bool{}
	var all []probe.FsyncResult
	for _, dir := range dirs {
		folder, err := l.openFolder(dir)
		if err != nil {
			return nil, fmt.Errorf("cannot time fdatasync in %s: %w", dir, Cause(err))
		}
		if device := folder.ID().Device; !measured[device] {
			measured[device] = true
			var result probe.FsyncResult
			result, err = folder.fsync(ctx, writes)
			all = append(all, result)
		}
		folder.Close()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fsync measures in a claimed folder inside f. If our process is killed, the next measurement
// removes this folder.
func (f *Folder) fsync(ctx context.Context, writes int) (result probe.FsyncResult, err error) {
	if f.protectsEntries() {
		_, _ = cleanBelow(f, 1) // on an error, the next measurement tries again to remove the folder
	}
	c, err := f.claim()
	if err != nil {
		return result, fmt.Errorf("cannot time fdatasync: %w", err)
	}
	result, err = probe.Fsync(ctx, c.folder.root, writes)
	return result, errors.Join(err, c.Release(context.WithoutCancel(ctx)))
}

// tailLines is the number of log lines that an Exit contains.
const tailLines = 12

// Start implements Host. The goroutine that starts a process stays locked to its thread until the
// process exits: Linux sends the parent-death signal when the thread exits, even if the parent
// process still runs.
func (l *Local) Start(_ context.Context, c Command) (Process, error) {
	cmd, lifeline, closeLog, err := l.prepare(c)
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	started := make(chan error, 1)
	go network.RunOnThread(func() {
		err := l.runInNetwork(cmd.Start)
		closeLog()
		if err == nil {
			p.pid = cmd.Process.Pid
			p.identity, err = Identify(p.pid)
			if err != nil { // the process has already exited and is a zombie
				p.identity, err = Identity{PID: p.pid}, nil
			}
		}
		started <- err
		if err != nil {
			return
		}
		p.wait(cmd, l, c.LogFile)
		_ = lifeline.Close()
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Path, Cause(err))
	}
	return p, nil
}

// prepare creates the command and opens its log file. The caller must call closeLog after it has
// started the command. lifeline is our end of the pipe that is the process's standard input.
func (l *Local) prepare(c Command) (cmd *exec.Cmd, lifeline io.Closer, closeLog func(), err error) {
	cmd = exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = append(files.CleanEnviron(), c.Env...)
	cmd.SysProcAttr = attributes(c.Detach)
	closeLog = func() {}
	if l.folder != nil && c.Dir != "" {
		dir, err := l.openFolder(c.Dir)
		if err == nil {
			err = dir.checkPath()
			dir.Close()
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("cannot start %s in %s: %w", c.Path, c.Dir, Cause(err))
		}
	}
	if c.LogFile != "" {
		log, err := l.appendTo(c.LogFile)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("cannot open the log %s: %w", c.LogFile, Cause(err))
		}
		cmd.Stdout, cmd.Stderr = log, log
		closeLog = func() { _ = log.Close() }
	}
	if c.Lifeline == "" || c.Detach {
		return cmd, io.NopCloser(nil), closeLog, nil
	}
	lifeline, err = cmd.StdinPipe()
	if err != nil {
		closeLog()
		return nil, nil, nil, fmt.Errorf("cannot start %s: %w", c.Path, err)
	}
	cmd.Env = append(cmd.Env, c.Lifeline)
	return cmd, lifeline, closeLog, nil
}

// process is a child of this process.
type process struct {
	pid      int
	identity Identity
	exited   chan struct{}
	exit     Exit // written before exited is closed

	mu     sync.Mutex
	reaped bool // if set, the process ID may now belong to another process
}

// wait waits until the process has exited. It then sets p.exit, which includes the last lines of
// the process's log.
func (p *process) wait(cmd *exec.Cmd, local *Local, logFile string) {
	if waitForExit(p.pid) {
		p.mu.Lock()
		// The process is still a zombie, so that no other process group can have its ID. The signal
		// kills the remaining children of the process.
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		_ = cmd.Wait() // ProcessState contains more detail than the error
	} else {
		_ = cmd.Wait()
		p.mu.Lock()
	}
	p.reaped = true
	p.mu.Unlock()
	p.exit = Exit{At: local.now(), Code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.Signal = status.Signal().String()
	}
	if logFile != "" {
		p.exit.Tail, _ = local.tail(logFile, tailLines)
	}
	close(p.exited)
}

func (p *process) Identity() Identity      { return p.identity }
func (p *process) Exited() <-chan struct{} { return p.exited }

func (p *process) Exit() Exit {
	select {
	case <-p.exited:
		return p.exit
	default:
		return Exit{}
	}
}

func (p *process) Signal(_ context.Context, s Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	err := syscall.Kill(-p.pid, signals[s].number)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send process %d the signal %s: %w", p.pid, s, err)
	}
	return nil
}
