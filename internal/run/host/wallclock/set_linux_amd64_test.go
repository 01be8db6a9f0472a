package wallclock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The commands of the tests' own binary: one tells its clocks as often as it is asked,
// and the other asks for the time on all processors and says at its end what was wrong.
const (
	tell = "tell"
	spin = "spin"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == tell:
		began := time.Now()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(time.Now().UnixNano(), int64(time.Since(began)))
		}
	case len(os.Args) == 2 && os.Args[1] == spin:
		spinUntilAsked()
	default:
		os.Exit(m.Run())
	}
}

// far is more than a test lasts.
const far = time.Hour

// spinUntilAsked asks for the time until its input ends: each is the right one or an
// hour ahead, and the monotonic clock goes on.
func spinUntilAsked() {
	began, asked, wrong := time.Now(), make(chan struct{}), make(chan string)
	fmt.Println("there")
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			ahead, last := 0, began
			for {
				select {
				case <-asked:
					wrong <- strconv.Itoa(ahead)
					return
				default:
				}
				now := time.Now()
				if now.Before(last) { // by the monotonic clock
					wrong <- fmt.Sprintf("%v after %v", now, last)
					return
				}
				last = now
				switch off := time.Duration(now.UnixNano()-began.UnixNano()) - now.Sub(began); {
				case off > far-far/4 && off < far+far/4:
					ahead++
				case off.Abs() > far/4:
					wrong <- fmt.Sprintf("a clock that is %v ahead", off)
					return
				}
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(asked)
	for range 2 * runtime.GOMAXPROCS(0) {
		fmt.Println(<-wrong)
	}
}

// child is a process of the tests'.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func started(t *testing.T, path string, args ...string) *child {
	t.Helper()
	if err := Possible(); err != nil {
		t.Skip(err)
	}
	c := &child{Cmd: exec.Command(path, args...)}
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	c.Stderr = os.Stderr
	must(t, c.Start())
	c.in, c.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}

func (c *child) asked(t *testing.T) string {
	t.Helper()
	_, err := io.WriteString(c.in, "\n")
	must(t, err)
	return c.line(t)
}

// ahead is how far what a process says is ahead of the time at which it was asked.
func ahead(t *testing.T, said string, unit time.Duration, before time.Time) time.Duration {
	t.Helper()
	n, err := strconv.ParseInt(said, 10, 64)
	must(t, err)
	return time.Unix(0, n*int64(unit)).Sub(before)
}

// near reports whether a clock is as far ahead as it was set, and no more than the test
// took besides.
func near(got, want time.Duration) bool { return got > want-time.Second && got < want+far/4 }

// The clock of one process goes as it is set, either way and by parts of a second, back
// again, and nobody else's does; its monotonic clock goes on.
func TestTheClockOfOneProcess(t *testing.T) {
	c, other := started(t, os.Args[0], tell), started(t, os.Args[0], tell)
	last := int64(0)
	for _, to := range []time.Duration{far, -far, 0, 24*far + 999_999_999, -time.Minute - time.Nanosecond, -MostAhead, 0, 0} {
		must(t, Set(c.Process.Pid, to))
		before := time.Now()
		wall, monotonic, _ := strings.Cut(c.asked(t), " ")
		if got := ahead(t, wall, 1, before); !near(got, to) {
			t.Errorf("set %v ahead, it is %v", to, got)
		}
		m, err := strconv.ParseInt(monotonic, 10, 64)
		must(t, err)
		if m < last || m > last+int64(far/4) {
			t.Errorf("the monotonic clock goes from %d to %d", last, m)
		}
		last = m
		before = time.Now()
		wall, _, _ = strings.Cut(other.asked(t), " ")
		if got := ahead(t, wall, 1, before); !near(got, 0) {
			t.Errorf("another process's clock is %v ahead", got)
		}
		if d := time.Since(before); d < 0 || d > far/4 {
			t.Errorf("ours went by %v", d)
		}
	}
	if err := Set(c.Process.Pid, 2*MostAhead); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too far: %v", err)
	}
}

// All functions of C's library tell the same.
func TestTheClockOfAProgramInC(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash, which asks for the time by gettimeofday and time")
	}
	c := started(t, bash, "-c", `while read; do m=${EPOCHREALTIME/[.,]/}; printf '%s %(%s)T\n' "$m" -1; done`)
	for _, to := range []time.Duration{0, far + 600*time.Millisecond, -far, 0} {
		must(t, Set(c.Process.Pid, to))
		before := time.Now()
		micro, seconds, _ := strings.Cut(c.asked(t), " ")
		if got := ahead(t, micro, time.Microsecond, before); !near(got, to) {
			t.Errorf("set %v ahead, gettimeofday is %v", to, got)
		}
		if got := ahead(t, seconds, time.Second, before); !near(got+time.Second, to) {
			t.Errorf("set %v ahead, time is %v", to, got)
		}
	}
}

// A process whose threads ask for the time without a pause is not harmed, however often
// its clock is set.
func TestTheClockOfABusyProcess(t *testing.T) {
	c := started(t, os.Args[0], spin)
	c.line(t)
	for range 300 {
		must(t, Set(c.Process.Pid, far))
		must(t, Set(c.Process.Pid, 0))
	}
	must(t, Set(c.Process.Pid, far))
	must(t, Set(c.Process.Pid, 0))
	must(t, c.in.Close())
	seen := 0
	for range 2 * runtime.GOMAXPROCS(0) {
		line := c.line(t)
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(line)
		}
		seen += n
	}
	if seen == 0 {
		t.Error("no thread saw the clock ahead")
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// A process that stands still stays so, and tells the other time when it goes on.
func TestTheClockOfAProcessThatStandsStill(t *testing.T) {
	c := started(t, os.Args[0], tell)
	c.asked(t)
	must(t, syscall.Kill(c.Process.Pid, syscall.SIGSTOP))
	v, err := open(c.Process.Pid)
	must(t, err)
	defer v.close()
	_, err = v.stop(c.Process.Pid) // and waited until it does
	must(t, err)
	must(t, Set(c.Process.Pid, far))
	if state, err := stateOf(c.Process.Pid, c.Process.Pid); state != 'T' || err != nil {
		t.Errorf("it is %c now, %v", state, err)
	}
	must(t, syscall.Kill(c.Process.Pid, syscall.SIGCONT))
	before := time.Now()
	wall, _, _ := strings.Cut(c.asked(t), " ")
	if got := ahead(t, wall, 1, before); !near(got, far) {
		t.Errorf("it is %v ahead", got)
	}
}

// A process that has ended is let be, waited for or not.
func TestTheClockOfAProcessThatEnded(t *testing.T) {
	c := started(t, os.Args[0], tell)
	pid := c.Process.Pid
	must(t, c.in.Close())
	if _, err := c.out.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for _, to := range []time.Duration{far, 0} {
		if err := Set(pid, to); err != nil {
			t.Errorf("not waited for: %v", err)
		}
	}
	_ = c.Wait()
	if err := Set(pid, far); err != nil {
		t.Errorf("waited for: %v", err)
	}
}
