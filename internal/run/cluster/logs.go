package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// copyTimeout limits the time for copying one log from another machine.
const copyTimeout = time.Minute

// LogNotes returns sentences about logs from other machines that are missing or incomplete in
// LogDir. Call it after the cluster has stopped.
func (c *Cluster) LogNotes() []string {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	return c.logNotes
}

// collectLogs copies the logs from other machines to the folder that contains the logs on this
// machine.
func (c *Cluster) collectLogs(ctx context.Context) {
	for _, m := range c.allMembers() {
		if m.place.root == "" {
			continue
		}
		for _, p := range m.startedProcesses() {
			if note := c.collectLog(ctx, m, p); note != "" {
				c.logNotes = append(c.logNotes, note)
			}
		}
	}
}

// collectLog copies one log. It returns a sentence if the copy is missing or incomplete.
func (c *Cluster) collectLog(ctx context.Context, m *member, p startedProcess) string {
	ctx, cancel := context.WithTimeoutCause(ctx, copyTimeout, fmt.Errorf("copying took longer than %v", copyTimeout))
	defer cancel()
	left, err := copyLog(ctx, m.place.host, p.logFile, filepath.Join(c.spec.logDir(), filepath.Base(p.logFile)))
	switch {
	case err != nil:
		return fmt.Sprintf("the log of %s was not copied from the member's machine, where its path is %s: %v", p.name, p.logFile, err)
	case left > 0:
		return fmt.Sprintf("the copy of the log of %s omits %s from the middle; the complete log is %s on the member's machine", p.name, text.Bytes(uint64(left)), p.logFile)
	}
	return ""
}

// copyLog copies a log. If it fails, the copy may contain a part of the log.
func copyLog(ctx context.Context, source host.Host, path, destination string) (omitted int64, err error) {
	if _, err := host.CreateFolders(filepath.Dir(destination)); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(destination, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	omitted, err = source.CopyLog(ctx, path, f)
	if err = errors.Join(err, f.Close()); err != nil {
		if info, looking := os.Stat(destination); looking == nil && info.Size() == 0 {
			_ = os.Remove(destination) // an empty file would look like the log of a silent server
		}
	}
	return omitted, err
}
