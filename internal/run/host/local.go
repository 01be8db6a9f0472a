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

// Local is the machine that we run on.
type Local struct {
	now     func() time.Time
	pick    func(n int) int
	address string         // of its servers; empty: of each lease
	space   *network.Space // in which its servers are; nil: this machine's own network
	folder  *Folder        // below which all its files are; nil: anywhere
	sampler *probe.Sampler // nil where the system does not say
	about   func() Description
	ahead   func() time.Duration // of the machine's clock, of now; nil: they are one
}

var (
	_ Host      = (*Local)(nil)
	_ Disker    = (*Local)(nil)
	_ Networker = (*Local)(nil)
	_ Emptier   = (*Local)(nil)
)

// NewLocal returns the local machine. now is the clock that exits are dated
// with; pick chooses a number from 0 to n-1, which decides where the search for
// a free address begins. Either may be nil for the system's.
func NewLocal(now func() time.Time, pick func(n int) int) *Local {
	if now == nil {
		now = time.Now
	}
	if pick == nil {
		pick = rand.IntN
	}
	sampler, _ := probe.NewSampler()
	about := sync.OnceValue(func() Description {
		network, view := views()
		return Description{Place: Here(), Machine: probe.Machine(), Process: os.Getpid(), Network: network, View: view}
	})
	return &Local{now: now, pick: pick, sampler: sampler, about: about}
}

// Beside returns the local machine with a clock, given to NewLocal, that the machine's is
// ahead of by what a function says: members' lines tell times by the machine's.
func (l *Local) Beside(ahead func() time.Duration) *Local {
	beside := *l
	beside.ahead = ahead
	return &beside
}

// At returns the local machine as a host whose servers are all at an IP address
// of the machine.
func (l *Local) At(address string) *Local {
	at := *l
	at.address = address
	return &at
}

// In returns the local machine as a host whose files are all below a folder that is held
// open. Every file is opened relative to that folder, and no link is followed, also none that
// is put there later. Only programs get a path: members, and the servers of disks.
func (l *Local) In(f *Folder) *Local {
	in := *l
	in.folder = f
	return &in
}

// Describe implements Host.
func (l *Local) Describe(context.Context) (Description, error) { return l.about(), nil }

// Empty implements Emptier.
func (l *Local) Empty(_ context.Context, dir string) error {
	folder, err := l.openFolder(dir)
	if err == nil {
		err = folder.removeContents()
		folder.Close()
	}
	if err != nil {
		return fmt.Errorf("the folder %s cannot be emptied: %w", dir, Cause(err))
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
	s.Cost = costOf(func() {
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

// Weigh implements Host.
func (l *Local) Weigh(_ context.Context, dirs []string) (bytes []int64, cost time.Duration, err error) {
	bytes = make([]int64, len(dirs))
	cost = costOf(func() {
		for i, dir := range dirs {
			bytes[i] = -1
			folder, failed := l.openFolder(dir)
			if errors.Is(failed, errLink) {
				err = fmt.Errorf("the folder %s cannot be weighed: %w", dir, failed)
			} else if failed == nil {
				bytes[i] = folder.Bytes()
				folder.Close()
			}
		}
	})
	return bytes, cost, err
}

// Disk implements Disker.
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
		return nil, err // and not a Disk that is nil
	}
	return d, nil
}

// Networkable implements Networker.
func (*Local) Networkable(context.Context) error { return network.Possible() }

// Network implements Networker.
func (l *Local) Network(ctx context.Context, self string, members []string) (Network, error) {
	n, err := network.Start(ctx, self, members)
	if err != nil {
		return nil, err // and not a Network that is nil
	}
	return &localNetwork{n, l}, nil
}

// localNetwork is a Network of this machine.
type localNetwork struct {
	*network.Network
	on *Local
}

// Member implements Network.
func (n *localNetwork) Member(i int) Host {
	at := *n.on
	at.space = n.Space(i)
	at.address = at.space.Address()
	return &at
}

// within does something in the host's network.
func (l *Local) within(what func() error) error {
	if l.space == nil {
		return what()
	}
	return l.space.In(what)
}

// costOf is the processor time of a part that runs on one thread.
func costOf(part func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := probe.ThreadCPU()
	part()
	return probe.ThreadCPU() - before
}

// Fsync implements Host.
func (l *Local) Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error) {
	measured := map[uint64]bool{}
	var all []probe.FsyncResult
	for _, dir := range dirs {
		folder, err := l.openFolder(dir)
		if err != nil {
			return nil, fmt.Errorf("fdatasync cannot be measured in %s: %w", dir, Cause(err))
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

// fsync measures in a claimed folder in this one: when we are killed, the next
// measurement removes it.
func (f *Folder) fsync(ctx context.Context, writes int) (result probe.FsyncResult, err error) {
	if f.keeps() {
		_, _ = cleanBelow(f, 1) // what cannot be removed now can be the next time
	}
	c, err := f.claim()
	if err != nil {
		return result, fmt.Errorf("fdatasync cannot be measured: %w", err)
	}
	result, err = probe.Fsync(ctx, c.folder.root, writes)
	return result, errors.Join(err, c.Release(context.WithoutCancel(ctx)))
}

// tailLines is how many lines of its log an Exit carries.
const tailLines = 12

// Start implements Host. The thread that starts a process stays locked to one
// goroutine until the process ends: Linux sends the parent-death signal when
// that thread ends, not when the parent does.
func (l *Local) Start(_ context.Context, c Command) (Process, error) {
	cmd, lifeline, closeLog, err := l.prepare(c)
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	started := make(chan error, 1)
	go network.OnThread(func() {
		err := l.within(cmd.Start)
		closeLog()
		if err == nil {
			p.pid = cmd.Process.Pid
			p.identity, err = Identify(p.pid)
			if err != nil { // ended already, and not yet waited for
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
		return nil, fmt.Errorf("%s cannot be started: %w", c.Path, Cause(err))
	}
	return p, nil
}

// prepare builds the command and opens its log, which the caller closes once
// the process has it. lifeline is our end of the process's standard input.
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
			return nil, nil, nil, fmt.Errorf("%s cannot be started in %s: %w", c.Path, c.Dir, Cause(err))
		}
	}
	if c.LogFile != "" {
		log, err := l.appendTo(c.LogFile)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the log %s cannot be opened: %w", c.LogFile, Cause(err))
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
		return nil, nil, nil, fmt.Errorf("%s cannot be started: %w", c.Path, err)
	}
	cmd.Env = append(cmd.Env, c.Lifeline)
	return cmd, lifeline, closeLog, nil
}

// process is a child of ours.
type process struct {
	pid      int
	identity Identity
	exited   chan struct{}
	exit     Exit // written before exited is closed

	mu     sync.Mutex
	reaped bool // its number may be anybody's
}

// wait returns when the process and its log have ended.
func (p *process) wait(cmd *exec.Cmd, on *Local, logFile string) {
	if waitForExit(p.pid) {
		p.mu.Lock()
		// The process is still a zombie, so the number of its group is not yet
		// anybody else's: what it started ends with it.
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		_ = cmd.Wait() // its state says more than its error
	} else {
		_ = cmd.Wait()
		p.mu.Lock()
	}
	p.reaped = true
	p.mu.Unlock()
	p.exit = Exit{At: on.now(), Code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.Signal = status.Signal().String()
	}
	if logFile != "" {
		p.exit.Tail, _ = on.tail(logFile, tailLines)
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
		return fmt.Errorf("process %d does not take %s: %w", p.pid, s, err)
	}
	return nil
}
