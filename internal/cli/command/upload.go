package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

// RequireRunDir returns a usage error for --upload if the run directory is not kept.
func RequireRunDir(destination *upload.Destination, out string) error {
	if destination != nil && out == "" {
		return Usage("--upload needs a run directory, but without --out this command keeps none; add --out DIR")
	}
	return nil
}

// UploadAuthority is the environment variable with the path of the certificates of the authorities
// that may have signed the certificate of an object store.
const UploadAuthority = "AWS_CA_BUNDLE"

// IsUnknownAuthority reports whether an error is about a certificate from an unknown authority.
func IsUnknownAuthority(err error) bool {
	return err != nil && strings.Contains(err.Error(), "certificate signed by unknown authority")
}

// withUploadAuthority adds the remedy to an error about an object store's certificate from an
// unknown authority.
func withUploadAuthority(err error) error {
	if !IsUnknownAuthority(err) {
		return err
	}
	return fmt.Errorf("%w; set %s to a file with the certificate of the authority that signed the object store's certificate", err, UploadAuthority)
}

// Reachable checks, before a run, that the destination can be reached. So the user learns of a
// problem before the run and not after it.
func Reachable(ctx context.Context, destination *upload.Destination) error {
	if destination == nil {
		return nil
	}
	err := destination.Check(ctx)
	if errors.Is(err, context.Canceled) {
		return &Exit{Code: ExitInterrupted, Cause: errors.New("interrupted before anything was run")}
	}
	if err != nil {
		return withUploadAuthority(fmt.Errorf("--upload: %w; nothing was run", err))
	}
	return nil
}

// UploadRunDir sends an existing run directory. It shows the progress and warns about files that
// were not sent.
func (a *App) UploadRunDir(ctx context.Context, destination *upload.Destination, dir string, readBack bool) (upload.SendResult, error) {
	d := a.Display(a.Screen)
	began := time.Now()
	sent, err := destination.Send(ctx, dir, upload.Options{ReadBack: readBack, Progress: func(p upload.Progress) {
		d.Update(p.Step, time.Since(began), uploadProgressLine(p))
	}})
	d.Clear()
	if err != nil {
		return sent, withUploadAuthority(err)
	}
	const most = 10
	for i, l := range sent.OmittedEntries {
		if i == most {
			a.Warn(fmt.Sprintf("%s more files of the run directory were not sent; the manifest lists them", text.Count(uint64(len(sent.OmittedEntries)-most))))
			break
		}
		a.Warn(fmt.Sprintf("the file %s of the run directory was not sent: %s", l.Name, l.Reason))
	}
	if sent.RunUnfinished {
		a.Warn("the run that was sent is not complete: it is still running, or it was killed")
	}
	return sent, nil
}

// UploadSummary returns one line with the result of an upload.
func UploadSummary(s upload.SendResult) string {
	anew := "all sent now"
	switch {
	case s.NewFiles == 0:
		anew = "all were already there"
	case s.NewFiles < s.Files:
		anew = fmt.Sprintf("%s sent now, the others were already there", text.Count(uint64(s.NewFiles)))
	}
	return fmt.Sprintf("%s: %s, %s, %s; verified", s.URL, text.Plural(uint64(s.Files), "file"), text.Bytes(s.Bytes), anew)
}

func uploadProgressLine(p upload.Progress) string {
	line := fmt.Sprintf("upload: %s, %d of %s", p.Step, p.Files, text.Plural(uint64(p.TotalFiles), "file"))
	if p.TotalBytes > 0 {
		line += fmt.Sprintf(", %s of %s", text.Bytes(min(p.SentBytes, p.TotalBytes)), text.Bytes(p.TotalBytes))
	}
	return line
}

// UploadAfterRun sends the directory of a run that ended with err. It returns err or, if err is
// nil, the error of the upload. If the run was interrupted, UploadAfterRun still sends the
// directory; a second interrupt ends the program.
func (a *App) UploadAfterRun(ctx context.Context, destination *upload.Destination, dir string, err error) error {
	if destination == nil || dir == "" {
		return err
	}
	if ctx.Err() != nil {
		a.PrintNote("sending the run directory to %s; press Ctrl-C again to stop at once", destination.String())
		ctx = context.WithoutCancel(ctx)
	}
	sent, unsent := a.UploadRunDir(ctx, destination, dir, false)
	if unsent == nil {
		a.PrintNote("sent to %s", UploadSummary(sent))
		return err
	}
	code := ExitUploadFailed
	if errors.Is(unsent, context.Canceled) {
		code, unsent = ExitInterrupted, errors.New("the upload was interrupted")
	}
	a.PrintNote("%s; the run is recorded, and this command sends the missing files: %s", unsent, RetryUploadCommand(dir, destination))
	if err == nil {
		return &Exit{Code: code}
	}
	return err
}

// RetryUploadCommand returns the command line that sends those files of a run directory that the
// destination still lacks.
func RetryUploadCommand(dir string, destination *upload.Destination) string {
	return "quorumbench upload " + text.ShellQuote(filepath.Clean(dir)) + " " + text.ShellQuote(destination.OriginalURL)
}
