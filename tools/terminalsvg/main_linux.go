// Command terminalsvg runs a command in a pseudo-terminal. After a given time, it draws the
// contents of the terminal as an SVG picture, sends Ctrl-C, and waits for the end of the command.
// It supports the control sequences that the live view of quorumbench uses. For the picture in the
// README, run make pictures.
package main

import (
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/program"
)

func main() {
	columns := flag.Int("columns", 100, "columns of the terminal")
	lines := flag.Int("lines", 24, "lines of the terminal")
	after := flag.Duration("after", 10*time.Second, "time after which the terminal is drawn")
	out := flag.String("out", "terminal.svg", "path of the picture")
	flag.Parse()
	written, err := run(flag.Args(), *columns, *lines, *after)
	if err == nil {
		s := &screen{height: *lines, rows: [][]cell{{}}}
		s.write(written)
		err = os.WriteFile(*out, []byte(s.svg(*columns)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminalsvg:", err)
		os.Exit(1)
	}
}

// run runs a command, and returns the output that the command wrote before the given time had
// passed.
func run(command []string, columns, lines int, after time.Duration) (string, error) {
	if len(command) == 0 {
		return "", fmt.Errorf("give a command after the flags")
	}
	outer, inner, err := program.OpenTerminal()
	if err != nil {
		return "", err
	}
	size := &unix.Winsize{Row: uint16(lines), Col: uint16(columns)}
	if err := unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, size); err != nil {
		return "", err
	}
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = inner, inner, inner
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	_ = inner.Close() // so that reading from `outer` ends when the command ends
	if err != nil {
		return "", err
	}
	shot := make(chan string)
	go func() {
		var all strings.Builder
		chunk := make([]byte, 1<<16)
		for end := time.Now().Add(after); time.Now().Before(end); {
			n, err := outer.Read(chunk)
			all.Write(chunk[:n])
			if err != nil {
				break
			}
		}
		shot <- all.String()
		_, _ = io.Copy(io.Discard, outer) // ends with the command
	}()
	written := <-shot
	_, _ = outer.WriteString("\x03") // Ctrl-C
	_ = c.Wait()                     // the command was interrupted
	return written, nil
}

type cell struct {
	letter rune
	class  string
}

// screen is the content of a terminal. The cursor is at the end of the last row.
type screen struct {
	height int
	rows   [][]cell
	class  string
}

// token matches a control sequence or one character.
var token = regexp.MustCompile(`\x1b\[([0-9]*)([A-Za-z])|(?s:.)`)

// classes contains the style of each colour.
var classes = map[string]string{"0": "", "2": "faint", "31": "bad", "32": "good", "33": "doubtful"}

func (s *screen) write(written string) {
	for _, t := range token.FindAllStringSubmatch(written, -1) {
		switch n, _ := strconv.Atoi(t[1]); {
		case t[2] == "A": // moves the cursor up; the program always erases everything below
			s.rows = append(s.rows[:max(len(s.rows)-1-n, 0)], nil)
		case t[2] == "m":
			s.class = classes[t[1]]
		case t[2] != "" || t[0] == "\r":
		case t[0] == "\n":
			s.rows = append(s.rows, nil)
			s.rows = s.rows[max(len(s.rows)-s.height, 0):]
		default:
			last := &s.rows[len(s.rows)-1]
			*last = append(*last, cell{[]rune(t[0])[0], s.class})
		}
	}
}

const style = `<style>text{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}
rect{fill:#f6f8fa;stroke:#d1d9e0}.faint{fill:#6e7781}.bad{fill:#c0232c}.good{fill:#1a7f37}.doubtful{fill:#8a5a00}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#3d444d}.faint{fill:#8b949e}.bad{fill:#ff7b72}.good{fill:#3fb950}.doubtful{fill:#e3b341}}</style>
`

// svg draws the screen. Each part of a line has a fixed length, so that columns are aligned in any
// font.
func (s *screen) svg(columns int) string {
	const width, height, edge = 8.4, 19, 12
	var b strings.Builder
	w, h := float64(columns)*width+2*edge, len(s.rows)*height+2*edge
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%d" viewBox="0 0 %g %d" role="img" aria-label="The live view of a run in a terminal">`+"\n", w, h, w, h)
	b.WriteString(style + `<rect x=".5" y=".5" width="` + fmt.Sprint(w-1) + `" height="` + fmt.Sprint(h-1) + `" rx="6"/>` + "\n")
	for y, row := range s.rows {
		for from := 0; from < len(row); {
			to, words := from, ""
			for to < len(row) && row[to].class == row[from].class {
				words += string(row[to].letter)
				to++
			}
			fmt.Fprintf(&b, `<text x="%g" y="%d" textLength="%g" class="%s">%s</text>`+"\n",
				edge+float64(from)*width, edge+(y+1)*height-5, float64(to-from)*width, row[from].class, html.EscapeString(words))
			from = to
		}
	}
	return b.String() + "</svg>\n"
}
