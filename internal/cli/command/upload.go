package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Destination registers the flag --upload, the destination to which the run directory is sent after
// the run. Without the flag, *into stays nil.
func (f Flags) Destination(into **upload.Destination) {
	Value(f, "upload", into, "URL", upload.Parse, func(*upload.Destination) string { return "" },
		"upload the run directory to this URL at the end: s3://BUCKET/FOLDER, gs://... or file:///FOLDER")
}

// CheckKept returns a usage error for --upload if the run directory is not kept.
func CheckKept(to *upload.Destination, out string) error {
	if to != nil && out == "" {
		return Usage("--upload sends the run directory, but this command does not keep it; add --out DIR")
	}
	return nil
}

// Reachable checks, before a run, that the destination can be reached. So the user learns of a
// problem before the run and not after it.
func Reachable(ctx context.Context, to *upload.Destination) error {
	if to == nil {
		return nil
	}
	err := to.Check(ctx)
	if errors.Is(err, context.Canceled) {
		return &Exit{Code: ExitInterrupted, Cause: errors.New("interrupted before anything was run")}
	}
	if err != nil {
		return fmt.Errorf("--upload: %w; nothing was run", err)
	}
	return nil
}

// SendKept sends an existing run directory. It shows the progress and warns about files that were
// not sent.
func (a *App) SendKept(ctx context.Context, to *upload.Destination, dir string, readBack bool) (upload.Sent, error) {
	d := a.Display(a.Screen)
	began := time.Now()
	sent, err := to.Send(ctx, dir, upload.Options{ReadBack: readBack, Progress: func(p upload.Progress) {
		d.Update(p.Step, time.Since(began), sendingLine(p))
	}})
	d.Clear()
	if err != nil {
		return sent, err
	}
	const most = 10
	for i, l := range sent.LeftOut {
		if i == most {
			a.Warn(fmt.Sprintf("%s more files of the run directory were not sent; the manifest lists them", text.Count(uint64(len(sent.LeftOut)-most))))
			break
		}
		a.Warn(fmt.Sprintf("the file %s of the run directory was not sent: %s", l.Name, l.Why))
	}
	if sent.Unfinished {
		a.Warn("the run that was sent is not complete: it is still running, or it was killed")
	}
	return sent, nil
}

// SentLine returns one line with the result of an upload.
func SentLine(s upload.Sent) string {
	anew := "all sent now"
	switch {
	case s.Anew == 0:
		anew = "all were already there"
	case s.Anew < s.Files:
		anew = fmt.Sprintf("%s sent now, the others were already there", text.Count(uint64(s.Anew)))
	}
	return fmt.Sprintf("%s: %s, %s, %s; verified", s.Where, text.Plural(uint64(s.Files), "file"), text.Bytes(s.Bytes), anew)
}

func sendingLine(p upload.Progress) string {
	line := fmt.Sprintf("upload: %s, %d of %s", p.Step, p.Files, text.Plural(uint64(p.Of), "file"))
	if p.Total > 0 {
		line += fmt.Sprintf(", %s of %s", text.Bytes(min(p.Bytes, p.Total)), text.Bytes(p.Total))
	}
	return line
}

// SendDone sends the directory of a run that ended with err. It returns err or, if err is nil, the
// error of the upload. If the run was interrupted, SendDone still sends the directory; a second
// interrupt ends the program.
func (a *App) SendDone(ctx context.Context, to *upload.Destination, dir string, err error) error {
	if to == nil || dir == "" {
		return err
	}
	if ctx.Err() != nil {
		a.PrintNote("sending the run directory to %s; press Ctrl-C again to stop at once", to.String())
		ctx = context.WithoutCancel(ctx)
	}
	sent, unsent := a.SendKept(ctx, to, dir, false)
	if unsent == nil {
		a.PrintNote("sent to %s", SentLine(sent))
		return err
	}
	code := ExitNotSent
	if errors.Is(unsent, context.Canceled) {
		code, unsent = ExitInterrupted, errors.New("the upload was interrupted")
	}
	a.PrintNote("%s; the run is recorded, and this command sends the missing files: %s", unsent, SendAgainCommand(dir, to))
	if err == nil {
		return &Exit{Code: code}
	}
	return err
}

// SendAgainCommand returns the command line that sends the files of a run directory that are still
// missing.
func SendAgainCommand(dir string, to *upload.Destination) string {
	return "quorumbench upload " + ShellQuote(filepath.Clean(dir)) + " " + ShellQuote(to.Given)
}
