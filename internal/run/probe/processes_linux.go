package probe

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// userHZ is the unit of the times in /proc/PID/stat: the kernel keeps it at
// 100 a second for user space on every architecture that Go runs on.
const userHZ = 100

// Sampler reads what processes and the machine use. It keeps nothing between two
// calls.
type Sampler struct {
	proc  procfs.FS
	disks blockdevice.FS
}

// NewSampler returns a sampler; ok is false where the system has no /proc.
func NewSampler() (s *Sampler, ok bool) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, false
	}
	disks, err := blockdevice.NewDefaultFS()
	if err != nil {
		return nil, false
	}
	return &Sampler{proc: proc, disks: disks}, true
}

// Processes reads what each process used, in their order.
func (s *Sampler) Processes(pids []int) []ProcessUsage {
	rows := make([]ProcessUsage, len(pids))
	for i, pid := range pids {
		rows[i] = s.process(pid)
	}
	return rows
}

func (s *Sampler) process(pid int) ProcessUsage {
	row := ProcessUsage{PID: pid}
	p, err := s.proc.Proc(pid)
	if err != nil {
		return row
	}
	stat, err := p.Stat()
	if err != nil || stat.State == "Z" {
		return row
	}
	row.OK = true
	row.UserSeconds = float64(stat.UTime) / userHZ
	row.SystemSeconds = float64(stat.STime) / userHZ
	row.RSS = int64(stat.ResidentMemory())
	row.Threads = stat.NumThreads
	row.FDs, row.ReadBytes, row.WriteBytes = -1, -1, -1
	if n, err := p.FileDescriptorsLen(); err == nil {
		row.FDs = n
	}
	if io, err := p.IO(); err == nil {
		row.ReadBytes, row.WriteBytes = int64(io.ReadBytes), int64(io.WriteBytes)
	}
	// A process's own status counts its first thread only.
	threads, _ := s.proc.AllThreads(pid)
	for _, t := range threads {
		if status, err := t.NewStatus(); err == nil {
			row.Voluntary += int64(status.VoluntaryCtxtSwitches)
			row.Involuntary += int64(status.NonVoluntaryCtxtSwitches)
		}
	}
	return row
}

// Machine reads what the machine used; ok is false if the system does not say.
func (s *Sampler) Machine() (row MachineUsage, ok bool) {
	load, err := s.proc.LoadAvg()
	if err != nil {
		return row, false
	}
	row.Load1 = load.Load1
	if row.CPU, ok = System(); !ok {
		return row, false
	}
	s.addDisks(&row)
	s.addNetwork(&row)
	return row, true
}

func (s *Sampler) addDisks(row *MachineUsage) {
	stats, err := s.disks.ProcDiskstats()
	if err != nil {
		return
	}
	for _, d := range stats {
		if !wholeDisk("/sys/block", d.DeviceName) {
			continue
		}
		row.DiskReads += int64(d.ReadIOs)
		row.DiskWrites += int64(d.WriteIOs)
		row.DiskReadSectors += int64(d.ReadSectors)
		row.DiskWrittenSectors += int64(d.WriteSectors)
	}
}

// wholeDisk distinguishes disks from partitions, which /sys/block does not list, from
// memory, and from what is made of other devices and would count twice.
func wholeDisk(block, name string) bool {
	for _, prefix := range []string{"loop", "ram", "zram", "dm-", "md"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(block, strings.ReplaceAll(name, "/", "!")))
	return err == nil
}

func (s *Sampler) addNetwork(row *MachineUsage) {
	devices, err := s.proc.NetDev()
	if err != nil {
		return
	}
	for name, d := range devices {
		if name == "lo" {
			row.LoopbackBytes, row.LoopbackPackets = int64(d.TxBytes), int64(d.TxPackets)
			continue
		}
		row.ReceivedBytes += int64(d.RxBytes)
		row.ReceivedPackets += int64(d.RxPackets)
		row.SentBytes += int64(d.TxBytes)
		row.SentPackets += int64(d.TxPackets)
	}
}
