package measure

// Durability describes how durable an acknowledged write is.
type Durability struct {
	// FdatasyncP50NS and FdatasyncP99NS are percentiles of the time that fdatasync takes after a
	// small write in the members' data folders, on the slowest device. FdatasyncP99NS is null if
	// too few calls were timed.
	FdatasyncP50NS int64  `json:"fdatasync_p50_ns"` // 0: not known
	FdatasyncP99NS *int64 `json:"fdatasync_p99_ns"`
	// Fdatasyncs is the number of timed fdatasync calls.
	Fdatasyncs int    `json:"fdatasync_writes"`
	FileSystem string `json:"file_system"`
	Volatile   bool   `json:"volatile"` // the file system, such as tmpfs, loses its data in a power loss
	Synced     bool   `json:"synced"`   // the store syncs before it acknowledges a write
}

// P50 returns the median time of fdatasync. The figure is not known if it was not measured.
func (d *Durability) P50() Figure {
	return Figure{NS: float64(d.FdatasyncP50NS), Known: d.FdatasyncP50NS > 0}
}

// P99 returns the 99th percentile of the time of fdatasync. The figure is known only if at least
// ten samples are above this percentile.
func (d *Durability) P99() Figure {
	if d.FdatasyncP99NS == nil || !Supports(99, uint64(max(d.Fdatasyncs, 0))) {
		return Figure{}
	}
	return Figure{NS: float64(*d.FdatasyncP99NS), Known: true}
}
