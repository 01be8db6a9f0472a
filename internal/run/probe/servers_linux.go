package probe

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// findServers finds the processes that listen on the wanted addresses. /proc/net/tcp and tcp6 list
// the listening sockets, and /proc/PID/fd shows which process has opened a socket. findServers
// ignores processes whose files it is not permitted to read.
func findServers(proc string, wanted []netip.AddrPort, all []Server) {
	sockets := map[string][]int{} // indexes in wanted, by the link text of the listening socket in /proc/PID/fd
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(filepath.Join(proc, "net", table))
		for line := range strings.Lines(string(text)) {
			at, inode, ok := parseListener(line)
			if !ok {
				continue
			}
			for i, w := range wanted {
				if w.IsValid() && at.Port() == w.Port() && (at.Addr().IsUnspecified() || at.Addr() == w.Addr()) {
					sockets["socket:["+inode+"]"] = append(sockets["socket:["+inode+"]"], i)
				}
			}
		}
	}
	if len(sockets) == 0 {
		return
	}
	processes, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	// A server usually has a lower ID than its child processes, which share its sockets. Glob sorts
	// its results by name, so a stable sort by length sorts them by ID.
	slices.SortStableFunc(processes, func(a, b string) int { return len(a) - len(b) })
	for _, dir := range processes {
		pid, err := strconv.Atoi(filepath.Base(dir))
		files, _ := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue
		}
		for _, f := range files {
			link, _ := os.Readlink(filepath.Join(dir, "fd", f.Name()))
			for _, i := range sockets[link] {
				if all[i].PID == 0 {
					name, _ := os.ReadFile(filepath.Join(dir, "comm"))
					all[i].PID, all[i].Program = pid, strings.TrimSpace(string(name))
				}
			}
		}
	}
}

// parseListener parses a line in /proc/net/tcp or tcp6. ok is false if the socket is not listening.
func parseListener(line string) (at netip.AddrPort, inode string, ok bool) {
	const local, state, number = 1, 3, 9
	fields := strings.Fields(line)
	if len(fields) <= number || fields[state] != "0A" {
		return at, "", false
	}
	address, port, ok := strings.Cut(fields[local], ":")
	raw, err := hex.DecodeString(address)
	p, perr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || perr != nil || len(raw)%4 != 0 {
		return at, "", false
	}
	for i := 0; i < len(raw); i += 4 { // each 32-bit word is in the machine's byte order
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(p)), fields[number], ok
}
