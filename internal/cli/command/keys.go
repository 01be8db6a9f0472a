package command

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

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
// restores the terminal's mode in three cases: when the method `end` is called, before Ctrl-Z stops
// the program, and before SIGQUIT, a second SIGINT or a second SIGTERM ends the program. It reads
// no keys while the program is in the background, or while the terminal is in a mode that another
// process, such as a pager, has set. It never replaces such a mode. The methods that a display
// calls do nothing on a nil *keys.
type keys struct {
	terminal int // file descriptor
	press    func(key)
	suspend  func() // called before Ctrl-Z stops the program
	resume   func() // called after the program was continued

	signals      chan os.Signal
	woken, waker *os.File // a byte in this pipe wakes the reader
	reading      sync.WaitGroup

	mu          sync.Mutex
	on          bool         // set if the terminal was in the mode for keys when it was last checked
	mode        unix.Termios // the mode for keys, from begin until restore
	before      unix.Termios // the mode to restore
	ended       bool
	interrupted bool
}

// newKeys starts to read keys from a file after a delay of one second. By the end of the delay, a
// pager that a shell started together with the program has set its own mode. newKeys returns nil if
// the file is not a terminal.
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

// foreground reports whether the program is in the terminal's foreground. If a program in the
// background reads from the terminal or changes the terminal's mode, the kernel stops the program.
func (k *keys) foreground() bool {
	group, err := unix.IoctlGetInt(k.terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ownsMode reports whether the program is in the foreground and the terminal is still in the mode
// that begin set. The caller holds k.mu.
func (k *keys) ownsMode() bool {
	current, err := unix.IoctlGetTermios(k.terminal, getMode)
	return err == nil && *current == k.mode && k.foreground()
}

// begin sets the mode for keys, if the program is in the foreground and no other process has
// switched off the terminal's echo or line editing. Text that was typed before is dropped, because
// the user did not type it for the view. begin does nothing if the mode for keys is already set,
// for example if SIGCONT arrives although the program was not stopped.
func (k *keys) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	if k.on = k.ownsMode(); k.on || !k.foreground() {
		return
	}
	current, err := unix.IoctlGetTermios(k.terminal, getMode)
	const lines = unix.ECHO | unix.ICANON
	if err != nil || current.Lflag&lines != lines {
		return
	}
	mode := *current
	mode.Lflag &^= lines
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(k.terminal, setMode, &mode) != nil {
		return
	}
	dropTyped(k.terminal)
	if set, err := unix.IoctlGetTermios(k.terminal, getMode); err == nil { // as the terminal reports it
		k.on, k.mode, k.before = true, *set, *current
	}
}

// restore restores the terminal's mode, unless another process has changed it. restore drops keys
// that were not read, so that the shell does not receive them.
func (k *keys) restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ownsMode() {
		_ = unix.IoctlSetTermios(k.terminal, setMode, &k.before) // an error means that the terminal is gone
		dropTyped(k.terminal)
		k.mode = unix.Termios{}
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

// interrupt is called after the first interrupt, while the run ends. After this call, the
// terminal's mode is restored before another SIGINT or SIGTERM ends the program.
func (k *keys) interrupt() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.interrupted = true
	k.mu.Unlock()
	signal.Notify(k.signals, os.Interrupt, syscall.SIGTERM)
}

// handleSignals handles the signals that stop, continue or end the program. It continues until the
// program ends, even after the method `end` was called. It does not call signal.Stop, because the
// Go runtime would not restore the default effect of SIGTSTP, and Ctrl-Z would have no effect.
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
			k.restore()
			signal.Reset(s)
			_ = syscall.Kill(syscall.Getpid(), s.(syscall.Signal)) // now has its default effect
		}
	}
}

// stop stops the program with SIGSTOP. It does not use SIGTSTP, because signal.Reset does not
// restore the default effect of that signal. Like SIGTSTP, stop has no effect if the session has no
// other process group, because there is then no shell that could continue the program.
func (k *keys) stop() {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return
	}
	k.suspend()
	k.restore()
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
}

// read passes each key to the function `press`. It returns when the method `end` is called or an
// error occurs.
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
		typed, err := k.readTyped(chunk)
		if err != nil {
			return
		}
		// Several characters at once are pasted text, which must not end the run.
		if pressed := keyNames[typed]; pressed == endKey {
			k.endRun()
		} else if pressed != noKey {
			k.press(pressed)
		}
	}
}

// readTyped returns the characters that the terminal has received, and uses chunk as a buffer. It
// reads no characters if the terminal is no longer in the mode for keys, because another process
// then waits for characters. An error means that the terminal is gone.
func (k *keys) readTyped(chunk []byte) (typed string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on = k.ownsMode(); !k.on {
		return "", nil
	}
	var ready unix.FdSet
	ready.Set(k.terminal)
	// The characters may have been dropped after the caller's check. Then the read would block.
	if count, err := unix.Select(k.terminal+1, &ready, nil, nil, &unix.Timeval{}); err != nil || count == 0 {
		return "", nil
	}
	n, err := unix.Read(k.terminal, chunk)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return "", nil
	case err != nil:
		return "", err
	case n == 0:
		return "", io.EOF
	}
	return string(chunk[:n]), nil
}

// endRun has the same effect as the first Ctrl-C. If the run has already been interrupted, endRun
// does nothing, because a second Ctrl-C would end the program without cleaning up.
func (k *keys) endRun() {
	k.mu.Lock()
	again := k.interrupted
	k.interrupted = true
	k.mu.Unlock()
	if !again {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
	}
}
