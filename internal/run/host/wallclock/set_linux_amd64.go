package wallclock

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// image is a process's vDSO.
type image struct {
	mem   *os.File
	at    int64 // where it is in the process's memory
	bytes []byte
	calls []call
}

// call is a function in it that tells the wall clock.
type call struct {
	at   int // in bytes
	hook int // in hooks
}

// What is at the end of an image that was changed: a mark, the first bytes of each of
// functions as they were, hooks, and what the clock is ahead.
const (
	mark       = "quorumbench time"
	savedAt    = len(mark)
	savedBytes = 8 // of each
	hooksAt    = savedAt + len(functions)*savedBytes
	aheadAt    = hooksAt + len(hooks)
	ourBytes   = (aheadAt + aheadBytes + 15) / 16 * 16
)

// ours is where in bytes that is.
func (v *image) ours() int { return len(v.bytes) - ourBytes }

// errGone is of a process that has ended.
var errGone = errors.New("the process has ended")

func possible() error {
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && !mayTrace(strings.TrimSpace(string(scope))) {
		return fmt.Errorf("a member's clock cannot be moved here: the memory of our own processes may not be written to (kernel.yama.ptrace_scope is %s)", strings.TrimSpace(string(scope)))
	}
	v, err := open(os.Getpid())
	if err != nil {
		return err
	}
	defer v.close()
	// What is there is written again.
	if _, err := v.mem.WriteAt(v.bytes[v.ours():], v.at+int64(v.ours())); err != nil {
		return fmt.Errorf("a member's clock cannot be moved here: the memory of our own processes may not be written to: %w", err)
	}
	return nil
}

// errNoVDSO is of a process that has no functions to tell the time by.
var errNoVDSO = errors.New("a member's clock cannot be moved here: the kernel gives processes no functions that tell the time (vDSO)")

// mayTrace reports whether a setting of Yama lets us change our children: from 2 on
// that takes a right of its own, and with 3 nobody may.
func mayTrace(scope string) bool {
	switch scope {
	case "2":
		var header unix.CapUserHeader
		var data [2]unix.CapUserData
		header.Version = unix.LINUX_CAPABILITY_VERSION_3
		return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0
	case "3":
		return false
	}
	return true
}

func set(pid int, ahead time.Duration) error {
	if ahead.Abs() > MostAhead {
		return fmt.Errorf("a clock is moved by at most %s, and not by %s", MostAhead, ahead)
	}
	v, err := open(pid)
	// A process that is executing a new program has no memory map of its vDSO yet.
	for try := 0; errors.Is(err, errNoVDSO) && try < 100; try++ {
		time.Sleep(10 * time.Millisecond)
		v, err = open(pid)
	}
	if err == nil {
		defer v.close()
		if ahead != 0 || v.moved() {
			err = v.still(pid, func() error { return v.set(ahead) })
		}
	}
	if errors.Is(err, errGone) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// open finds the vDSO of a process.
func open(pid int) (*image, error) {
	maps, err := os.ReadFile(file(pid, "maps"))
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(maps) == 0:
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("the memory of process %d cannot be looked at: %w", pid, err)
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] != "[vdso]" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, err := strconv.ParseInt(from, 16, 64)
		end, err2 := strconv.ParseInt(to, 16, 64)
		if err := errors.Join(err, err2); err != nil || end-begin < int64(ourBytes) || end-begin > 1<<20 {
			return nil, fmt.Errorf("the memory of process %d has a part that cannot be: %s", pid, strings.TrimSpace(line))
		}
		return read(pid, begin, int(end-begin))
	}
	return nil, errNoVDSO
}

func file(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// read reads the vDSO that is in so many bytes.
func read(pid int, at int64, size int) (_ *image, err error) {
	v := &image{at: at, bytes: make([]byte, size)}
	if v.mem, err = os.OpenFile(file(pid, "mem"), os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("the memory of process %d cannot be changed: %w", pid, err)
	}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	if n, err := v.mem.ReadAt(v.bytes, at); err != nil {
		if n == 0 { // its memory went away
			return nil, errGone
		}
		return nil, fmt.Errorf("the memory of process %d cannot be read: %w", pid, err)
	}
	if room := v.bytes[v.ours():]; !v.known() && len(bytes.Trim(room, "\x00")) > 0 {
		return nil, errors.New("a member's clock cannot be moved here: the kernel's functions that tell the time (vDSO) leave no room for others")
	}
	return v, v.find()
}

// find finds the functions.
func (v *image) find() error {
	f, err := elf.NewFile(bytes.NewReader(v.bytes))
	if err != nil {
		return fmt.Errorf("the kernel's functions that tell the time (vDSO) cannot be read: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil || len(f.Progs) == 0 {
		return fmt.Errorf("the kernel's functions that tell the time (vDSO) have no names: %w", err)
	}
	v.calls = make([]call, len(functions))
	for i, of := range functions {
		for _, s := range symbols {
			at := int(s.Value - f.Progs[0].Vaddr)
			if s.Name == of.name && s.Size >= savedBytes && at > 0 && at < v.ours()-savedBytes {
				v.calls[i] = call{at, of.hook}
			}
		}
		if v.calls[i].at == 0 && of.needed {
			return fmt.Errorf("a member's clock cannot be moved here: the kernel gives processes no function %s", of.name)
		}
	}
	return nil
}

func (v *image) close() { _ = v.mem.Close() }

// known reports whether it was changed before.
func (v *image) known() bool { return string(v.bytes[v.ours():][:len(mark)]) == mark }

// moved reports whether its functions tell another time now.
func (v *image) moved() bool { return v.known() && v.bytes[v.calls[0].at] == jump(0, 0)[0] }

// set has the process be told another time, or the right one. Its threads stand still,
// none of them between instructions that are replaced; they may be in hooks, which stay.
func (v *image) set(ahead time.Duration) error {
	ours := v.ours()
	if !v.known() {
		all := append(make([]byte, 0, ourBytes), mark...)
		for _, c := range v.calls {
			all = append(all, v.bytes[c.at:][:savedBytes]...)
		}
		all = append(append(all, hooks[:]...), make([]byte, ourBytes-aheadAt)...)
		copy(v.bytes[ours:], all)
		if err := v.write(ours, all); err != nil {
			return err
		}
	}
	if err := v.write(ours+aheadAt, aheadOf(ahead)); err != nil {
		return err
	}
	for i, c := range v.calls {
		if c.at == 0 {
			continue
		}
		begins := v.bytes[ours+savedAt+i*savedBytes:][:jumpBytes]
		if ahead != 0 {
			begins = jump(c.at, ours+hooksAt+c.hook)
		}
		if err := v.write(c.at, begins); err != nil {
			return err
		}
	}
	return nil
}

func (v *image) write(at int, b []byte) error {
	if _, err := v.mem.WriteAt(b, v.at+int64(at)); err != nil {
		return fmt.Errorf("the functions that tell a process the time cannot be replaced: %w", err)
	}
	return nil
}
