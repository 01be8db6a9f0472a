//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/testing/verdictbench"
)

// subject is a load on a null server, together with the disturbance of the load's generator.
type subject struct {
	script      string
	args        []string
	disturbance disturbance
}

func (s *subject) text() string {
	return strings.Join(s.args, " ") + " on " + s.script + "; " + s.disturbance.text
}

// disturbance describes how a generator is disturbed. The zero value means no disturbance.
type disturbance struct {
	text             string
	nice             int
	stopDuration     time.Duration // duration of each SIGSTOP
	period           time.Duration // mean interval between stops
	regular          bool          // stop at regular intervals instead of random times
	spin             string        // duty cycle of a busy loop on the generator's CPU
	realTimePriority bool          // the busy loop has real-time priority
	quota            time.Duration // CPU time that the generator's control group may use per 100 ms
}

// randomSubject returns the random subject for a kind of disturbance and a seed.
func randomSubject(kind verdictbench.Kind, seed uint64) subject {
	seed = keys.DeriveSeed(seed, "real verdict's bench "+string(kind))
	n := uint64(0)
	unit := func() float64 { n++; return keys.RandomUnit(seed, n) }
	log := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, unit()) }
	delay := []float64{3, 10, 30}[int(unit()*3)]
	clients := []int{16, 32, 64}[int(unit()*3)]
	s := subject{script: fmt.Sprintf("delay=%gms", delay)}
	if unit() < 0.4 { // most operations are fast, a few are slow
		every, long := []int{12, 50, 150}[int(unit()*3)], []float64{4, 15}[int(unit()*2)]
		s.script += fmt.Sprintf("; delay=%gms every %d", long*delay, every)
	}
	s.args = []string{"--clients", strconv.Itoa(clients), "--conns", strconv.Itoa(max(clients/4, 1))}
	if unit() < 0.4 {
		s.args = append(s.args, "--rate", strconv.Itoa(int(1000+3000*unit())))
	}
	ms := func(x float64) time.Duration { return time.Duration(x * 1e6) }
	d := &s.disturbance
	switch kind {
	case verdictbench.Stopped:
		d.stopDuration = ms(log(5, 200))
		d.period = time.Duration(float64(d.stopDuration) / log(0.002, 0.4))
		d.text = fmt.Sprintf("stopped for %v, on average every %v", d.stopDuration, d.period)
	case verdictbench.Regular:
		d.stopDuration, d.regular = ms(log(10, 300)), true
		d.period = max(time.Duration(float64(d.stopDuration)/log(0.003, 0.4)), 2*d.stopDuration)
		d.text = fmt.Sprintf("stopped for %v in each period of %v", d.stopDuration, d.period)
	case verdictbench.RealTime:
		d.realTimePriority, d.spin = true, fmt.Sprintf("%.3f", log(0.005, 0.5))
		d.text = "a real-time busy loop on the generator's CPU with the duty cycle " + d.spin
	case verdictbench.BusyLoop:
		d.spin = fmt.Sprintf("%.3f", log(0.005, 1))
		d.text = "a busy loop on the generator's CPU with the duty cycle " + d.spin
	case verdictbench.LowPriority:
		d.nice, d.spin = 19, fmt.Sprintf("%.3f", log(0.005, 1))
		d.text = "a lowered priority, and a busy loop on the generator's CPU with the duty cycle " + d.spin
	case verdictbench.Quota:
		d.quota = ms(log(2, 50))
		d.text = fmt.Sprintf("a quota of %v of CPU time per 100 ms", d.quota)
	default:
		d.text = "nothing"
	}
	return s
}

// unsupportedReason returns the reason why this machine does not support a kind of disturbance, or
// an empty string if it supports the kind.
func (b *bench) unsupportedReason(kind verdictbench.Kind) string {
	switch kind {
	case verdictbench.Steal:
		return "only a hypervisor can withhold a CPU; the simulated bench includes this kind of disturbance"
	case verdictbench.RealTime:
		if os.Geteuid() != 0 {
			return "only root can give a program a real-time priority"
		}
	case verdictbench.Quota:
		if err := withQuota(50*time.Millisecond, func(string) error { return nil }); err != nil {
			return fmt.Sprintf("cannot create a control group: %v", err)
		}
	}
	return ""
}

// begin disturbs a process until undo is called.
func (d disturbance) begin(ctx context.Context, p *os.Process) (undo func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	undo = func() { cancel(); running.Wait() }
	if d.stopDuration > 0 {
		running.Go(func() { d.stopRepeatedly(ctx, p) })
	}
	if d.spin != "" {
		self, err := os.Executable()
		if err != nil {
			undo()
			return nil, err
		}
		cmd := exec.CommandContext(ctx, self, spinCommand, d.spin)
		priority := normal
		if d.realTimePriority {
			priority = realTime
		}
		if err := startOn(generatorCPU(), cmd, priority); err != nil {
			undo()
			return nil, err
		}
		// The process will be killed, so its exit status does not matter.
		running.Go(func() { _ = cmd.Wait() })
	}
	if d.quota > 0 {
		joined := make(chan error, 1)
		running.Go(func() {
			joined <- withQuota(d.quota, func(group string) error {
				if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(p.Pid)), 0); err != nil {
					return err
				}
				joined <- nil
				<-ctx.Done()
				return nil
			})
		})
		if err := <-joined; err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

func (d disturbance) stopRepeatedly(ctx context.Context, p *os.Process) {
	for n := uint64(0); ; n++ {
		// The gaps are regular if d.regular is true. Otherwise they are random, so that the stops
		// do not synchronize with any periodic activity.
		gap := time.Duration(-math.Log(1-keys.RandomUnit(uint64(p.Pid), n)) * float64(d.period))
		if d.regular {
			gap = d.period - d.stopDuration
		}
		for _, step := range []struct {
			wait   time.Duration
			signal syscall.Signal
		}{{gap, syscall.SIGSTOP}, {d.stopDuration, syscall.SIGCONT}} {
			select {
			case <-ctx.Done():
				_ = p.Signal(syscall.SIGCONT) // fails if the process has ended
				return
			case <-time.After(step.wait):
				_ = p.Signal(step.signal)
			}
		}
	}
}

// spinCommand is the argument that makes this program run as a busy loop.
const spinCommand = "spin"

// spin keeps a CPU busy for a share of the time, in phases of 20 ms.
func spin(duty string) {
	share, err := strconv.ParseFloat(duty, 64)
	if err != nil {
		return
	}
	const spinPhase = 20 * time.Millisecond
	for {
		for began := time.Now(); time.Since(began) < spinPhase; {
		}
		if share < 1 {
			time.Sleep(time.Duration(float64(spinPhase) * (1 - share) / share))
		}
	}
}

// quotaFiles returns the folder in which control groups can be created, for version 2 or version 1
// of control groups. It also returns the files that set the quota of CPU time per 100 ms, and their
// contents.
func quotaFiles(quota time.Duration) (root string, files map[string]string, err error) {
	us := strconv.FormatInt(quota.Microseconds(), 10)
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return "/sys/fs/cgroup", map[string]string{"cpu.max": us + " 100000"}, nil
	}
	const old = "/sys/fs/cgroup/cpu"
	if _, err := os.Stat(filepath.Join(old, "cpu.cfs_quota_us")); err != nil {
		return "", nil, err
	}
	return old, map[string]string{"cpu.cfs_quota_us": us}, nil
}

// withQuota creates a control group that may use the given amount of CPU time per 100 ms. It calls
// the function `use` with the folder of the group, and removes the group afterwards.
func withQuota(quota time.Duration, use func(group string) error) (err error) {
	root, files, err := quotaFiles(quota)
	if err != nil {
		return err
	}
	group, err := os.MkdirTemp(root, "verdictbench-")
	if err != nil {
		return err
	}
	defer func() {
		// The group's processes may take a moment to end.
		for range 100 {
			if e := os.Remove(group); e == nil || errors.Is(e, os.ErrNotExist) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0); err != nil {
			return err
		}
	}
	return use(group)
}
