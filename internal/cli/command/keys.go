package command

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// key is a key that a live view reacts to.
type key uint8

// The values of key.
const (
	noKey      key = iota
	averageKey     // switch between the latest second and averages
	earlierKey     // show the previous trial
	laterKey       // show the next trial
	pauseKey       // stop or resume the updates
	endKey         // end the run, as Ctrl-C does
)

// keyNames contains the characters that a terminal sends for each key.
var keyNames = map[string]key{
	"c": averageKey, "C": averageKey, "p": pauseKey, "P": pauseKey, " ": pauseKey, "q": endKey, "Q": endKey,
	"<": earlierKey, "\x1b[D": earlierKey, "\x1bOD": earlierKey, ">": laterKey, "\x1b[C": laterKey, "\x1bOC": laterKey,
}

// keys reads single keys from a terminal, without echoing them. For this purpose it switches off
// only the terminal's echo and line editing, so that Ctrl-C and Ctrl-Z still send signals. It
// restores the terminal's mode in the method end, before Ctrl-Z stops the program, and before
// SIGQUIT or a second SIGINT or SIGTERM ends it. In the background it reads nothing. The methods
// that a display calls do nothing on a nil *keys.
type keys struct {
	terminal int // file descriptor
	press    func(key)
	suspend  func() // called before Ctrl-Z stops the program
	resume   func() // called after the program was continued

	signals      chan os.Signal
	woken, waker *os.File // a byte in this pipe wakes the reader
	reading      sync.WaitGroup

	mu          sync.Mutex
	on          bool         // set while the terminal is in the mode for keys
	before      unix.Termios // the mode to restore, if on is set
	ended       bool
	interrupted bool
}

// newKeys starts to read keys from a file. It returns nil if the file is not a terminal.
func newKeys(file *os.File, press func(key), suspend, resume func()) *keys {
	fd := int(file.Fd())
	if _, err := unix.IoctlGetTermios(fd, getMode); err != nil {
		return nil
	}
	woken, waker, err := os.Pipe()
	if err != nil {
		return nil
	}
	if int(woken.Fd()) >= unix.FD_SETSIZE {
		_, _ = woken.Close(), waker.Close()
		return nil
	}
	k := &keys{terminal: fd, press: press, suspend: suspend, resume: resume, woken: woken, waker: waker,
		signals: make(chan os.Signal, 4)}
	for _, s := range []os.Signal{syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(k.signals, s)
		}
	}
	k.begin()
	go k.handleSignals()
	k.reading.Go(k.read)
	return k
}

// active reports whether the terminal is in the mode for keys.
func (k *keys) active() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.on
}

// foreground reports whether the program is in the terminal's foreground. Otherwise the kernel
// stops a program that reads from the terminal or changes its mode.
func (k *keys) foreground() bool {
	group, err := unix.IoctlGetInt(k.terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// begin sets the mode for keys, if the program is in the foreground. Text that was typed before is
// dropped, because it was not meant as keys.
func (k *keys) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	wasOn := k.on
	k.on = false
	if !k.foreground() {
		return
	}
	current, err := unix.IoctlGetTermios(k.terminal, getMode)
	if err != nil {
		return
	}
	// If SIGCONT arrives although the program was not stopped, the current mode is already the mode
	// for keys. It must not become the mode to restore.
	if !wasOn || current.Lflag&(unix.ECHO|unix.ICANON) != 0 {
		k.before = *current
	}
	mode := k.before
	mode.Lflag &^= unix.ECHO | unix.ICANON
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	k.on = unix.IoctlSetTermios(k.terminal, setMode, &mode) == nil
}

// restore restores the terminal's mode. It drops keys that were not read, so that the shell does
// not receive them.
func (k *keys) restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on && k.foreground() {
		_ = unix.IoctlSetTermios(k.terminal, setMode, &k.before) // an error means that the terminal is gone
	}
	k.on = false
}

// end restores the terminal's mode and stops reading keys.
func (k *keys) end() {
	if k == nil {
		return
	}
	k.mu.Lock()
	ended := k.ended
	k.ended = true // so begin does not set the mode again
	k.mu.Unlock()
	k.restore()
	if ended {
		return
	}
	_ = k.waker.Close() // wakes the reader
	k.reading.Wait()
	_ = k.woken.Close()
}

// interrupt is called when the run begins to end early. A second SIGINT or SIGTERM then restores
// the terminal's mode before it ends the program.
func (k *keys) interrupt() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.interrupted = true
	k.mu.Unlock()
	signal.Notify(k.signals, os.Interrupt, syscall.SIGTERM)
}

// handleSignals handles the signals that stop, continue or end the program. It continues after end
// until the program ends: after signal.Stop, Ctrl-Z would have no effect, because the Go runtime does
// not restore the default effect of SIGTSTP.
func (k *keys) handleSignals() {
	for s := range k.signals {
		switch s {
		case syscall.SIGCONT:
			k.begin()
			_, _ = k.waker.Write([]byte{0}) // the reader now waits for the terminal, too
			k.resume()
		case syscall.SIGTSTP:
			k.stop()
		default:
			k.tryRestore()
			signal.Reset(s)
			_ = syscall.Kill(syscall.Getpid(), s.(syscall.Signal)) // now has its default effect
		}
	}
}

// tryRestore does the same as restore, but waits at most one second. The terminal changes its mode
// only after it has accepted all output, and a frozen terminal must not keep the program alive.
func (k *keys) tryRestore() {
	restored := make(chan struct{})
	go func() {
		k.restore()
		close(restored)
	}()
	select {
	case <-restored:
	case <-time.After(time.Second):
	}
}

// stop stops the program, as SIGTSTP does by default, with SIGSTOP: signal.Reset does not restore
// the default effect of SIGTSTP. If the session has no other process group, and so no shell that
// could continue the program, SIGTSTP has no effect.
func (k *keys) stop() {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return
	}
	k.suspend()
	k.restore()
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
}

// read calls press for each key until the reading ends.
func (k *keys) read() {
	chunk := make([]byte, 4096) // the size of the terminal's queue, so that pasted text is read at once
	wake := int(k.woken.Fd())
	for {
		var ready unix.FdSet
		ready.Set(wake)
		var limit *unix.Timeval
		if k.active() {
			ready.Set(k.terminal)
		} else {
			limit = &unix.Timeval{Sec: 1}
		}
		switch count, err := unix.Select(max(wake, k.terminal)+1, &ready, nil, nil, limit); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return
		case count == 0: // a shell sends no signal when it moves a running program to the foreground
			k.begin()
			continue
		}
		if ready.IsSet(wake) {
			if n, _ := k.woken.Read(chunk); n == 0 {
				return
			}
			continue
		}
		if !k.foreground() {
			k.restore()
			continue
		}
		n, err := unix.Read(k.terminal, chunk)
		if n == 0 || err != nil && err != unix.EINTR && err != unix.EAGAIN {
			return // the terminal is gone
		}
		// Several characters at once are pasted text, which must not end the run.
		if pressed := keyNames[string(chunk[:max(n, 0)])]; pressed == endKey {
			k.endRun()
		} else if pressed != noKey {
			k.press(pressed)
		}
	}
}

// endRun has the same effect as the first Ctrl-C. After that it does nothing, because a second
// Ctrl-C would end the program without cleaning up.
func (k *keys) endRun() {
	k.mu.Lock()
	again := k.interrupted
	k.interrupted = true
	k.mu.Unlock()
	if !again {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
	}
}
