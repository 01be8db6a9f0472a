package overssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Prefixes of the script's output lines; each prefix is followed by a value. The script waits for a
// line of input at two points.
const (
	systemPrefix   = "quorumbench-system " // followed by uname -s, uname -m, and the address at which we reached the machine
	folderPrefix   = "quorumbench-folder "
	checksumPrefix = "quorumbench-sum "
)

// script runs on the other machine. $1 is Dir, and $2 is the size of the binary. The script is
// passed in single quotes on one line, so it contains no single quotes and no backslashes. A signal
// or the end of the connection does not stop the script before it has removed the folder: the
// script waits for the agent, which exits by itself. If the script created the parent of the
// private folders, it also removes this parent.
var script = strings.Join([]string{
	`umask 077`,
	`set -- "$1" "$2" $SSH_CONNECTION`,
	`echo "` + systemPrefix + `$(uname -s) $(uname -m) $5"`,
	`read go || exit 0`,
	`b=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/quorumbench}`,
	`d=`,
	`m=$b`,
	`[ -d "$b" ] && m=`,
	`end() { [ -n "$d" ] && rm -rf "$d"; [ -n "$m" ] && rmdir "$m" 2>/dev/null; }`,
	`trap end EXIT`,
	`trap : HUP INT TERM PIPE`,
	`mkdir -p "$b" || exit 1`,
	`d=$(mktemp -d "$b/ssh.XXXXXX") || exit 1`,
	`echo "` + folderPrefix + `$d"`,
	`head -c "$2" >"$d/quorumbench" || exit 1`,
	`chmod 700 "$d/quorumbench"`,
	`s=$(sha256sum "$d/quorumbench" 2>/dev/null || shasum -a 256 "$d/quorumbench") || exit 1`,
	`echo "` + checksumPrefix + `$s"`,
	`read go || exit 0`,
	`"$d/quorumbench" agent --once --listen "unix:$d/agent.sock" --dir "${1:-$d/data}" --address "$5"`,
}, "; ")

// command returns a command that runs the script in any login shell.
func command(dir string, size int64) string {
	quoted := "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	return "exec sh -c '" + script + "' sh " + quoted + " " + strconv.FormatInt(size, 10)
}

// maxSocketPath is the maximum length of a Unix socket's path on Linux, in bytes.
const maxSocketPath = 107

// installAgent performs our side of the script's protocol.
func (m *Machine) installAgent(ctx context.Context) error {
	system, err := m.answer(ctx, systemPrefix)
	if err != nil {
		return err
	}
	if err := checkPlatform(system); err != nil {
		return err
	}
	if err := m.continueScript(); err != nil {
		return err
	}
	if m.folder, err = m.answer(ctx, folderPrefix); err != nil {
		return err
	}
	switch {
	case !path.IsAbs(m.folder) || !text.Printable(m.folder):
		return errors.New("the path of the private folder on the machine is not absolute, or is not printable")
	case len(m.socket()) > maxSocketPath:
		return fmt.Errorf("the path of the folder %s is too long for a Unix socket; choose a dir whose path is shorter than %d bytes", path.Dir(m.folder), maxSocketPath-len("/ssh.XXXXXX/agent.sock"))
	}
	expectedSum, err := m.copyBinary(ctx)
	if err != nil {
		return err
	}
	receivedSum, err := m.answer(ctx, checksumPrefix)
	if err != nil {
		return err
	}
	if receivedSum, _, _ = strings.Cut(strings.TrimPrefix(receivedSum, `\`), " "); receivedSum != expectedSum { // sha256sum adds a backslash if it escapes the file name
		return fmt.Errorf("the copy of quorumbench on the machine is damaged: its SHA-256 is %s, not %s", text.Line(receivedSum, sha256.Size*2), expectedSum)
	}
	if err := m.continueScript(); err != nil {
		return err
	}
	_, err = m.answer(ctx, "unix:"+m.socket())
	return err
}

// continueScript lets the script continue. If the script's shell has exited, it returns nil, and
// the next step reports the reason.
func (m *Machine) continueScript() error {
	if _, err := io.WriteString(m.in, "go\n"); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the connection to the machine was lost: %w", err)
	}
	return nil
}

// checkPlatform returns an error if the machine cannot run our binary.
func checkPlatform(answer string) error {
	words := strings.Fields(answer)
	if len(words) != 3 || net.ParseIP(words[2]) == nil {
		return fmt.Errorf("the machine's shell did not print its system and address, but %q", text.Line(answer, text.MaxServerText))
	}
	system, processor := strings.ToLower(words[0]), words[1]
	if system != runtime.GOOS || !slices.Contains(host.ProcessorNames(runtime.GOARCH), processor) {
		return fmt.Errorf("the machine is %s, but this quorumbench is for %s/%s; start an agent that is built for the machine, and use via: agent", text.Line(system+"/"+processor, 100), runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

func binarySize(binary string) (int64, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return 0, fmt.Errorf("cannot read the quorumbench binary: %w", err)
	}
	return info.Size(), nil
}

// copyBinary sends our binary. It returns the SHA-256 of the bytes that it sent.
func (m *Machine) copyBinary(ctx context.Context) (string, error) {
	f, err := os.Open(m.target.Binary)
	if err != nil {
		return "", fmt.Errorf("cannot read the quorumbench binary: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := binarySize(m.target.Binary)
	if err != nil {
		return "", err
	}
	if m.target.OnCopy != nil {
		m.target.OnCopy(size)
	}
	copyTimedOut := make(chan struct{})
	copyTimer := time.AfterFunc(m.target.StepTimeout, func() {
		close(copyTimedOut)
		_ = m.client.Close()
	})
	defer copyTimer.Stop()
	stop := context.AfterFunc(ctx, func() { copyTimer.Reset(time.Second) })
	defer stop()
	sum := sha256.New()
	read := &progressReader{io.TeeReader(f, sum), func() error {
		if ctx.Err() == nil {
			copyTimer.Reset(m.target.StepTimeout)
		}
		return ctx.Err()
	}}
	_, err = io.CopyN(m.in, read, size)
	select {
	case <-copyTimedOut:
		return "", fmt.Errorf("the copy of quorumbench made no progress for %v", m.target.StepTimeout)
	default:
	}
	if err != nil && !errors.Is(err, io.EOF) { // if the shell has exited, the reason is reported by the next step
		return "", fmt.Errorf("cannot copy the quorumbench binary: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// progressReader is a reader that calls the function onRead before each read. If onRead returns an
// error, Read returns this error.
type progressReader struct {
	io.Reader
	onRead func() error
}

// Read implements io.Reader.
func (m *progressReader) Read(p []byte) (int, error) {
	if err := m.onRead(); err != nil {
		return 0, err
	}
	return m.Reader.Read(p)
}
