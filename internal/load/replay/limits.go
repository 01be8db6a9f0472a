package replay

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
	"unsafe"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// These constants limit a replay. A few bytes in a file can describe a value of 2 GiB or millions
// of calls. Therefore recordings have the same limits as scenarios, and these limits are checked
// before memory is allocated.
const (
	// The memory limit of a plan is planPerByte bytes per byte of the recording. The limit is not
	// below minPlanLimit, and not above the memory limit of a load. (This memory is counted in
	// limits.bytes.) A recording of one hour at 1,000 calls per second has about 20 bytes per call
	// and needs about 500 bytes of memory per call. The limit refuses recordings that need much
	// more memory than their size explains.
	minPlanLimit = 512 << 20
	planPerByte  = 64
	// callBytes is the memory that a plan needs for a call without the call's parts. It includes
	// the call itself, its state, its times, and the list of calls for which it waits.
	callBytes = int(unsafe.Sizeof(call.Call{})) + 128
	// partBytes is the memory that a plan needs for a part of a call, including the part's entries
	// in maps of keys.
	partBytes = int(unsafe.Sizeof(call.Part{})) + 128
	// mapEntryBytes is the memory for a small entry in a map.
	mapEntryBytes = 64
	// maxPreloadWrites is the maximum number of concurrent writes of keys before the load.
	maxPreloadWrites = 1024
	// requestBytes is the memory for a call in flight, without its keys and values.
	requestBytes = 512
)

// limits checks a recording while it is being read.
type limits struct {
	path     string
	maxBytes int // maximum memory of the plan in bytes
	prefix   int // length of the prefix that is added to every key
	speed    float64
	calls    uint64 // number of calls up to now
	bytes    int    // memory that the plan needs up to now
	// sizes[n] is the number of calls that send at least 2^(n-1) but less than 2^n bytes.
	sizes [64]uint64
}

// maxPlanBytes returns the maximum memory of a plan in bytes. It depends on the size of the
// recording's file.
func maxPlanBytes(fileBytes int64) int {
	return int(min(max(minPlanLimit, planPerByte*min(fileBytes, scenario.MaxMemory/planPerByte)), scenario.MaxMemory))
}

// addCall adds a call. It returns an error if the call is larger than a call in a scenario can be,
// or if the plan now needs too much memory.
func (l *limits) addCall(c *call.Call) error {
	l.calls++
	planBytes, sendBytes := callBytes, requestBytes
	for i := range c.Parts {
		part := &c.Parts[i]
		if part.Value.Size > scenario.MaxValueSize {
			return l.valueError(c, part.Value.Size)
		}
		planBytes += partBytes + len(part.Key) + len(part.End) + len(part.Value.Text)
		if part.Flags&call.Sequential != 0 || part.Lease != 0 {
			planBytes += l.prefix + nameRoom + mapEntryBytes
		}
		if part.Action == call.Write || part.Action == call.Compare {
			sendBytes += part.Value.Size
		}
		if sendBytes += l.prefix + len(part.Key) + len(part.End); sendBytes > scenario.MaxValueSize+recordBytes {
			return l.valueError(c, sendBytes)
		}
	}
	if c.ReplySize > scenario.MaxValueSize+recordBytes {
		return fmt.Errorf("%s reports a response of %s to the %s at %s, but a response to a replayed call can have at most %s, so the file is damaged or forged; record the load again",
			l.path, text.FormatSize(c.ReplySize), describe(c), moment(c.At), text.FormatSize(scenario.MaxValueSize))
	}
	l.sizes[bits.Len(uint(sendBytes))]++
	return l.addBytes(planBytes)
}

// recordBytes is the maximum size of a call in bytes, without its values. It is mainly the size of
// the call's keys.
const recordBytes = 8 << 20

func (l *limits) valueError(c *call.Call, size int) error {
	return fmt.Errorf("%s reports %s of keys and values in the %s at %s, but a replayed call can have at most %s; record the load again without that call",
		l.path, text.FormatSize(size), describe(c), moment(c.At), text.FormatSize(scenario.MaxValueSize))
}

// addBytes adds to the memory that the plan needs. It returns an error if the sum is too large.
func (l *limits) addBytes(bytes int) error {
	if l.bytes += bytes; l.bytes > l.maxBytes {
		return fmt.Errorf("%s cannot be replayed: its first %d calls need more than %s of memory; record for a shorter time, or run the scenario that \"quorumbench traffic profile\" creates from the recording",
			l.path, l.calls, text.FormatSize(l.maxBytes))
	}
	return nil
}

// checkLength returns an error if the replay would take longer than a load may take.
func (l *limits) checkLength(first, last int64) error {
	if seconds := float64(last-first) / l.speed / 1e9; seconds > scenario.MaxDuration.Seconds() {
		return fmt.Errorf("%s takes %s hours to replay at a --speed of %s, but a load can last at most %.0f hours; set a higher --speed",
			l.path, strconv.FormatFloat(math.Ceil(seconds/3600), 'f', 0, 64), text.FormatNumber(l.speed), scenario.MaxDuration.Hours())
	}
	return nil
}

// checkInFlight returns an error if the replay would need too much memory at once: for the largest
// calls that can be in flight at the same time, or for the largest keys that are written
// concurrently before the load.
func (l *limits) checkInFlight(p *Plan, inFlight int) error {
	if err := l.checkTotal(inFlight, "call"); err != nil {
		return err
	}
	before := limits{path: l.path}
	for i := range p.preloadCalls {
		before.sizes[bits.Len(uint(p.preloadCalls[i].Parts[0].Value.Size+requestBytes))]++
	}
	return before.checkTotal(min(inFlight, maxPreloadWrites), "preloaded key")
}

// checkTotal returns an error if the largest calls need too much memory when `inFlight` calls are
// in flight at once. `noun` is the noun for a call in the error message.
func (l *limits) checkTotal(inFlight int, noun string) error {
	const memory = scenario.MaxMemory
	need, left, fits := 0.0, float64(inFlight), 0.0
	for n := len(l.sizes) - 1; n >= 0 && left > 0; n-- {
		each, count := math.Ldexp(1, n), min(left, float64(l.sizes[n]))
		fits += min(count, max(math.Floor((memory-need)/each), 0))
		need, left = need+count*each, left-count
	}
	if need <= memory {
		return nil
	}
	return fmt.Errorf("%s may have %s in flight at once, which need %.0f GiB of memory, but a load can need at most %d GiB; set a smaller --max-in-flight, such as %.0f",
		l.path, text.Plural(uint64(float64(inFlight)-left), noun), math.Ceil(need/(1<<30)), int64(memory>>30), max(fits, 1))
}

// describe returns the words by which an error message refers to a call.
func describe(c *call.Call) string {
	if c.Method == "" {
		return "call"
	}
	return strconv.Quote(c.Method) + " call"
}

func moment(at int64) string { return time.Duration(at).Round(time.Millisecond).String() }
