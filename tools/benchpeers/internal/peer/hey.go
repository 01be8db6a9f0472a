package peer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

type hey struct{}

// NewHey returns hey, which is written in Go on net/http.
func NewHey() Peer { return hey{} }

func (hey) Name() string     { return Hey }
func (hey) Does(c Case) bool { return doesLocalReads(c) }

func (hey) Available() error {
	if _, err := find("hey"); err != nil {
		return fmt.Errorf("%w; Debian and Ubuntu have it in the package hey", err)
	}
	return nil
}

func (hey) Run(ctx context.Context, w Work) (Figures, error) {
	f := runProcess(ctx, "hey", w.heyArguments()...)
	if f.err != nil {
		return Figures{}, f.err
	}
	figures, err := parseHey(string(f.stdout), w.ValueSize)
	if err == nil {
		figures.CPUPerOp = float64(f.cpu) / float64(figures.Operations)
	}
	return figures, err
}

// heyArguments spare hey the field that asks for compressed answers, which
// nobody else sends.
func (w Work) heyArguments() []string {
	return []string{"-c", strconv.Itoa(w.Connections), "-z", (w.Warmup + w.Window).String(), "-disable-compression", w.url()}
}

var (
	heyRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	heySize   = regexp.MustCompile(`Size/request:\s+(\d+) bytes`)
	heyStatus = regexp.MustCompile(`\[(\d+)\]\s+(\d+) responses`)
	heyErrors = regexp.MustCompile(`(?s)Error distribution:\s+\[\d+\]\s+([^\n]*)`)
)

// heyMost is how many requests hey counts the statuses of: it reports those of
// the first million alone.
const heyMost = 1_000_000

// parseHey reads hey's summary. valueSize is what each answer must at least
// have carried.
func parseHey(text string, valueSize int) (Figures, error) {
	if m := heyErrors.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("requests of hey failed: %s", m[1])
	}
	rate := heyRate.FindStringSubmatch(text)
	if rate == nil {
		return Figures{}, fmt.Errorf("hey printed no summary that is known here: %q", lastLine(text))
	}
	var done uint64
	for _, m := range heyStatus.FindAllStringSubmatch(text, -1) {
		if m[1] != "200" {
			return Figures{}, fmt.Errorf("%s of hey's requests were answered with status %s", m[2], m[1])
		}
		done, _ = strconv.ParseUint(m[2], 10, 64) // digits, by the pattern
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	switch {
	case err != nil:
		return Figures{}, fmt.Errorf("hey's rate %q is not a number", rate[1])
	case done == 0:
		return Figures{}, errNothingDone
	case done >= heyMost:
		return Figures{}, errors.New("hey does not tell how many requests it made when they are a million or more; make --seconds less")
	}
	size := heySize.FindStringSubmatch(text)
	if size == nil {
		return Figures{}, errors.New("hey does not tell the answers' size")
	}
	if each, _ := strconv.Atoi(size[1]); each < valueSize {
		return Figures{}, fmt.Errorf("the answers to hey had %d bytes each, less than the value's %d", each, valueSize)
	}
	return Figures{Operations: done, PerSecond: perSecond}, nil
}
