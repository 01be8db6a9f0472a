package disk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/environ"
)

// Command is the name of our command that serves a disk: Command FOLDER BESIDE.
const Command = "disk"

// Beside is the folder that keeps the files of the disk at a folder.
func Beside(at string) string { return at + ".disk" }

// Disk is a folder that behaves like a bad disk on request, served by a process of its
// own. That process ends with ours in whatever way, and unmounts the folder. One
// goroutine at a time uses it.
type Disk struct {
	at      string
	pid     int
	in      io.WriteCloser
	out     *os.File
	answers *json.Decoder
	ended   chan struct{}
	failed  error // written before ended is closed
}

// Start has our own binary at self make a folder a disk. The folder must be there and
// empty; its files are below Beside, which is made.
func Start(ctx context.Context, self, at string) (*Disk, error) {
	cmd := exec.Command(self, Command, at, Beside(at))
	cmd.Env = environ.Clean()
	cmd.SysProcAttr = apart() // a Ctrl-C is not meant for it: its members end first
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of ours: exec's own would be closed by Wait, which knows nothing of who
	// still reads.
	out, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = to
	said := &strings.Builder{}
	cmd.Stderr = said
	err = cmd.Start()
	_ = to.Close()
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("the disk at %s cannot be started: %w", at, err)
	}
	d := &Disk{at: at, pid: cmd.Process.Pid, in: in, out: out, answers: json.NewDecoder(out), ended: make(chan struct{})}
	go func() {
		if err := cmd.Wait(); err != nil {
			d.failed = fmt.Errorf("the disk at %s ended: %w: %s", at, err, strings.TrimSpace(said.String()))
		}
		close(d.ended)
	}()
	if _, err := d.answer(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// PID is the number of the process that serves the disk.
func (d *Disk) PID() int { return d.pid }

// Set has the disk have these faults, and no others.
func (d *Disk) Set(ctx context.Context, f Faults) error {
	_, err := d.ask(ctx, &request{Set: &f})
	return err
}

// PowerLoss has the disk forget what was not synced, and returns how many files lost
// something. All processes that used the disk must have ended.
func (d *Disk) PowerLoss(ctx context.Context) (lost int, err error) {
	a, err := d.ask(ctx, &request{PowerLoss: true})
	return a.Lost, err
}

// Close unmounts the disk, and returns when that is done. Its files stay where they
// are. It may be called again.
func (d *Disk) Close() {
	_ = d.in.Close()
	<-d.ended
	_ = d.out.Close()
	forget(d.at) // a process that was killed unmounts nothing
}

// ask has the disk do something.
func (d *Disk) ask(ctx context.Context, r *request) (answer, error) {
	if err := json.NewEncoder(d.in).Encode(r); err != nil {
		return answer{}, d.lost(err)
	}
	return d.answer(ctx)
}

// answer reads an answer. When ctx ends before, the disk is of no use any more.
func (d *Disk) answer(ctx context.Context) (a answer, err error) {
	stop := context.AfterFunc(ctx, func() { _ = d.out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := d.answers.Decode(&a); err != nil {
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		return answer{}, d.lost(err)
	}
	return a, a.failure()
}

// lost is the error of a disk that does not answer.
func (d *Disk) lost(err error) error {
	_ = d.in.Close()
	<-d.ended
	if d.failed != nil {
		return d.failed
	}
	return fmt.Errorf("the disk at %s does not answer: %w", d.at, err)
}
